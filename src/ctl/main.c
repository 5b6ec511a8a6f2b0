/* SPDX-License-Identifier: Apache-2.0 */

/* ferryctl - for people: a cluster on one machine, and what runs in it. */

#include <signal.h>
#include <string.h>

#include "base/command.h"
#include "base/js.h"
#include "base/log.h"
#include "base/str.h"
#include "ctl/command.h"
#include "tls/init.h"

/* Other names of this program: what kubectl runs for `kubectl ferry`, and to
 * complete it. */
#define AS_PLUGIN "kubectl-ferry"
#define AS_COMPLETION "kubectl_complete-ferry"

/* The name by which it was started. */
static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

int
main(int argc, char **argv)
{
	const char *name = argc > 0 ? base_name(argv[0]) : "";

	js_init();
	tls_init();
	log_init("ferryctl", LOG_LEVEL_WARNING, LOG_FORMAT_AUTO);
	(void)signal(SIGPIPE, SIG_IGN);
	if (str_equal(name, AS_COMPLETION))
		return command_complete(argc, argv);
	if (str_equal(name, AS_PLUGIN))
		command_rename(&ctl_program, "kubectl ferry");
	return command_main(&ctl_program, argc, argv);
}
