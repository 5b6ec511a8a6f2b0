/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/verb.h"

#include <stdio.h>

#include "api/kinds.h"
#include "base/cleanup.h"
#include "base/err.h"

#define SUBRESOURCES "subresources.kubevirt.io"

int
verb_parse(const struct opts *opts, int argc, char **argv, int *ret_first,
	   int *ret_status)
{
	if (command_parse(opts, argc, argv, ret_first, ret_status))
		return 1;
	if (*ret_status == COMMAND_USAGE)
		*ret_status = VERB_USAGE;
	return 0;
}

int
verb_open(struct verb *verb, struct err *err)
{
	verb->kube = kubesync_open(&verb->flags, err);
	if (verb->kube == NULL)
		return -1;
	verb->ns = kubesync_ns(verb->kube);
	if (verb->dry_run && !verb->for_scripts)
		(void)printf("Dry Run execution\n");
	return 0;
}

void
verb_done(struct verb *verb)
{
	kubesync_free(verb->kube);
	verb->kube = NULL;
}

int
verb_error(const char *what, struct err *err)
{
	const struct err why = *err;

	return err_set(err, why.kind, "%s %s", what, why.text);
}

int
verb_put(struct verb *verb, const char *plural, const char *name,
	 const char *what, json_t *body, struct err *err)
{
	AUTO(js_unref)
	json_t *options = body == NULL ? json_object() : json_incref(body);
	/* Names are what somebody has typed: the client escapes them. */
	const struct kube_resource resource = { SUBRESOURCES, "v1", plural,
						"" };
	struct kube_request request = {
		.verb = KUBE_UPDATE,
		.resource = &resource,
		.ns = verb->ns,
		.name = name,
		.subresource = what,
		.body = options,
	};

	if (verb->dry_run)
		json_object_set_new(options, "dryRun", json_pack("[s]", "All"));
	return kubesync_send(verb->kube, &request, NULL, err);
}

int
verb_get_vmi(struct verb *verb, const char *name, json_t **ret_vmi,
	     struct err *err)
{
	struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &api_vmis,
		.ns = verb->ns,
		.name = name,
	};

	return kubesync_send(verb->kube, &request, ret_vmi, err);
}
