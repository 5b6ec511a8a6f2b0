/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The parameters of target.start and source.start. The first byte says which
 * side, and how many descriptors came along; the rest is the JSON. A spec that
 * is taken is complete and safe to act on, and no descriptor is lost.
 */
#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/js.h"
#include "base/str.h"
#include "proxy/spec.h"
#include "rpc/fds.h"

#define FDS_MAX 3U /* of the first byte's next two bits */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_spec(struct spec *spec, enum side side)
{
	json_t *described;
	struct err err;
	bool dials = false;

	assert(spec->side == side);
	assert(channel_check_key(spec->key, &err) == 0);
	assert(spec->peer[0] != '\0');
	assert(spec->bandwidth <= SPEC_BANDWIDTH_MAX);
	assert(spec->dir.fd != -1 || spec->dir.path[0] == '/');
	assert(spec->range.lo <= spec->range.hi);
	if (spec->control_name[0] != '\0')
		assert(str_is_name(spec->control_name, ENDPOINT_NAME_MAX) &&
		       (spec->control_dir.fd != -1 ||
			spec->control_dir.path[0] == '/'));
	for (int i = 0; i < CHANNEL_COUNT; i++) {
		if (spec->address[i].len == 0)
			continue;
		dials = true;
		assert(bindaddr_port(&spec->address[i]) != 0);
	}
	assert(dials == (side == SIDE_SOURCE));
	assert(spec_equal(spec, spec));
	described = spec_describe(spec);
	assert(json_is_object(described));
	json_decref(described);
}

static void
decode(enum side side, const json_t *params, unsigned count)
{
	AUTO(rpc_fds_done) struct rpc_fds fds = { .count = 0 };
	struct spec spec;
	struct err err;

	for (; fds.count < count; fds.count++)
		fds.fd[fds.count] = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	if (spec_decode(side, params, &fds, &spec, &err) == -1) {
		assert(err.text[0] != '\0' && err.kind != ERR_INTERNAL);
		return;
	}
	check_spec(&spec, side);
	spec_done(&spec);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *params;
	struct err err;
	int before, after;

	if (size == 0)
		return 0;
	params = js_parse((const char *)data + 1, size - 1, &err);
	if (params == NULL)
		return 0;
	before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	(void)close(before);
	decode(data[0] & 1 ? SIDE_SOURCE : SIDE_TARGET, params,
	       (data[0] >> 1) & FDS_MAX);
	json_decref(params);

	/* The lowest free descriptor is the same as before: none was kept. */
	after = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	assert(after == before);
	(void)close(after);
	return 0;
}
