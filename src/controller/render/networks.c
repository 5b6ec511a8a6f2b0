/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "api/vmi.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/render/networks.h"
#include "kube/obj.h"
#include "tls/digest.h"

#define HASH_DIGITS 11 /* leaves room for "pod" and "-nic" */

const char *
networks_interface(const char *network, char buf[NETWORKS_NAME_SIZE])
{
	char hash[DIGEST_SHA256_HEX_SIZE];

	(void)digest_sha256_hex(network, strlen(network), hash);
	(void)snprintf(buf, NETWORKS_NAME_SIZE, "pod%.*s", HASH_DIGITS, hash);
	return buf;
}

/* One of Multus' NetworkSelectionElements. */
static json_t *
selection(const json_t *vmi, const json_t *interface, const char *network,
	  const char *name)
{
	const char *slash = strchr(network, '/');
	const char *mac = js_str_at(interface, "macAddress");
	AUTO(free_ptr)
	char *ns = slash == NULL ? xstrdup(obj_ns(vmi))
				 : xstrndup(network, (size_t)(slash - network));
	json_t *element =
		json_pack("{s:s, s:s, s:s}", "interface", name, "name",
			  slash == NULL ? network : slash + 1, "namespace", ns);

	if (*mac != '\0')
		json_object_set_new(element, "mac", json_string(mac));
	return element;
}

int
networks_annotate(const json_t *vmi, bool ordinal, json_t *annotations,
		  struct err *err)
{
	const json_t *networks = js_arr_at(vmi, "spec.networks");
	AUTO(js_unref) json_t *elements = json_array();
	AUTO(free_ptr) char *text = NULL;
	unsigned count = 0;
	json_t *network;
	size_t i;

	if (json_array_size(networks) > VMI_NETWORKS_MAX)
		return err_set(err, ERR_INVALID,
			       "spec.networks: there are more than %d",
			       VMI_NETWORKS_MAX);
	json_array_foreach(networks, i, network)
	{
		const char *name = js_str_at(network, "name");
		const char *nad = js_str_at(network, "multus.networkName");
		const json_t *interface = js_find(
			js_arr_at(vmi, "spec.domain.devices.interfaces"),
			"name", name);
		char buf[NETWORKS_NAME_SIZE];

		if (js_obj_at(network, "multus") == NULL)
			continue;
		if (*nad == '\0') {
			return err_set(
				err, ERR_INVALID,
				"spec.networks[%zu].multus.networkName: is "
				"missing",
				i);
		}
		if (js_bool_at(network, "multus.default", false)) {
			json_object_set_new(annotations,
					    ANNOTATION_DEFAULT_NETWORK,
					    json_string(nad));
			continue;
		}
		count++;
		if (str_equal(js_str_at(interface, "state"), "absent"))
			continue;
		if (ordinal)
			(void)snprintf(buf, sizeof(buf), "net%u", count);
		else
			(void)networks_interface(name, buf);
		json_array_append_new(elements,
				      selection(vmi, interface, nad, buf));
	}
	if (json_array_size(elements) == 0)
		return 0;
	text = js_text_sorted(elements, NULL);
	json_object_set_new(annotations, ANNOTATION_NETWORKS,
			    json_string(text));
	return 0;
}

bool
networks_are_ordinal(const json_t *pod)
{
	const char *text = obj_annotation(pod, ANNOTATION_NETWORK_STATUS);
	AUTO(js_unref) json_t *list = NULL;
	struct err ignored;
	json_t *status;
	size_t i;

	if (text == NULL)
		return false;
	list = js_parse(text, strlen(text), &ignored);
	json_array_foreach(list, i, status)
	{
		const char *name = js_str_at(status, "interface");

		if (!js_bool_at(status, "default", false) &&
		    str_has_prefix(name, "net") &&
		    strspn(name + 3, "0123456789") == strlen(name + 3) &&
		    name[3] != '\0')
			return true;
	}
	return false;
}
