/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/admit/service.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/str.h"
#include "cluster/store/object.h"
#include "cluster/store/store.h"

static json_t *
load(struct store *store, const char *resource, const struct service_ref *ref)
{
	const struct object *object =
		store_get(store_collection(store, "", resource),
			  ref->namespace_, ref->name);

	return object != NULL ? object_json(object) : NULL;
}

static const json_t *
find_port(const json_t *service, uint16_t port)
{
	const json_t *item;
	size_t i;

	json_array_foreach(js_arr_at(service, "spec.ports"), i, item)
	{
		if (js_int_at(item, "port", 0) == port)
			return item;
	}
	return NULL;
}

static int
set_address(struct service_address *ret_address, const char *host, int64_t port,
	    struct err *err)
{
	if (strlen(host) >= sizeof(ret_address->host) || port < 1 ||
	    port > UINT16_MAX)
		return err_set(err, ERR_INVALID, "address '%s' is not usable",
			       host);
	(void)snprintf(ret_address->host, sizeof(ret_address->host), "%s",
		       host);
	ret_address->port = (uint16_t)port;
	return 0;
}

/* The port of a subset that goes by the name of the service's port. */
static int64_t
subset_port(const json_t *subset, const char *name)
{
	const json_t *item;
	size_t i;

	json_array_foreach(js_arr_at(subset, "ports"), i, item)
	{
		if (str_equal(js_str_at(item, "name"), name))
			return js_int_at(item, "port", 0);
	}
	return 0;
}

static size_t
count_ready(const json_t *endpoints, const char *port_name)
{
	const json_t *subset;
	size_t i, count = 0;

	json_array_foreach(js_arr_at(endpoints, "subsets"), i, subset)
	{
		if (subset_port(subset, port_name) != 0)
			count +=
				json_array_size(js_arr_at(subset, "addresses"));
	}
	return count;
}

static int
take_endpoint(const json_t *endpoints, const char *port_name, size_t turn,
	      struct service_address *ret_address, struct err *err)
{
	const json_t *subset;
	size_t i;

	json_array_foreach(js_arr_at(endpoints, "subsets"), i, subset)
	{
		const json_t *addresses = js_arr_at(subset, "addresses");
		int64_t port = subset_port(subset, port_name);

		if (port == 0)
			continue;
		if (turn < json_array_size(addresses)) {
			const json_t *item = json_array_get(addresses, turn);

			return set_address(ret_address, js_str_at(item, "ip"),
					   port, err);
		}
		turn -= json_array_size(addresses);
	}
	return err_set(err, ERR_UNAVAILABLE, "no endpoints");
}

static int
resolve_inside(struct store *store, const struct service_ref *ref,
	       const json_t *service, unsigned turn,
	       struct service_address *ret_address, struct err *err)
{
	const json_t *port = find_port(service, ref->port);
	const char *ip = js_str_at(service, "spec.clusterIP");
	AUTO(js_unref) json_t *endpoints = NULL;
	const char *name;
	size_t ready;

	if (port == NULL)
		return err_set(err, ERR_INVALID,
			       "no service port %u found for service \"%s\"",
			       ref->port, ref->name);
	name = js_str_at(port, "name");
	endpoints = load(store, "endpoints", ref);
	ready = count_ready(endpoints, name);
	if (ready > 0)
		return take_endpoint(endpoints, name, turn % ready, ret_address,
				     err);
	if (*ip != '\0' && !str_equal(ip, "None"))
		return set_address(ret_address, ip, ref->port, err);
	return err_set(err, ERR_UNAVAILABLE,
		       "no endpoints available for service \"%s\"", ref->name);
}

int
service_resolve(struct store *store, const struct service_ref *ref,
		unsigned turn, struct service_address *ret_address,
		struct err *err)
{
	AUTO(js_unref) json_t *service = load(store, "services", ref);

	if (service == NULL)
		return err_set(err, ERR_NOT_FOUND, "service \"%s\" not found",
			       ref->name);
	if (str_equal(js_str_at(service, "spec.type"), "ExternalName"))
		return set_address(ret_address,
				   js_str_at(service, "spec.externalName"),
				   ref->port, err);
	return resolve_inside(store, ref, service, turn, ret_address, err);
}

void
service_address_text(const struct service_address *address,
		     char text[SERVICE_ADDRESS_SIZE])
{
	bool v6 = strchr(address->host, ':') != NULL;

	(void)snprintf(text, SERVICE_ADDRESS_SIZE, "%s%s%s:%u", v6 ? "[" : "",
		       address->host, v6 ? "]" : "", address->port);
}

char *
service_bundle(const json_t *config)
{
	const char *text = js_str_at(config, "caBundle");
	struct err err;
	uint8_t *data;
	size_t len;

	if (*text == '\0' || base64_decode(BASE64_STD, text, strlen(text),
					   &data, &len, &err) == -1)
		return NULL;
	return (char *)data;
}
