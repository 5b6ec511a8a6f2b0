/* SPDX-License-Identifier: Apache-2.0 */

/* The tables of ferryctl's commands. */

#include "base/array.h"
#include "base/command.h"
#include "base/opts.h"
#include "ctl/command.h"
#include "kube/config.h"
#include "version.h"

#define VERSION FERRY_VERSION " (" FERRY_COMMIT ")"

static const struct command commands[] = {
	{ "migrate", command_migrate, "move a machine while it runs" },
	{ "migrate-cancel", command_migrate_cancel, "cancel its migration" },
	{ "evacuate-cancel", command_evacuate_cancel,
	  "let it stay on a node that is drained" },
	{ "start", command_start, "start a machine" },
	{ "stop", command_stop, "stop it" },
	{ "restart", command_restart, "stop it and start it" },
	{ "pause", command_pause, "pause it" },
	{ "unpause", command_unpause, "let it go on" },
	{ "explain", command_explain,
	  "what happened, why it waits or failed, what to do" },
	{ "preflight", command_preflight, "would it move, and whereto" },
	{ "doctor", command_doctor,
	  "the proxies and the way between the nodes" },
	{ "top", command_top, "all migrations and nodes, live" },
	{ "cluster", command_cluster, "a whole cluster on this computer" },
	{ "image", command_image, "what nodes find under the names of images" },
	{ "completion", command_completion, "for bash, zsh or fish" },
	{ "__complete", command_complete, NULL },
};

/* What kubectl users write before the command. */
static struct kube_flags not_read_here;
static const struct opt leading[] = { KUBE_FLAGS_OPTS(&not_read_here) };

const struct program ctl_program = {
	.name = "ferryctl",
	.summary = "Virtual machines that move, for people.",
	.manual = "ferryctl(1)",
	.version = VERSION,
	.commands = commands,
	.count = ARRAY_LEN(commands),
	.leading = leading,
	.leading_count = ARRAY_LEN(leading),
};

static const struct command cluster_commands[] = {
	{ "up", command_cluster_up, "start one" },
	{ "status", command_cluster_status, "what runs, and what is wrong" },
	{ "restart", command_cluster_restart, "end a program and start it" },
	{ "down", command_cluster_down, "end it and remove all of it" },
};

static const struct program cluster_program = {
	.name = "ferryctl cluster",
	.summary = "A whole cluster on this computer: nodes are namespaces.",
	.manual = "ferryctl(1)",
	.version = VERSION,
	.commands = cluster_commands,
	.count = ARRAY_LEN(cluster_commands),
};

static const struct command image_commands[] = {
	{ "import", command_image_import, "add one, or replace it" },
	{ "list", command_image_list, "those that there are" },
	{ "remove", command_image_remove, "remove one" },
};

static const struct program image_program = {
	.name = "ferryctl image",
	.summary = "What nodes find under the names of images.",
	.manual = "ferryctl(1)",
	.version = VERSION,
	.commands = image_commands,
	.count = ARRAY_LEN(image_commands),
};

int
command_cluster(int argc, char **argv)
{
	return command_main(&cluster_program, argc, argv);
}

int
command_image(int argc, char **argv)
{
	return command_main(&image_program, argc, argv);
}
