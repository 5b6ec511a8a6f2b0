/* SPDX-License-Identifier: Apache-2.0 */

/* The command `manifests`. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/path.h"
#include "meta/names.h"
#include "meta/yaml.h"
#include "webhook/api.h"
#include "webhook/command.h"
#include "webhook/manifests.h"

#define SERVICE_DEFAULT API_NAMESPACE "/virt-api"
#define CA_MAX (1024UL * 1024)

struct options {
	const char *url;
	const char *service;
	const char *ca_file;
	bool match_conditions;
};

static int
split_service(const char *text, char **ret_ns, const char **ret_name,
	      struct err *err)
{
	const char *slash = strchr(text, '/');
	AUTO(free_ptr) char *ns = NULL;

	if (slash != NULL)
		ns = xstrndup(text, (size_t)(slash - text));
	if (ns == NULL || !name_ok(NAME_DNS1123_LABEL, ns) ||
	    !name_ok(NAME_DNS1035_LABEL, slash + 1))
		return err_set(err, ERR_INVALID,
			       "--service: '%s' is not NAMESPACE/NAME", text);
	*ret_ns = TAKE_PTR(ns);
	*ret_name = slash + 1;
	return 0;
}

static void
print(const json_t *list)
{
	size_t i;
	json_t *object;

	json_array_foreach(list, i, object)
	{
		AUTO(free_ptr) char *text = yaml_from_json(object);

		(void)printf("---\n%s", text);
	}
}

static int
run(const struct options *options, struct err *err)
{
	AUTO(free_ptr) char *ns = NULL;
	AUTO(free_ptr) char *address = NULL;
	AUTO(free_ptr) char *ca = NULL;
	AUTO(js_unref) json_t *list = NULL;
	struct manifests_config config = { .match_conditions =
						   options->match_conditions };
	size_t len;

	if (split_service(options->service, &ns, &config.service, err) == -1 ||
	    (options->url != NULL &&
	     manifests_parse_url(options->url, &address, &config.port, err) ==
		     -1) ||
	    path_read_file(options->ca_file, CA_MAX, &ca, &len, err) == -1)
		return -1;
	config.ns = ns;
	config.address = address;
	config.ca_pem = ca;
	list = manifests_make(&config, err);
	if (list == NULL)
		return -1;
	print(list);
	return fflush(stdout) == EOF ? err_errno(err, "cannot write") : 0;
}

int
command_manifests(int argc, char **argv)
{
	struct options options = { .service = SERVICE_DEFAULT };
	const struct opt table[] = {
		{ "url", "URL",
		  "https://ADDRESS:PORT of a server outside of the cluster",
		  OPT_STR, &options.url, 0, 0 },
		{ "service", "NS/NAME",
		  "the Service that leads to it (default " SERVICE_DEFAULT
		  "); with --url it is made",
		  OPT_STR, &options.service, 0, 0 },
		{ "ca", "FILE", "CA of the server's certificate", OPT_STR,
		  &options.ca_file, 0, 0 },
		{ "match-conditions", NULL,
		  "spare calls by expressions; needs Kubernetes 1.28", OPT_FLAG,
		  &options.match_conditions, 0, 0 },
	};
	const struct opts opts = {
		.program = "ferry-api manifests",
		.summary = "Prints what makes a cluster call ferry-api.",
		.table = table,
		.count = ARRAY_LEN(table),
	};
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	if (options.ca_file == NULL) {
		(void)err_set(&err, ERR_INVALID, "--ca is missing");
		return command_error(&err, COMMAND_USAGE);
	}
	if (run(&options, &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	return 0;
}
