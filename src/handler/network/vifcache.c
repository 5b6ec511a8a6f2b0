/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/network/vifcache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/js.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#define PREFIX "vif-cache-"
#define SUFFIX ".json"
#define MODE 0644
#define NAME_SIZE (sizeof(PREFIX) + IFNAMSIZ + sizeof(SUFFIX))

static void
name_file(const struct plan_interface *interface, char name[NAME_SIZE])
{
	(void)snprintf(name, NAME_SIZE, PREFIX "%s" SUFFIX, interface->pod);
}

static json_t *
routes_json(const struct plan_interface *i)
{
	json_t *list = json_array();
	char to[IP_PREFIX_TEXT_SIZE], via[IP_TEXT_SIZE];

	for (size_t r = 0; r < i->route_count; r++) {
		(void)json_array_append_new(
			list,
			json_pack("{s:s, s:s}", "to",
				  ip_prefix_text(&i->routes4[r].to, to), "via",
				  ip_text(&i->routes4[r].gateway, via)));
	}
	return list;
}

static json_t *
dhcp_json(const struct plan_interface *i)
{
	char address[IP_PREFIX_TEXT_SIZE], router[IP_TEXT_SIZE];
	char server[IP_TEXT_SIZE], address6[IP_PREFIX_TEXT_SIZE] = "";

	if (i->guest4.ip.family == 0)
		return json_null();
	if (i->guest6.ip.family != 0)
		(void)ip_prefix_text(&i->guest6, address6);
	return json_pack("{s:s, s:s, s:s, s:s, s:o}", "address",
			 ip_prefix_text(&i->guest4, address), "router",
			 ip_text(&i->router4, router), "server",
			 ip_text(&i->server4, server), "address6", address6,
			 "routes", routes_json(i));
}

char *
vifcache_text(const struct plan_interface *i)
{
	char mac[MAC_TEXT_SIZE];
	AUTO(js_unref)
	json_t *value = json_pack(
		"{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:o}", "version",
		VIFCACHE_VERSION, "name", i->want->name, "binding",
		i->want->binding == WANT_MASQUERADE ? "masquerade" : "bridge",
		"podInterface", i->pod, "bridge", i->bridge, "tap", i->tap,
		"mac", mac_text(&i->mac, mac), "mtu", (json_int_t)i->mtu,
		"queues", (json_int_t)i->want->queues, "dhcp", dhcp_json(i));

	return js_text_sorted(value, NULL);
}

enum vifcache_state
vifcache_check(int dir_fd, const struct plan_interface *interface, char *why,
	       size_t why_size)
{
	AUTO(free_ptr) char *want = vifcache_text(interface);
	AUTO(free_ptr) char *have = NULL;
	AUTO(close_fd) int fd = -1;
	char name[NAME_SIZE];
	struct err err;
	size_t len;

	name_file(interface, name);
	if (path_open_at(dir_fd, name, O_RDONLY | O_NONBLOCK, 0, &fd, &err) ==
		    -1 ||
	    path_read_fd(fd, name, VIFCACHE_FILE_MAX, &have, &len, &err) ==
		    -1) {
		(void)snprintf(why, why_size, "%s", err.text);
		return err.kind == ERR_NOT_FOUND ? VIFCACHE_MISSING
						 : VIFCACHE_DAMAGED;
	}
	if (len == strlen(want) && memcmp(have, want, len) == 0)
		return VIFCACHE_RIGHT;
	(void)snprintf(why, why_size, "'%s' did not say what there is", name);
	return VIFCACHE_DAMAGED;
}

int
vifcache_write(int dir_fd, const struct plan_interface *interface,
	       struct err *err)
{
	AUTO(free_ptr) char *text = vifcache_text(interface);
	char name[NAME_SIZE];

	name_file(interface, name);
	/* Nothing can be renamed over a directory. A full one stays in the
	 * way: it is not for us to empty it. */
	if (unlinkat(dir_fd, name, AT_REMOVEDIR) == -1 && errno != ENOENT &&
	    errno != ENOTDIR)
		return err_errno(err, "cannot replace '%s'", name);
	return path_write_file_at(dir_fd, name, text, strlen(text), MODE, err);
}

static void
close_dir(DIR **dir)
{
	if (*dir != NULL)
		(void)closedir(*dir);
}

int
vifcache_remove_all(int dir_fd, struct err *err)
{
	AUTO(close_dir) DIR *dir = NULL;
	AUTO(close_fd) int fd = -1;
	const struct dirent *entry;

	if (path_open_at(dir_fd, ".", O_RDONLY | O_DIRECTORY, 0, &fd, err) ==
	    -1)
		return -1;
	dir = fdopendir(fd);
	if (dir == NULL)
		return err_errno(err, "cannot list vif-cache files");
	(void)TAKE_FD(fd);
	while ((entry = readdir(dir)) != NULL) {
		if (!str_has_prefix(entry->d_name, PREFIX) ||
		    !str_has_suffix(entry->d_name, SUFFIX))
			continue;
		if (unlinkat(dir_fd, entry->d_name, 0) == -1 && errno != ENOENT)
			return err_errno(err, "cannot remove '%s'",
					 entry->d_name);
	}
	return 0;
}
