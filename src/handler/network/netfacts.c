/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/network/netfacts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

/* All addresses that a record can have fit into an alias. */
_Static_assert(sizeof(NETFACTS_ALIAS) + sizeof(" mac=") + MAC_TEXT_SIZE +
			       NETFACTS_IPS_MAX *
				       (sizeof(" ip=") + IP_PREFIX_TEXT_SIZE) <
		       LINK_ALIAS_MAX,
	       "a record may not fit");

int
netfacts_read(struct netlink *nl, struct netfacts *ret, struct err *err)
{
	*ret = (struct netfacts){ 0 };
	if (link_list(nl, &ret->links, &ret->link_count, err) == -1 ||
	    address_list(nl, &ret->addresses, &ret->address_count, err) == -1 ||
	    route_list(nl, &ret->routes, &ret->route_count, err) == -1)
		return -1;
	return 0;
}

void
netfacts_done(struct netfacts *facts)
{
	free(facts->links);
	free(facts->addresses);
	free(facts->routes);
	*facts = (struct netfacts){ 0 };
}

bool
netfacts_is_recorded(const struct route *route, const struct link *link)
{
	return route->to.ip.family == AF_INET &&
	       route->table == NETFACTS_TABLE + (uint32_t)link->index;
}

const struct link *
netfacts_link(const struct netfacts *facts, const char *name)
{
	return link_find(facts->links, facts->link_count, name);
}

static int
parse_word(const char *word, struct netrecord *record, struct err *err)
{
	if (str_has_prefix(word, "mac="))
		return mac_parse(word + 4, &record->mac, err);
	if (str_has_prefix(word, "ip=") && record->ip_count < NETFACTS_IPS_MAX)
		return ip_prefix_parse(word + 3,
				       &record->ips[record->ip_count++], err);
	return err_set(err, ERR_INVALID, "'%s' is unknown", word);
}

int
netrecord_parse(const char *alias, struct netrecord *ret, struct err *err)
{
	AUTO(free_ptr) char *copy = xstrdup(alias);
	struct netrecord record = { .ip_count = 0 };
	char *at = NULL;
	char *word = strtok_r(copy, " ", &at);

	if (word == NULL || !str_equal(word, NETFACTS_ALIAS))
		return err_set(err, ERR_NOT_FOUND, "nothing is recorded");
	while ((word = strtok_r(NULL, " ", &at)) != NULL) {
		if (parse_word(word, &record, err) == -1) {
			err->kind = ERR_CONFLICT;
			return err_prefix(err, "record is damaged");
		}
	}
	if (mac_is_zero(&record.mac))
		return err_set(err, ERR_CONFLICT,
			       "record is damaged: it has no MAC");
	*ret = record;
	return 0;
}

int
netrecord_take(const struct netfacts *facts, const struct link *link,
	       struct netrecord *ret, struct err *err)
{
	struct netrecord record = { .mac = link->mac };

	for (size_t i = 0; i < facts->address_count; i++) {
		const struct address *address = &facts->addresses[i];

		if (address->link != link->index || !address->global)
			continue;
		if (record.ip_count == NETFACTS_IPS_MAX)
			return err_set(err, ERR_LIMIT,
				       "'%s' has more than %d addresses",
				       link->name, NETFACTS_IPS_MAX);
		record.ips[record.ip_count++] = address->ip;
	}
	*ret = record;
	return 0;
}

void
netrecord_text(const struct netrecord *record, char alias[LINK_ALIAS_MAX + 1])
{
	AUTO(buf_done) struct buf buf = BUF_INIT(LINK_ALIAS_MAX);
	char mac[MAC_TEXT_SIZE], ip[IP_PREFIX_TEXT_SIZE];

	(void)buf_printf(&buf, NETFACTS_ALIAS " mac=%s",
			 mac_text(&record->mac, mac));
	for (size_t i = 0; i < record->ip_count; i++)
		(void)buf_printf(&buf, " ip=%s",
				 ip_prefix_text(&record->ips[i], ip));
	memcpy(alias, buf.data, buf.len + 1);
}
