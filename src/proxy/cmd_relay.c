/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The commands `target` and `source`: one listener without a daemon. Options
 * become the parameters of target.start and source.start.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/path.h"
#include "base/str.h"
#include "proxy/command.h"
#include "proxy/listener.h"
#include "proxy/service.h"

struct relay_options {
	struct settings settings;
	const char *key;
	const char *peer;
	const char *dir;
	bool plain;
	uint64_t bandwidth;
	/* target */
	const char *control_socket;
	bool block;
	const char *range;
	/* source */
	const char *address;
	const char *ports;
	const char *owner;
};

static void
set_str(json_t *params, const char *name, const char *value)
{
	if (value)
		json_object_set_new(params, name, json_string(value));
}

/* "41023:0,38111:49152" as {"41023":0,"38111":49152}. */
static json_t *
ports_from_text(const char *text, struct err *err)
{
	AUTO(free_ptr) char *copy = xstrdup(text);
	json_t *ports = json_object();
	char *rest = copy, *item;

	while ((item = strsep(&rest, ",")) != NULL) {
		char *colon = strchr(item, ':');
		uint64_t channel;

		if (colon == NULL) {
			(void)err_set(err, ERR_INVALID,
				      "--ports has '%s': must be "
				      "TCPPORT:CHANNEL",
				      item);
			goto invalid;
		}
		*colon = '\0';
		if (str_to_u64(colon + 1, "a channel in --ports", 0, UINT16_MAX,
			       &channel, err) == -1)
			goto invalid;
		json_object_set_new(ports, item,
				    json_integer((json_int_t)channel));
	}
	return ports;

invalid:
	json_decref(ports);
	return NULL;
}

/* "UID" or "UID:GID". */
static int
set_owner(json_t *params, const char *text, struct err *err)
{
	AUTO(free_ptr) char *copy = NULL;
	json_t *owner;
	char *colon;
	uint64_t id;

	if (text == NULL)
		return 0;
	copy = xstrdup(text);
	colon = strchr(copy, ':');
	if (colon)
		*colon = '\0';
	if (str_to_u64(copy, "--owner", 0, UINT32_MAX - 1, &id, err) == -1)
		return -1;
	owner = json_pack("{s:I}", "uid", (json_int_t)id);
	json_object_set_new(params, "owner", owner);
	if (colon == NULL)
		return 0;
	if (str_to_u64(colon + 1, "--owner", 0, UINT32_MAX - 1, &id, err) == -1)
		return -1;
	json_object_set_new(owner, "gid", json_integer((json_int_t)id));
	return 0;
}

/* The parameters of target.start or source.start; NULL with err. */
static json_t *
params_from_options(enum side side, const struct relay_options *options,
		    struct err *err)
{
	json_t *params = json_object(), *ports;

	set_str(params, "key", options->key);
	set_str(params, "peer", options->peer);
	set_str(params, "dir", options->dir);
	json_object_set_new(params, "plain", json_boolean(options->plain));
	json_object_set_new(params, "bandwidth",
			    json_integer((json_int_t)options->bandwidth));
	if (side == SIDE_TARGET) {
		set_str(params, "controlSocket", options->control_socket);
		set_str(params, "ports", options->range);
		json_object_set_new(params, "block",
				    json_boolean(options->block));
		return params;
	}
	set_str(params, "address", options->address);
	if (set_owner(params, options->owner, err) == -1)
		goto invalid;
	if (options->ports) {
		ports = ports_from_text(options->ports, err);
		if (ports == NULL)
			goto invalid;
		json_object_set_new(params, "ports", ports);
	}
	return params;

invalid:
	json_decref(params);
	return NULL;
}

static void
print_result(const struct listener *listener)
{
	AUTO(js_unref) json_t *result = listener_result(listener);
	AUTO(free_ptr) char *text = js_text(result);

	(void)printf("%s\n", text);
	(void)fflush(stdout);
}

