/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/network/resolv.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#define FILE_MAX (64UL * 1024)
#define BLANKS " \t\r"

static bool
is_loopback(const struct ip *ip)
{
	static const struct ip_prefix loopback4 = { { AF_INET, { 127 } }, 8 };
	static const struct ip_prefix loopback6 = { { AF_INET6, { [15] = 1 } },
						    128 };

	return ip_prefix_contains(&loopback4, ip) ||
	       ip_prefix_contains(&loopback6, ip);
}

static void
take_server(struct resolv *resolv, const char *word)
{
	struct err ignored;
	struct ip ip;

	if (resolv->server_count == RESOLV_SERVERS_MAX ||
	    ip_parse(word, &ip, &ignored) == -1 || is_loopback(&ip))
		return;
	resolv->servers[resolv->server_count++] = ip;
}

/* Letters, digits, dashes and dots; what ends up in another file must not be
 * able to say anything there. */
static bool
is_domain(const char *word)
{
	size_t len = strlen(word);

	return len > 0 && len <= RESOLV_DOMAIN_MAX && word[0] != '.' &&
	       word[0] != '-' &&
	       strspn(word, "abcdefghijklmnopqrstuvwxyz"
			    "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "0123456789-._") == len;
}

static void
take_search(struct resolv *resolv, const char *word)
{
	if (resolv->search_count < RESOLV_SEARCH_MAX && is_domain(word))
		(void)snprintf(resolv->search[resolv->search_count++],
			       RESOLV_DOMAIN_MAX + 1, "%s", word);
}

static void
take_line(struct resolv *resolv, char *line)
{
	char *at = NULL;
	const char *key = strtok_r(line, BLANKS, &at);
	const char *word;

	if (key == NULL)
		return;
	if (str_equal(key, "search"))
		resolv->search_count = 0; /* the last one counts */
	while ((word = strtok_r(NULL, BLANKS, &at)) != NULL) {
		if (str_equal(key, "nameserver")) {
			take_server(resolv, word);
			return;
		}
		if (str_equal(key, "search"))
			take_search(resolv, word);
	}
}

void
resolv_parse(const char *text, struct resolv *ret)
{
	AUTO(free_ptr) char *copy = xstrdup(text);
	char *at = NULL;

	memset(ret, 0, sizeof(*ret));
	for (char *line = strtok_r(copy, "\n", &at); line != NULL;
	     line = strtok_r(NULL, "\n", &at))
		take_line(ret, line);
}

void
resolv_read(int root_fd, struct resolv *ret)
{
	AUTO(close_fd) int fd = -1;
	AUTO(free_ptr) char *text = NULL;
	struct err err;
	size_t len;

	memset(ret, 0, sizeof(*ret));
	if (root_fd == -1)
		return;
	if (path_open_at(root_fd, "etc/resolv.conf", O_RDONLY | O_NONBLOCK, 0,
			 &fd, &err) == -1 ||
	    path_read_fd(fd, "etc/resolv.conf", FILE_MAX, &text, &len, &err) ==
		    -1) {
		log_debug(NULL, "guest gets no name servers: %s", err.text);
		return;
	}
	resolv_parse(text, ret);
}
