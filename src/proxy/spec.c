/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/spec.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "rpc/fds.h"

static const char *const target_members[] = {
	"key",   "peer", "dir",   "dirFd", "controlSocket", "controlDirFd",
	"block", "bind", "ports", "plain", "bandwidth",     NULL,
};

static const char *const source_members[] = {
	"key",   "peer",  "dir",   "dirFd",     "address",
	"ports", "owner", "plain", "bandwidth", NULL,
};

const char *
side_name(enum side side)
{
	return side == SIDE_TARGET ? "target" : "source";
}

int
side_from_name(const char *name, enum side *ret_side, struct err *err)
{
	for (int i = 0; i < SIDE_COUNT; i++) {
		if (str_equal(name, side_name((enum side)i))) {
			*ret_side = (enum side)i;
			return 0;
		}
	}
	return err_set(err, ERR_INVALID,
		       "side is '%s': must be target or source", name);
}

static int
take_fd(const json_t *params, const char *name, struct rpc_fds *fds,
	int *ret_fd, struct err *err)
{
	uint64_t index = RPC_FDS_MAX;

	if (js_opt_u64(params, name, 0, RPC_FDS_MAX - 1, &index, err) == -1)
		return -1;
	if (index == RPC_FDS_MAX)
		return 0;
	*ret_fd = fds ? rpc_fds_take(fds, index) : -1;
	if (*ret_fd == -1)
		return err_set(err, ERR_INVALID,
			       "'%s' is %d, but no such descriptor came along",
			       name, (int)index);
	return 0;
}

static int
decode_dir(const json_t *params, struct rpc_fds *fds, struct spec *spec,
	   struct err *err)
{
	const char *path = NULL;

	if (js_opt_str(params, "dir", &path, err) == -1 ||
	    take_fd(params, "dirFd", fds, &spec->dir.fd, err) == -1)
		return -1;
	if (path == NULL && spec->dir.fd == -1)
		return err_set(err, ERR_INVALID,
			       "'dir' is missing: where the sockets are");
	if (path == NULL)
		return 0;
	if (path[0] != '/')
		return err_set(err, ERR_INVALID, "'dir' is '%s': not absolute",
			       path);
	spec->dir.path = xstrdup(path);
	return channel_check_paths(path, spec->key, err);
}

/* Channel 0 of a target: a path, or a name below a descriptor. */
static int
decode_control(const json_t *params, struct rpc_fds *fds, struct spec *spec,
	       struct err *err)
{
	const char *path = NULL, *name;

	if (js_opt_str(params, "controlSocket", &path, err) == -1 ||
	    take_fd(params, "controlDirFd", fds, &spec->control_dir.fd, err) ==
		    -1)
		return -1;
	if (path == NULL) {
		if (spec->control_dir.fd != -1)
			return err_set(err, ERR_INVALID,
				       "'controlDirFd' without 'controlSocket',"
				       " the name in it");
		return 0;
	}
	name = path;
	if (spec->control_dir.fd == -1 &&
	    path_split(path, &spec->control_dir.path, &name, err) == -1)
		return err_prefix(err, "'controlSocket'");
	if (!str_is_name(name, ENDPOINT_NAME_MAX))
		return err_set(err, ERR_INVALID,
			       "'controlSocket' is '%s': not a usable name",
			       path);
	memcpy(spec->control_name, name, strlen(name));
	return 0;
}

static int
decode_target(const json_t *params, struct rpc_fds *fds, struct spec *spec,
	      struct err *err)
{
	const char *bind = NULL, *ports = NULL;

	if (decode_control(params, fds, spec, err) == -1 ||
	    js_opt_bool(params, "block", &spec->block, err) == -1 ||
	    js_opt_str(params, "bind", &bind, err) == -1 ||
	    js_opt_str(params, "ports", &ports, err) == -1)
		return -1;
	if (ports && tcplisten_parse_range(ports, &spec->range, err) == -1)
		return -1;
	if (bind)
		spec->bind = xstrdup(bind);
	return 0;
}

/* One member of "ports": {"<tcp port>": channel}. */
static int
decode_port(const char *text, const json_t *value, const char *address,
	    struct spec *spec, struct err *err)
{
	enum channel channel;
	uint64_t port;

	if (str_to_u64(text, "a port in 'ports'", 1, UINT16_MAX, &port, err) ==
	    -1)
		return -1;
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return err_set(
			err, ERR_INVALID,
			"'ports' maps %s to something that is no channel",
			text);
	if (channel_from_port((uint64_t)json_integer_value(value), &channel,
			      err) == -1)
		return -1;
	if (spec->address[channel].len != 0)
		return err_set(err, ERR_INVALID,
			       "'ports' has channel '%s' twice",
			       channel_name(channel));
	return bindaddr_parse(address, (uint16_t)port, &spec->address[channel],
			      err);
}

