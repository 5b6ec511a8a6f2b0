/* SPDX-License-Identifier: Apache-2.0 */

/* The commands that only ask: start, stop, restart, pause, unpause,
 * migrate-cancel, evacuate-cancel. */

#include <stdio.h>
#include <string.h>

#include "api/kinds.h"
#include "api/migration.h"
#include "api/names.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/command.h"
#include "ctl/verb.h"
#include "kube/obj.h"

#define VMS "virtualmachines"
#define VMIS "virtualmachineinstances"
#define NO_GRACE UINT64_MAX

/* A command of one name. */
struct asking {
	struct verb verb;
	const char *kind; /* "vm" or "vmi"; NULL: none was asked for */
	const char *name;
	/* restart, stop */
	bool force;
	uint64_t grace_s;
};

struct question {
	const char *program; /* "ferryctl start" */
	const char *summary;
	bool graceful; /* --force and --grace-period */
	bool kinded;   /* "vm|vmi NAME" instead of "VM" */
	int (*ask)(struct asking *a, struct err *err);
};

static int
check_force(const struct asking *a, struct err *err)
{
	if (a->force != (a->grace_s != NO_GRACE))
		return err_set(err, ERR_INVALID,
			       "Must both use --force=true and set "
			       "--grace-period.");
	return 0;
}

static int
run(struct question *q, struct asking *a, int argc, char **argv)
{
	const struct opt table[] = {
		VERB_OPTS(&a->verb),
		{ "force", NULL, "do not wait for the guest", OPT_FLAG,
		  &a->force, 0, 0 },
		{ "grace-period", "SECONDS", "with --force: 0", OPT_U64,
		  &a->grace_s, 0, INT32_MAX },
	};
	const struct opts opts = {
		.program = q->program,
		.args = q->kinded ? "vm|vmi NAME" : "VM",
		.summary = q->summary,
		.table = table,
		.count = ARRAY_LEN(table) - (q->graceful ? 0 : 2),
		.args_min = q->kinded ? 2 : 1,
		.args_max = q->kinded ? 2 : 1,
	};
	int first, status;
	struct err err;

	a->grace_s = NO_GRACE;
	if (!verb_parse(&opts, argc, argv, &first, &status))
		return status;
	a->kind = q->kinded ? argv[first] : NULL;
	a->name = argv[first + (q->kinded ? 1 : 0)];
	if (q->kinded && !str_equal(a->kind, "vm") &&
	    !str_equal(a->kind, "vmi")) {
		(void)err_set(&err, ERR_INVALID, "'%s' is neither vm nor vmi",
			      a->kind);
		return command_error(&err, VERB_USAGE);
	}
	status = 0;
	if (check_force(a, &err) == -1)
		return command_error(&err, VERB_USAGE);
	if (verb_open(&a->verb, &err) == -1 || q->ask(a, &err) == -1)
		status = command_error(&err, COMMAND_FAILED);
	verb_done(&a->verb);
	return status;
}

static int
scheduled(const struct asking *a, const char *kind, const char *what)
{
	(void)printf("%s %s was scheduled to %s\n", kind, a->name, what);
	return 0;
}

static int
ask_start(struct asking *a, struct err *err)
{
	if (verb_put(&a->verb, VMS, a->name, "start", NULL, err) == -1)
		return verb_error("Error starting VirtualMachine", err);
	return scheduled(a, "VM", "start");
}

/* {"gracePeriod": N} or the like; NULL for none. A new reference. */
static json_t *
grace_json(const struct asking *a, const char *name)
{
	if (a->grace_s == NO_GRACE)
		return json_object();
	return json_pack("{s:I}", name, (json_int_t)a->grace_s);
}

static int
ask_stop(struct asking *a, struct err *err)
{
	AUTO(js_unref) json_t *body = grace_json(a, "gracePeriod");

	if (verb_put(&a->verb, VMS, a->name, "stop", body, err) == -1)
		return verb_error("Error stopping VirtualMachine", err);
	return scheduled(a, "VM", "stop");
}

static int
ask_restart(struct asking *a, struct err *err)
{
	AUTO(js_unref) json_t *body = grace_json(a, "gracePeriodSeconds");

	if (verb_put(&a->verb, VMS, a->name, "restart", body, err) == -1)
		return verb_error("Error restarting VirtualMachine", err);
	return scheduled(a, "VM", "restart");
}

static int
ask_pause(struct asking *a, struct err *err)
{
	if (verb_put(&a->verb, VMIS, a->name, "pause", NULL, err) == -1)
		return err_prefix(err,
				  "Error pausing VirtualMachineInstance %s",
				  a->name);
	return scheduled(a, "VMI", "pause");
}

static int
ask_unpause(struct asking *a, struct err *err)
{
	if (verb_put(&a->verb, VMIS, a->name, "unpause", NULL, err) == -1)
		return err_prefix(err,
				  "Error unpausing VirtualMachineInstance %s",
				  a->name);
	return scheduled(a, "VMI", "unpause");
}

static bool
has_ended(const json_t *vmim)
{
	enum migration_phase phase;
	struct err ignored;

	return migration_phase_parse(js_str_at(vmim, "status.phase"), &phase,
				     &ignored) == 0 &&
	       migration_phase_is_final(phase);
}

