/* SPDX-License-Identifier: Apache-2.0 */

/* The commands `completion` and `__complete`. */

#include <stdio.h>
#include <stdlib.h>

#include "api/kinds.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/embed.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/str.h"
#include "ctl/command.h"
#include "ctl/complete.h"
#include "ctl/kubesync.h"
#include "kube/obj.h"

#define NAMES_MS 2000U /* a person holds the tab key meanwhile */
#define NAMES_MAX 1000U

/* completion.bash and so on; the build makes it. */
extern const struct embed_file completion_files[];

/* What a word stands for, and what is worth to know of it. */
static const struct {
	const char *what;
	const struct kube_resource *resource;
	bool namespaced;
	const char *about;
} sources[] = {
	{ "VM", &api_vms, true, "status.printableStatus" },
	{ "vm", &api_vms, true, "status.printableStatus" },
	{ "vmi", &api_vmis, true, "status.phase" },
	{ "MIGRATION", &api_vmims, true, "status.phase" },
	{ "vmim", &api_vmims, true, "status.phase" },
	{ "NODE", &kube_nodes, false, "" },
	{ "NAMESPACE", &kube_namespaces, false, "" },
};

static void
add_contexts(const struct kube_flags *flags, json_t *found)
{
	AUTO(js_unref) json_t *names = NULL;
	const json_t *name;
	struct err ignored;
	size_t i;

	if (kube_config_contexts(flags, NULL, &names, &ignored) == -1)
		return;
	json_array_foreach(names, i, name)
	{
		json_array_append_new(
			found,
			json_pack("[s, s]", json_string_value(name), ""));
	}
}

static void
add_objects(const struct kube_flags *flags, size_t source, json_t *found)
{
	struct err ignored;
	struct kubesync *kube = kubesync_open(flags, &ignored);
	AUTO(js_unref) json_t *list = NULL;
	const json_t *item;
	size_t i;

	if (kube == NULL)
		return;
	const struct kube_request request = {
		.verb = KUBE_GET,
		.resource = sources[source].resource,
		.ns = sources[source].namespaced ? kubesync_ns(kube) : NULL,
		.limit = NAMES_MAX,
		.timeout_ms = NAMES_MS,
	};
	(void)kubesync_send(kube, &request, &list, &ignored);
	json_array_foreach(js_arr_at(list, "items"), i, item)
	{
		json_array_append_new(
			found,
			json_pack("[s, s]", obj_name(item),
				  js_str_at(item, sources[source].about)));
	}
	kubesync_free(kube);
}

static void
add_names(const char *what, const struct kube_flags *flags, json_t *found,
	  void *arg)
{
	(void)arg;
	if (str_equal(what, "CONTEXT"))
		add_contexts(flags, found);
	for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
		if (str_equal(sources[i].what, what))
			add_objects(flags, i, found);
	}
}

int
command_complete(int argc, char **argv)
{
	static bool inside;
	const struct complete_request request = {
		.program = &ctl_program,
		.argc = argc,
		.argv = argv,
		.names = add_names,
	};

	/* It has no words of its own to be completed. */
	if (inside || argc < 2)
		return 0;
	inside = true;
	complete_write(&request, stdout);
	inside = false;
	return 0;
}

int
command_completion(int argc, char **argv)
{
	const struct opts opts = {
		.program = "ferryctl completion",
		.args = "bash|zsh|fish",
		.summary = "Prints what a shell needs to complete words: "
			   "commands, options, and names from the cluster.",
		.args_min = 1,
		.args_max = 1,
	};
	AUTO(free_ptr) char *name = NULL;
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	name = xasprintf("completion.%s", argv[first]);
	for (const struct embed_file *file = completion_files;
	     file->name != NULL; file++) {
		if (!str_equal(file->name, name))
			continue;
		(void)fwrite(file->data, 1, file->len, stdout);
		return 0;
	}
	(void)err_set(&err, ERR_INVALID, "'%s' is neither bash, zsh nor fish",
		      argv[first]);
	return command_error(&err, COMMAND_USAGE);
}