static int
decode_owner(const json_t *params, struct spec *spec, struct err *err)
{
	static const char *const members[] = { "uid", "gid", NULL };
	uint64_t uid = ENDPOINT_KEEP_ID, gid = ENDPOINT_KEEP_ID;
	json_t *owner = NULL;

	if (js_opt_obj(params, "owner", &owner, err) == -1)
		return -1;
	if (owner &&
	    (js_only(owner, members, err) == -1 ||
	     js_opt_u64(owner, "uid", 0, UINT32_MAX - 1, &uid, err) == -1 ||
	     js_opt_u64(owner, "gid", 0, UINT32_MAX - 1, &gid, err) == -1))
		return err_prefix(err, "'owner'");
	spec->owner = (struct endpoint_owner){ .uid = (uint32_t)uid,
					       .gid = (uint32_t)gid };
	return 0;
}

static int
decode_source(const json_t *params, struct spec *spec, struct err *err)
{
	const char *address, *name;
	json_t *ports, *value;

	if (js_get_str(params, "address", &address, err) == -1 ||
	    js_get_obj(params, "ports", &ports, err) == -1 ||
	    decode_owner(params, spec, err) == -1)
		return -1;
	json_object_foreach(ports, name, value)
	{
		if (decode_port(name, value, address, spec, err) == -1)
			return -1;
	}
	if (json_object_size(ports) == 0)
		return err_set(err, ERR_INVALID, "'ports' is empty");
	return 0;
}

static int
decode_common(const json_t *params, struct spec *spec, struct err *err)
{
	const char *key, *peer;

	if (js_get_str(params, "key", &key, err) == -1 ||
	    js_get_str(params, "peer", &peer, err) == -1 ||
	    js_opt_bool(params, "plain", &spec->plain, err) == -1 ||
	    js_opt_u64(params, "bandwidth", 0, SPEC_BANDWIDTH_MAX,
		       &spec->bandwidth, err) == -1)
		return -1;
	if (channel_check_key(key, err) == -1 ||
	    tls_identity_uri(peer, spec->peer, sizeof(spec->peer), err) == -1)
		return -1;
	memcpy(spec->key, key, strlen(key));
	return 0;
}

int
spec_decode(enum side side, const json_t *params, struct rpc_fds *fds,
	    struct spec *ret_spec, struct err *err)
{
	AUTO(spec_done)
	struct spec spec = { .side = side, .dir.fd = -1, .control_dir.fd = -1 };

	if (!json_is_object(params))
		return err_set(err, ERR_INVALID, "params must be an object");
	if (js_only(params,
		    side == SIDE_TARGET ? target_members : source_members,
		    err) == -1 ||
	    decode_common(params, &spec, err) == -1 ||
	    decode_dir(params, fds, &spec, err) == -1)
		return -1;
	if ((side == SIDE_TARGET ? decode_target(params, fds, &spec, err)
				 : decode_source(params, &spec, err)) == -1)
		return -1;
	*ret_spec = spec;
	spec = (struct spec){ .dir.fd = -1, .control_dir.fd = -1 };
	return 0;
}

void
spec_done(struct spec *spec)
{
	free(spec->dir.path);
	free(spec->control_dir.path);
	free(spec->bind);
	close_fd(&spec->dir.fd);
	close_fd(&spec->control_dir.fd);
	spec->dir.path = spec->control_dir.path = spec->bind = NULL;
}

static bool
same_dir(const struct spec_dir *a, const struct spec_dir *b)
{
	struct stat sa, sb;

	if (a->fd == -1 || b->fd == -1)
		return a->fd == b->fd;
	return fstat(a->fd, &sa) == 0 && fstat(b->fd, &sb) == 0 &&
	       sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static bool
same_addresses(const struct spec *a, const struct spec *b)
{
	for (int i = 0; i < CHANNEL_COUNT; i++) {
		if (a->address[i].len != b->address[i].len ||
		    memcmp(&a->address[i].ss, &b->address[i].ss,
			   a->address[i].len) != 0)
			return false;
	}
	return true;
}

bool
spec_equal(const struct spec *a, const struct spec *b)
{
	return a->side == b->side && str_equal(a->key, b->key) &&
	       str_equal(a->peer, b->peer) && a->plain == b->plain &&
	       a->bandwidth == b->bandwidth && same_dir(&a->dir, &b->dir) &&
	       same_dir(&a->control_dir, &b->control_dir) &&
	       str_equal(a->control_name, b->control_name) &&
	       a->block == b->block && str_equal(a->bind, b->bind) &&
	       a->range.lo == b->range.lo && a->range.hi == b->range.hi &&
	       a->owner.uid == b->owner.uid && a->owner.gid == b->owner.gid &&
	       same_addresses(a, b);
}

json_t *
spec_describe(const struct spec *spec)
{
	json_t *all = json_object();

	json_object_set_new(all, "key", json_string(spec->key));
	json_object_set_new(all, "peer", json_string(spec->peer));
	json_object_set_new(all, "plain", json_boolean(spec->plain));
	json_object_set_new(all, "bandwidth",
			    json_integer((json_int_t)spec->bandwidth));
	if (spec->dir.path)
		json_object_set_new(all, "dir", json_string(spec->dir.path));
	if (spec->side == SIDE_TARGET)
		json_object_set_new(all, "block", json_boolean(spec->block));
	if (spec->bind)
		json_object_set_new(all, "bind", json_string(spec->bind));
	return all;
}