static int
delete_migration(struct asking *a, const json_t *vmim, struct err *err)
{
	AUTO(js_unref)
	json_t *options = kube_delete_options(obj_uid(vmim), NULL, -1);
	struct kube_request request = {
		.verb = KUBE_DELETE,
		.resource = &api_vmims,
		.ns = a->verb.ns,
		.name = obj_name(vmim),
		.body = options,
		.dry_run = a->verb.dry_run,
	};

	return kubesync_send(a->verb.kube, &request, NULL, err);
}

/* Why a machine that has a node must leave it, although nobody has marked it;
 * "": it need not, or nobody knows. The server knows taints, so ask it whether
 * the machine could stay. */
static void
find_taint(struct asking *a, const json_t *vmi, struct err *ret_why)
{
	AUTO(js_unref)
	json_t *body =
		json_pack("{s:s, s:[s]}", "evacuationNodeName",
			  js_str_at(vmi, "status.nodeName"), "dryRun", "All");

	if (verb_put(&a->verb, VMIS, a->name, "evacuate/cancel", body,
		     ret_why) == 0 ||
	    ret_why->kind != ERR_REFUSED)
		ret_why->text[0] = '\0';
}

/* That was not all: what asked for the migration asks for the next one. */
static void
say_what_follows(struct asking *a, const json_t *vmim)
{
	AUTO(js_unref) json_t *vmi = NULL;
	const char *mark;
	struct err err;

	if (obj_annotation(vmim, ANNOTATION_WORKLOAD_UPDATE) != NULL) {
		(void)printf("It was for an update of the machine: another one "
			     "follows while workloadUpdateMethods of the "
			     "KubeVirt object has LiveMigrate.\n");
		return;
	}
	if (obj_annotation(vmim, ANNOTATION_EVACUATION) == NULL ||
	    verb_get_vmi(&a->verb, a->name, &vmi, &err) == -1)
		return;
	mark = js_str_at(vmi, "status.evacuationNodeName");
	if (mark[0] != '\0' &&
	    str_equal(mark, js_str_at(vmi, "status.nodeName"))) {
		(void)printf("It is still to leave node %s, so another one "
			     "follows. To let it stay:\n"
			     "  ferryctl evacuate-cancel vmi %s -n %s\n",
			     mark, a->name, a->verb.ns);
		return;
	}
	find_taint(a, vmi, &err);
	if (err.text[0] != '\0')
		(void)printf("Another one follows: %s\n", err.text);
}

static int
ask_migrate_cancel(struct asking *a, struct err *err)
{
	AUTO(free_ptr)
	char *selector = xasprintf(LABEL_VMI_NAME "==%s", a->name);
	struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &api_vmims,
		.ns = a->verb.ns,
		.label_selector = selector,
	};
	AUTO(js_unref) json_t *list = NULL;
	const json_t *item;
	size_t i;

	if (kubesync_send(a->verb.kube, &request, &list, err) == -1)
		return -1;
	json_array_foreach(js_arr_at(list, "items"), i, item)
	{
		if (has_ended(item))
			continue;
		if (delete_migration(a, item, err) == -1)
			return -1;
		(void)scheduled(a, "VM", "migrate-cancel");
		say_what_follows(a, item);
		return 0;
	}
	return err_set(err, ERR_NOT_FOUND,
		       "Found no migration to cancel for %s", a->name);
}

static int
ask_evacuate_cancel(struct asking *a, struct err *err)
{
	AUTO(js_unref) json_t *vmi = NULL;
	AUTO(js_unref) json_t *body = NULL;

	if (verb_get_vmi(&a->verb, a->name, &vmi, err) == -1)
		return -1;
	body = json_pack("{s:s}", "evacuationNodeName",
			 js_str_at(vmi, "status.nodeName"));
	if (verb_put(&a->verb, str_equal(a->kind, "vm") ? VMS : VMIS, a->name,
		     "evacuate/cancel", body, err) == -1)
		return -1;
	(void)printf("VM %s/%s was canceled evacuation\n", a->verb.ns, a->name);
	return 0;
}

#define COMMAND(word, ...)                                          \
	int command_##word(int argc, char **argv)                   \
	{                                                           \
		struct question q = { __VA_ARGS__ };                \
		struct asking a = { .verb = { .dry_run = false } }; \
                                                                    \
		return run(&q, &a, argc, argv);                     \
	}

COMMAND(start, "ferryctl start", "Starts a machine.", false, false, ask_start)
COMMAND(stop, "ferryctl stop", "Stops a machine.", true, false, ask_stop)
COMMAND(restart, "ferryctl restart", "Stops a machine and starts it.", true,
	false, ask_restart)
COMMAND(pause, "ferryctl pause", "Pauses a machine that runs.", false, true,
	ask_pause)
COMMAND(unpause, "ferryctl unpause", "Lets a paused machine go on.", false,
	true, ask_unpause)
COMMAND(migrate_cancel, "ferryctl migrate-cancel",
	"Cancels the migration of a machine.", false, false, ask_migrate_cancel)
COMMAND(evacuate_cancel, "ferryctl evacuate-cancel",
	"Lets a machine stay on a node that is being drained.", false, true,
	ask_evacuate_cancel)
