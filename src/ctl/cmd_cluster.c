/* SPDX-License-Identifier: Apache-2.0 */

/* The commands `cluster up`, `cluster down`, `cluster status` and `cluster
 * restart`. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/str.h"
#include "ctl/cgroups.h"
#include "ctl/command.h"
#include "ctl/fabric.h"
#include "ctl/setup.h"
#include "ctl/spawn.h"

#define NODES_DEFAULT 2

static int
go_up(struct setup *setup, struct err *err)
{
	for (const struct setup_step *step = setup_steps; step->text != NULL;
	     step++) {
		(void)printf("  %s ...", step->text);
		(void)fflush(stdout);
		if (step->run(setup, err) == -1) {
			(void)printf(" failed\n");
			return -1;
		}
		(void)printf(" ok\n");
	}
	return 0;
}

/* A new cluster, or one that is there and is completed. */
static int
open_or_create(struct state *state, const struct layout *layout,
	       struct err *err)
{
	if (state_open(state, layout->dir, err) == 0) {
		if (str_equal(state->layout.name, layout->name) &&
		    state->layout.nodes == layout->nodes)
			return 0;
		return err_set(err, ERR_CONFLICT,
			       "'%s' has the cluster '%s' with %u nodes",
			       layout->dir, state->layout.name,
			       state->layout.nodes);
	}
	state_done(state);
	if (err->kind != ERR_NOT_FOUND)
		return -1;
	return state_create(state, layout, err);
}

struct wishes {
	const char *bin_dir;
	enum setup_kvm kvm;
};

static int
up(const struct layout *layout, const struct wishes *wishes, struct err *err)
{
	struct state state = STATE_NONE;
	struct setup setup = { .state = &state,
			       .bin_dir = wishes->bin_dir,
			       .kvm = wishes->kvm };
	int result = -1;

	(void)printf("cluster %s in %s\n", layout->name, layout->dir);
	/* For what is run to the end as well: who is killed meanwhile leaves
	 * children that 'down' must find. */
	if (open_or_create(&state, layout, err) == 0 &&
	    setenv(SPAWN_ENV, state.layout.dir, 1) == 0)
		result = go_up(&setup, err);
	setup_done(&setup);
	if (result == 0)
		(void)printf("\nmachines run %s\n",
			     setup.uses_kvm ? "on KVM"
					    : "emulated, without KVM");
	if (result == 0)
		(void)printf("\n  export KUBECONFIG=%s/cluster/"
			     "admin.kubeconfig\n  kubectl get nodes\n",
			     layout->dir);
	state_done(&state);
	return result;
}

static int
parse_kvm(const char *text, enum setup_kvm *ret, struct err *err)
{
	static const char *const names[] = {
		[SETUP_KVM_AUTO] = "auto",
		[SETUP_KVM_YES] = "yes",
		[SETUP_KVM_NO] = "no",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (str_equal(names[i], text)) {
			*ret = (enum setup_kvm)i;
			return 0;
		}
	}
	return err_set(err, ERR_INVALID, "--kvm: '%s' is none of auto, yes, no",
		       text);
}

int
command_cluster_up(int argc, char **argv)
{
	const char *dir = CTL_DIR_DEFAULT, *name = CTL_NAME_DEFAULT;
	const char *kvm = "auto";
	struct wishes wishes = { 0 };
	uint64_t nodes = NODES_DEFAULT;
	const struct opt table[] = {
		{ "nodes", "N", "how many nodes (default 2)", OPT_U64, &nodes,
		  1, LAYOUT_NODES_MAX },
		{ "dir", "DIR",
		  "where everything is kept (default " CTL_DIR_DEFAULT ")",
		  OPT_STR, &dir, 0, 0 },
		{ "name", "NAME",
		  "of the cluster; its networks follow from it (default "
		  "ferry)",
		  OPT_STR, &name, 0, 0 },
		{ "bin-dir", "DIR",
		  "where Ferry's programs are (default: beside this one)",
		  OPT_STR, &wishes.bin_dir, 0, 0 },
		{ "kvm", "auto|yes|no",
		  "whether machines run on KVM: if a vCPU was seen to run on "
		  "it, or fail, or never (default auto)",
		  OPT_STR, &kvm, 0, 0 },
	};
	const struct opts opts = {
		.program = "ferryctl cluster up",
		.summary = "Starts a cluster on this computer, or what is "
			   "missing of it.",
		.table = table,
		.count = ARRAY_LEN(table),
	};
	struct layout layout = { 0 };
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	if (parse_kvm(kvm, &wishes.kvm, &err) == -1 ||
	    layout_init(&layout, dir, name, (unsigned)nodes, &err) == -1)
		return command_error(&err, COMMAND_USAGE);
	status = up(&layout, &wishes, &err) == -1
			 ? command_error(&err, COMMAND_FAILED)
			 : 0;
	layout_done(&layout);
	return status;
}

