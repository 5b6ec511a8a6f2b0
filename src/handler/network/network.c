/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/network/network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "handler/network/vifcache.h"
#include "handler/network/dhcp.h"
#include "handler/network/dnsmasq.h"
#include "handler/network/netfacts.h"
#include "handler/network/plan.h"
#include "handler/network/resolv.h"
#include "handler/network/rules.h"
#include "handler/network/want.h"
#include "net/link.h"
#include "net/netlink.h"
#include "net/nft.h"

static int
execute(const struct plan *plan, const struct op_place *place, struct err *err)
{
	char text[OP_TEXT_SIZE];

	for (size_t i = 0; i < plan->ops.count; i++) {
		const struct op *op = &plan->ops.items[i];

		log_debug(NULL, "pod network: %s", op_text(op, text));
		if (op_execute(op, place, err) == -1)
			return -1;
	}
	return 0;
}

static void
mend(struct network_result *result, const char *what)
{
	size_t len = strlen(result->mended);

	(void)snprintf(result->mended + len, sizeof(result->mended) - len,
		       "%s%s", len > 0 ? "; " : "", what);
}

/* A file that is not there is news only where it had been. */
static int
write_cache(int dir_fd, const struct plan_interface *interface,
	    struct network_result *result, struct err *err)
{
	char why[160], text[220];
	enum vifcache_state state =
		vifcache_check(dir_fd, interface, why, sizeof(why));

	if (state == VIFCACHE_RIGHT)
		return 0;
	if (vifcache_write(dir_fd, interface, err) == -1)
		return -1;
	if (state == VIFCACHE_DAMAGED || interface->ready) {
		(void)snprintf(text, sizeof(text), "rebuilt vif-cache: %s",
			       why);
		mend(result, text);
	}
	return 0;
}

/* Whether there had been a server before. */
static bool
was_served(const struct plan *plan)
{
	for (size_t i = 0; i < plan->interface_count; i++) {
		if (plan->interfaces[i].ready &&
		    plan->interfaces[i].guest4.ip.family != 0)
			return true;
	}
	return false;
}

static int
serve_dhcp(const struct network_request *request, const struct plan *plan,
	   const char *hostname, struct network_result *result, struct err *err)
{
	const char *program =
		request->dnsmasq ? request->dnsmasq : NETWORK_DNSMASQ;
	AUTO(free_ptr) char *config = NULL;
	AUTO(free_ptr) struct resolv *resolv = xmalloc0(sizeof(*resolv));
	enum dnsmasq_found found;

	resolv_read(request->pod->root_fd, resolv);
	config = dhcp_config(plan, resolv, hostname);
	if (config == NULL)
		return dnsmasq_stop(request->pod, err);
	if (dnsmasq_ensure(request->pod, program, config, &found, err) == -1)
		return -1;
	if (found == DNSMASQ_STARTED && was_served(plan))
		mend(result, "started the DHCP server again");
	result->changed |= found != DNSMASQ_RUNNING;
	return 0;
}

/* The last that is done for an interface, and the note that it was. */
static int
finish(const struct network_request *request, struct netlink *nl,
       const struct plan_interface *interface, struct network_result *result,
       struct err *err)
{
	if (request->cache_fd != -1 &&
	    write_cache(request->cache_fd, interface, result, err) == -1)
		return -1;
	if (interface->ready)
		return 0;
	return link_set_alias(nl, interface->bridge, PLAN_READY, err);
}

static struct network_result *
make_result(const struct plan *plan)
{
	struct network_result *result = xmalloc0(sizeof(*result));

	result->interfaces =
		xcalloc(plan->interface_count + 1, sizeof(*result->interfaces));
	for (size_t i = 0; i < plan->interface_count; i++) {
		const struct plan_interface *from = &plan->interfaces[i];
		struct network_interface *to = &result->interfaces[i];

		to->name = xstrdup(from->want->name);
		(void)snprintf(to->tap, sizeof(to->tap), "%s", from->tap);
		(void)mac_text(&from->mac, to->mac);
		to->mtu = from->mtu;
		to->queues = from->want->queues;
	}
	result->count = plan->interface_count;
	result->changed = ops_changes(&plan->ops) > 0;
	return result;
}

