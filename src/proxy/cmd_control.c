/* SPDX-License-Identifier: Apache-2.0 */

/* The commands that ask a running daemon. */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/js.h"
#include "base/mem.h"
#include "base/opts.h"
#include "proxy/command.h"
#include "rpc/client.h"
#include "version.h"

#define DEFAULT_CONTROL "/run/ferry/proxy.sock"

static int
call(const char *control, const char *method, json_t *params,
     json_t **ret_result, struct err *err)
{
	const struct rpc_identity self = { .program = "ferry-proxy",
					   .version = FERRY_VERSION };
	AUTO(rpc_client_done) struct rpc_client *client = NULL;

	if (rpc_client_connect(control, &self, &client, err) == -1)
		return -1;
	return rpc_client_call(
		client,
		&(struct rpc_call){ .method = method, .params = params },
		ret_result, err);
}

static void
print_json(const json_t *value)
{
	char *text = json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY);

	(void)printf("%s\n", text ? text : "null");
	free(text);
}

/* What a command is called and does; method is NULL for call and list. */
struct asking {
	const char *program;
	const char *summary;
	const char *method;
	size_t max_args;
};

/* Parses --control and positional arguments; 0 when the command is over. */
static int
parse(const struct asking *asking, int argc, char **argv,
      const char **ret_control, int *ret_first, int *ret_status)
{
	const struct opt table[] = {
		{ "control", "PATH",
		  "the daemon's socket (" DEFAULT_CONTROL ")", OPT_STR,
		  ret_control, 0, 0 },
	};
	const struct opts opts = {
		.program = asking->program,
		.args = asking->max_args > 0 ? "METHOD [PARAMS]" : NULL,
		.summary = asking->summary,
		.table = table,
		.count = 1,
		.args_min = asking->max_args > 0 ? 1 : 0,
		.args_max = asking->max_args,
	};

	*ret_control = DEFAULT_CONTROL;
	return command_parse(&opts, argc, argv, ret_first, ret_status);
}

int
command_call(int argc, char **argv)
{
	static const struct asking asking = {
		.program = "ferry-proxy call",
		.summary = "Calls a method of the control socket and prints "
			   "the result as JSON.",
		.max_args = 2,
	};
	AUTO(js_unref) json_t *params = NULL;
	AUTO(js_unref) json_t *result = NULL;
	const char *control;
	struct err err;
	int first, status;

	if (!parse(&asking, argc, argv, &control, &first, &status))
		return status;
	if (first + 1 < argc) {
		params = js_parse(argv[first + 1], strlen(argv[first + 1]),
				  &err);
		if (params == NULL)
			return command_error(&err, COMMAND_USAGE);
	}
	if (call(control, argv[first], params, &result, &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	print_json(result);
	return 0;
}

/* Calls the method and prints its result, or its text if it is one. */
static int
ask(const struct asking *asking, int argc, char **argv)
{
	AUTO(js_unref) json_t *result = NULL;
	const json_t *text;
	const char *control;
	struct err err;
	int first, status;

	if (!parse(asking, argc, argv, &control, &first, &status))
		return status;
	if (call(control, asking->method, NULL, &result, &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	text = json_object_get(result, "text");
	if (json_is_string(text))
		(void)fputs(json_string_value(text), stdout);
	else
		print_json(result);
	return 0;
}

int
command_status(int argc, char **argv)
{
	static const struct asking asking = {
		.program = "ferry-proxy status",
		.summary = "Prints what the daemon is and how it is, as JSON.",
		.method = "status",
	};

	return ask(&asking, argc, argv);
}

int
command_metrics(int argc, char **argv)
{
	static const struct asking asking = {
		.program = "ferry-proxy metrics",
		.summary = "Prints the daemon's counters as Prometheus text.",
		.method = "metrics",
	};

	return ask(&asking, argc, argv);
}

int
command_drain(int argc, char **argv)
{
	static const struct asking asking = {
		.program = "ferry-proxy drain",
		.summary = "Takes no new listeners; the daemon ends with the "
			   "last.",
		.method = "drain",
	};

	return ask(&asking, argc, argv);
}

int
command_list(int argc, char **argv)
{
	static const struct asking asking = {
		.program = "ferry-proxy list",
		.summary = "Prints listeners and their streams, as JSON.",
	};
	static const char *const sides[] = { "target", "source" };
	AUTO(js_unref) json_t *all = json_object();
	const char *control;
	struct err err;
	int first, status;

	if (!parse(&asking, argc, argv, &control, &first, &status))
		return status;
	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
		AUTO(free_ptr) char *method = xasprintf("%s.list", sides[i]);
		json_t *list = NULL;

		if (call(control, method, NULL, &list, &err) == -1)
			return command_error(&err, COMMAND_FAILED);
		json_object_set_new(all, sides[i], list);
	}
	print_json(all);
	return 0;
}