static int
run(enum side side, struct relay_options *options, struct spec *spec)
{
	const char *dirs[2] = { spec->dir.path, spec->control_dir.path };
	const struct service_config config = {
		.settings = &options->settings,
		.server = side == SIDE_TARGET,
		.source = side == SIDE_SOURCE,
		.dirs = dirs,
		.n_dirs = dirs[1] ? 2 : 1,
	};
	struct listener *listener;
	struct service service;
	struct err err;
	int status = 0;

	if (service_start(&service, &config, &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	if (proxy_start(&service.proxy, spec, &listener, &err) == -1) {
		status = command_error(&err, COMMAND_FAILED);
	} else {
		print_result(listener);
		if (service_run(&service) == -1)
			status = COMMAND_FAILED;
	}
	service_stop(&service);
	return status;
}

/* The rows both commands have. */
static size_t
common_rows(struct relay_options *options, struct opt *rows)
{
	const struct opt common[] = {
		{ "key", "KEY", "of the migration, the same on both nodes",
		  OPT_STR, &options->key, 0, 0 },
		{ "peer", "NODE", "the one node it may talk to", OPT_STR,
		  &options->peer, 0, 0 },
		{ "dir", "DIR", "where the unix sockets are", OPT_STR,
		  &options->dir, 0, 0 },
		{ "plain", NULL, "authenticate, then carry in the clear",
		  OPT_FLAG, &options->plain, 0, 0 },
		{ "bandwidth", "RATE", "bytes per second, for all streams",
		  OPT_BYTES, &options->bandwidth, 0, 0 },
	};

	memcpy(rows, common, sizeof(common));
	return sizeof(common) / sizeof(common[0]);
}

#define OWN_ROWS 3 /* of each command, beside the common ones */
#define COMMON_ROWS 8

static size_t
target_rows(struct relay_options *options, struct opt *rows)
{
	const struct opt own[OWN_ROWS] = {
		{ "control-socket", "PATH",
		  "libvirtd's socket (DIR/KEY-source.sock)", OPT_STR,
		  &options->control_socket, 0, 0 },
		{ "block", NULL, "disks move too", OPT_FLAG, &options->block, 0,
		  0 },
		{ "ports", "LO-HI", "TCP ports to choose from (kernel's)",
		  OPT_STR, &options->range, 0, 0 },
	};

	memcpy(rows, own, sizeof(own));
	return OWN_ROWS;
}

static size_t
source_rows(struct relay_options *options, struct opt *rows)
{
	const struct opt own[OWN_ROWS] = {
		{ "address", "ADDR", "where the target listens", OPT_STR,
		  &options->address, 0, 0 },
		{ "ports", "TCP:CHANNEL,...", "as the target printed them",
		  OPT_STR, &options->ports, 0, 0 },
		{ "owner", "UID[:GID]", "who may connect to the sockets",
		  OPT_STR, &options->owner, 0, 0 },
	};

	memcpy(rows, own, sizeof(own));
	return OWN_ROWS;
}

/* What differs between the two commands. */
static const struct {
	const char *program;
	const char *summary;
	size_t (*rows)(struct relay_options *options, struct opt *rows);
} commands[SIDE_COUNT] = {
	[SIDE_TARGET] = { "ferry-proxy target",
			  "Receives one migration: prints address and ports, "
			  "runs until a signal.",
			  target_rows },
	[SIDE_SOURCE] = { "ferry-proxy source",
			  "Sends one migration: prints the sockets to connect "
			  "to, runs until a signal.",
			  source_rows },
};

static int
command(enum side side, int argc, char **argv)
{
	struct opt rows[SETTINGS_ROWS + COMMON_ROWS + OWN_ROWS];
	struct relay_options options = { .key = NULL };
	AUTO(js_unref) json_t *params = NULL;
	AUTO(spec_done)
	struct spec spec = { .dir.fd = -1, .control_dir.fd = -1 };
	struct opts opts = {
		.program = commands[side].program,
		.summary = commands[side].summary,
		.table = rows,
	};
	struct err err;
	int first, status;

	settings_init(&options.settings);
	opts.count = common_rows(&options, rows);
	opts.count += commands[side].rows(&options, rows + opts.count);
	opts.count += settings_rows(&options.settings, rows + opts.count);
	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	params = params_from_options(side, &options, &err);
	if (params == NULL ||
	    spec_decode(side, params, NULL, &spec, &err) == -1)
		return command_error(&err, COMMAND_USAGE);
	return run(side, &options, &spec);
}

int
command_target(int argc, char **argv)
{
	return command(SIDE_TARGET, argc, argv);
}

int
command_source(int argc, char **argv)
{
	return command(SIDE_SOURCE, argc, argv);
}