static int
apply(const struct network_request *request, const struct plan *plan,
      struct netlink *nl, struct err *err)
{
	const struct op_place place = { nl, request->pod->netns_fd,
					request->tap_uid, request->tap_gid };
	AUTO(free_ptr) char *rules = rules_text(plan);

	if (execute(plan, &place, err) == -1)
		return -1;
	return nft_run(place.netns_fd, rules, err);
}

int
network_setup(const struct network_request *request,
	      struct network_result **ret_result, struct err *err)
{
	AUTO(network_result_unref) struct network_result *result = NULL;
	AUTO(netlink_unref) struct netlink *nl = NULL;
	AUTO(netfacts_done) struct netfacts facts = { 0 };
	AUTO(wants_done) struct wants wants = { 0 };
	AUTO(plan_done) struct plan plan = { .pod_uid = NULL };

	if (wants_decode(request->vmi, &wants, err) == -1 ||
	    netlink_open(request->pod->netns_fd, &nl, err) == -1 ||
	    netfacts_read(nl, &facts, err) == -1 ||
	    plan_setup(&facts, &wants, request->pod_uid, &plan, err) == -1 ||
	    apply(request, &plan, nl, err) == -1)
		return -1;
	result = make_result(&plan);
	if (serve_dhcp(request, &plan, wants.hostname, result, err) == -1)
		return -1;
	for (size_t i = 0; i < plan.interface_count; i++) {
		if (finish(request, nl, &plan.interfaces[i], result, err) == -1)
			return -1;
	}
	*ret_result = TAKE_PTR(result);
	return 0;
}

void
network_result_free(struct network_result *result)
{
	if (result == NULL)
		return;
	for (size_t i = 0; i < result->count; i++)
		free(result->interfaces[i].name);
	free(result->interfaces);
	free(result);
}

void
network_result_unref(struct network_result **result)
{
	network_result_free(*result);
	*result = NULL;
}

json_t *
network_result_json(const struct network_result *result)
{
	json_t *list = json_array();

	for (size_t n = 0; n < result->count; n++) {
		const struct network_interface *i = &result->interfaces[n];

		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:s, s:I, s:I}", "name",
					i->name, "tap", i->tap, "mac", i->mac,
					"mtu", (json_int_t)i->mtu, "queues",
					(json_int_t)i->queues));
	}
	return list;
}

/* Keeps the first of several errors. */
static int
note(int result, int before, const struct err *now, struct err *first)
{
	if (result == -1 && before == 0)
		*first = *now;
	return before == -1 || result == -1 ? -1 : 0;
}

static int
undo_links(const struct network_pod *pod, struct err *err)
{
	AUTO(netlink_unref) struct netlink *nl = NULL;
	AUTO(netfacts_done) struct netfacts facts = { 0 };
	AUTO(plan_done) struct plan plan = { .pod_uid = NULL };
	struct op_place place = { .netns_fd = pod->netns_fd };

	if (netlink_open(pod->netns_fd, &nl, err) == -1 ||
	    netfacts_read(nl, &facts, err) == -1 ||
	    plan_teardown(&facts, &plan, err) == -1)
		return -1;
	place.nl = nl;
	return execute(&plan, &place, err);
}

int
network_teardown(const struct network_pod *pod, int cache_fd, struct err *err)
{
	struct err now;
	int result = 0;

	result = note(dnsmasq_stop(pod, &now), result, &now, err);
	result = note(nft_run(pod->netns_fd, rules_none, &now), result, &now,
		      err);
	result = note(undo_links(pod, &now), result, &now, err);
	if (cache_fd != -1)
		result = note(vifcache_remove_all(cache_fd, &now), result, &now,
			      err);
	return result;
}
