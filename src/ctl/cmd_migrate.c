/* SPDX-License-Identifier: Apache-2.0 */

/* The command `migrate`. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kinds.h"
#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/str.h"
#include "ctl/command.h"
#include "ctl/follow.h"
#include "ctl/page.h"
#include "ctl/verb.h"
#include "kube/obj.h"

struct migrate {
	struct verb verb;
	const char *vm;
	const char *selector; /* "k=v,k2=v2" */
	bool wait;
	const char *output;
	uint64_t timeout_ms;
};

/* A new reference; NULL for what is no list of labels. */
static json_t *
selector_json(const char *text, struct err *err)
{
	AUTO(free_ptr) char *copy = xstrdup(text);
	AUTO(js_unref) json_t *labels = json_object();
	char *rest = copy, *item, *equals;

	while ((item = strsep(&rest, ",")) != NULL) {
		equals = strchr(item, '=');
		if (equals == NULL || equals == item) {
			(void)err_set(err, ERR_INVALID,
				      "--addedNodeSelector: '%s' is no "
				      "KEY=VALUE",
				      item);
			return NULL;
		}
		*equals = '\0';
		json_object_set_new(labels, item, json_string(equals + 1));
	}
	return json_incref(labels);
}

/* The migration of the machine that goes on, or else the newest; a new
 * reference. */
static int
find_migration(struct migrate *m, json_t **ret_vmim, struct err *err)
{
	AUTO(free_ptr)
	char *selector = xasprintf(LABEL_VMI_NAME "==%s", m->vm);
	struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &api_vmims,
		.ns = m->verb.ns,
		.label_selector = selector,
	};
	AUTO(js_unref) json_t *list = NULL;
	const json_t *newest;

	if (kubesync_send(m->verb.kube, &request, &list, err) == -1)
		return -1;
	newest = page_choose(js_arr_at(list, "items"));
	if (newest == NULL)
		return err_set(err, ERR_NOT_FOUND,
			       "the migration of %s is gone", m->vm);
	*ret_vmim = json_incref((json_t *)newest);
	return 0;
}

/* What became of the request, for scripts. Who may migrate but not look is told
 * no more than that it was taken. */
static void
print_outcome(struct migrate *m)
{
	AUTO(js_unref) json_t *vmim = NULL;
	AUTO(js_unref) json_t *outcome = NULL;
	AUTO(free_ptr) char *text = NULL;
	struct err ignored;

	if (m->verb.dry_run)
		outcome = json_pack("{s:s, s:b}", "vmi", m->vm, "dryRun", 1);
	else if (find_migration(m, &vmim, &ignored) == 0)
		outcome = follow_json(vmim, follow_state(vmim, NULL));
	else
		outcome = json_pack("{s:s}", "vmi", m->vm);
	text = js_text(outcome);
	(void)printf("%s\n", text);
}

static int
migrate(struct migrate *m, enum follow_end *ret_end, struct err *err)
{
	AUTO(js_unref) json_t *body = json_object();
	AUTO(js_unref) json_t *vmim = NULL;
	struct follow_request request = {
		.vmi = m->vm,
		.style = m->output == NULL ? FOLLOW_AUTO : FOLLOW_JSON,
		.timeout_ms = m->timeout_ms,
	};

	if (m->selector != NULL) {
		json_t *labels = selector_json(m->selector, err);

		if (labels == NULL)
			return -1;
		json_object_set_new(body, "addedNodeSelector", labels);
	}
	if (verb_open(&m->verb, err) == -1)
		return -1;
	if (verb_put(&m->verb, "virtualmachines", m->vm, "migrate", body,
		     err) == -1)
		return verb_error("Error migrating VirtualMachine", err);
	if (m->output == NULL)
		(void)printf("VM %s was scheduled to migrate\n", m->vm);
	*ret_end = FOLLOW_SUCCEEDED;
	if (!m->wait || m->verb.dry_run) {
		if (m->output != NULL)
			print_outcome(m);
		return 0;
	}
	if (find_migration(m, &vmim, err) == -1)
		return -1;
	request.migration = obj_name(vmim);
	return follow_migration(&m->verb, &request, ret_end, err);
}

static int
check_options(const struct migrate *m, struct err *err)
{
	if (m->output != NULL && !str_equal(m->output, "json"))
		return err_set(err, ERR_INVALID, "--output: '%s' is not json",
			       m->output);
	if (m->timeout_ms != 0 && !m->wait)
		return err_set(err, ERR_INVALID,
			       "--timeout says how long to wait: it needs "
			       "--wait");
	return 0;
}

int
command_migrate(int argc, char **argv)
{
	struct migrate m = { .verb = { .dry_run = false } };
	const struct opt table[] = {
		VERB_OPTS(&m.verb),
		{ "addedNodeSelector", "K=V,...",
		  "labels that the target node must have as well", OPT_STR,
		  &m.selector, 0, 0 },
		{ "wait", NULL,
		  "show how it goes on until it has ended; Ctrl-C leaves, "
		  "twice cancels",
		  OPT_FLAG, &m.wait, 0, 0 },
		{ "timeout", "TIME", "with --wait: for at most so long", OPT_MS,
		  &m.timeout_ms, 0, 0 },
		{ "output", "json",
		  "the migration as a JSON object; with --wait one in each "
		  "line",
		  OPT_STR, &m.output, 0, 0 },
	};
	const struct opts opts = {
		.program = "ferryctl migrate",
		.args = "VM",
		.summary = "Moves a machine to another node while it runs.",
		.table = table,
		.count = ARRAY_LEN(table),
		.args_min = 1,
		.args_max = 1,
	};
	enum follow_end end = FOLLOW_SUCCEEDED;
	int first, status;
	struct err err;

	if (!verb_parse(&opts, argc, argv, &first, &status))
		return status;
	m.vm = argv[first];
	m.verb.for_scripts = m.output != NULL;
	if (check_options(&m, &err) == -1)
		return command_error(&err, VERB_USAGE);
	if (migrate(&m, &end, &err) == -1)
		status = command_error(&err, COMMAND_FAILED);
	else
		status = follow_status(end);
	verb_done(&m.verb);
	return status;
}