/* Processes first: what they hold can go only with them. */
static int
down(struct state *state, bool keep, struct err *err)
{
	const struct layout *layout = &state->layout;

	if (spawn_stop_all(layout, err) == -1 ||
	    fabric_down(layout, err) == -1 || cgroups_remove(layout, err) == -1)
		return -1;
	if (keep)
		return 0;
	return state_remove(state, err);
}

static const struct opt *
dir_option(struct opt *opt, const char **dir)
{
	*opt = (struct opt){
		"dir",   "DIR", "of the cluster (default " CTL_DIR_DEFAULT ")",
		OPT_STR, dir,   0,
		0
	};
	return opt;
}

int
command_cluster_down(int argc, char **argv)
{
	const char *dir = CTL_DIR_DEFAULT;
	bool keep = false;
	struct opt dir_opt;
	const struct opt table[] = {
		*dir_option(&dir_opt, &dir),
		{ "keep-dir", NULL, "leave the directory as it is", OPT_FLAG,
		  &keep, 0, 0 },
	};
	const struct opts opts = {
		.program = "ferryctl cluster down",
		.summary = "Ends a cluster and removes all of it.",
		.table = table,
		.count = ARRAY_LEN(table),
	};
	struct state state = STATE_NONE;
	int first, status, result;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	result = state_open(&state, dir, &err);
	if (result == 0)
		result = down(&state, keep, &err);
	else if (err.kind == ERR_NOT_FOUND && !keep && state_remove_empty(dir))
		result = 0;
	state_done(&state);
	return result == -1 ? command_error(&err, COMMAND_FAILED) : 0;
}

static int
show(const struct state *state)
{
	json_t *item;
	size_t i;
	int missing = 0;

	(void)printf("%-18s %-8s %-8s %s\n", "PROGRAM", "NODE", "PID", "STATE");
	json_array_foreach(js_arr_at(state->json, "programs"), i, item)
	{
		char node[LAYOUT_TEXT_SIZE] = "-", pid_text[16] = "-";
		unsigned number = (unsigned)js_int_at(item, "node", 0);
		pid_t pid = state_running(item);

		if (number != 0)
			(void)layout_node(number, node);
		if (pid != -1)
			(void)snprintf(pid_text, sizeof(pid_text), "%d",
				       (int)pid);
		else
			missing++;
		(void)printf("%-18s %-8s %-8s %s\n", js_str_at(item, "name"),
			     node, pid_text, pid == -1 ? "ended" : "running");
	}
	if (missing > 0)
		(void)printf("\n%d ended; 'ferryctl cluster up' starts them\n",
			     missing);
	return missing == 0 ? 0 : COMMAND_FAILED;
}

int
command_cluster_status(int argc, char **argv)
{
	const char *dir = CTL_DIR_DEFAULT;
	struct opt dir_opt;
	const struct opt table[] = { *dir_option(&dir_opt, &dir) };
	const struct opts opts = {
		.program = "ferryctl cluster status",
		.summary = "What runs of a cluster; fails if something does "
			   "not.",
		.table = table,
		.count = ARRAY_LEN(table),
	};
	struct state state = STATE_NONE;
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	if (state_open(&state, dir, &err) == -1)
		status = command_error(&err, COMMAND_FAILED);
	else
		status = show(&state);
	state_done(&state);
	return status;
}

static int
restart(struct state *state, const char *name, unsigned node, struct err *err)
{
	json_t *program = state_program(state, name, node);
	AUTO(js_unref) json_t *argv = NULL;
	struct spawn_spec spec = { .name = name, .node = node };

	if (program == NULL)
		return err_set(err, ERR_NOT_FOUND,
			       node == 0 ? "there is no %s in this cluster"
					 : "there is no %s on node%u",
			       name, node);
	argv = json_incref(js_arr_at(program, "argv"));
	spec.argv = argv;
	if (spawn_stop(state, name, node, err) == -1)
		return -1;
	return spawn_start(state, &spec, err);
}

int
command_cluster_restart(int argc, char **argv)
{
	const char *dir = CTL_DIR_DEFAULT;
	uint64_t node = 0;
	struct opt dir_opt;
	const struct opt table[] = {
		*dir_option(&dir_opt, &dir),
		{ "node", "N", "the number of its node", OPT_U64, &node, 1,
		  LAYOUT_NODES_MAX },
	};
	const struct opts opts = {
		.program = "ferryctl cluster restart",
		.args = "PROGRAM",
		.summary = "Ends a program of a cluster if it runs, and starts "
			   "it.",
		.table = table,
		.count = ARRAY_LEN(table),
		.args_min = 1,
		.args_max = 1,
	};
	struct state state = STATE_NONE;
	int first, status, result;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	result = state_open(&state, dir, &err);
	if (result == 0)
		result = restart(&state, argv[first], (unsigned)node, &err);
	state_done(&state);
	return result == -1 ? command_error(&err, COMMAND_FAILED) : 0;
}
