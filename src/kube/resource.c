/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/resource.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "kube/url.h"

const struct kube_resource kube_configmaps = { "", "v1", "configmaps",
					       "ConfigMap" };
const struct kube_resource kube_events = { "", "v1", "events", "Event" };
const struct kube_resource kube_leases = { "coordination.k8s.io", "v1",
					   "leases", "Lease" };
const struct kube_resource kube_namespaces = { "", "v1", "namespaces",
					       "Namespace" };
const struct kube_resource kube_nodes = { "", "v1", "nodes", "Node" };
const struct kube_resource kube_persistentvolumeclaims = {
	"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim"
};
const struct kube_resource kube_pods = { "", "v1", "pods", "Pod" };
const struct kube_resource kube_resourcequotas = { "", "v1", "resourcequotas",
						   "ResourceQuota" };
const struct kube_resource kube_secrets = { "", "v1", "secrets", "Secret" };
const struct kube_resource kube_storageclasses = { "storage.k8s.io", "v1",
						   "storageclasses",
						   "StorageClass" };

char *
kube_api_version(const struct kube_resource *r)
{
	if (*r->group == '\0')
		return xstrdup(r->version);
	return xasprintf("%s/%s", r->group, r->version);
}

static bool
is_given(const char *text)
{
	return text != NULL && *text != '\0';
}

char *
kube_path(const struct kube_resource *r, const char *ns, const char *name,
	  const char *sub)
{
	struct buf path = BUF_INIT(BUF_UNLIMITED);

	if (*r->group == '\0')
		(void)buf_printf(&path, "/api/%s", r->version);
	else
		(void)buf_printf(&path, "/apis/%s/%s", r->group, r->version);
	if (is_given(ns)) {
		(void)buf_append_str(&path, "/namespaces/");
		url_escape(&path, ns, "");
	}
	(void)buf_printf(&path, "/%s", r->plural);
	if (is_given(name)) {
		(void)buf_append_str(&path, "/");
		url_escape(&path, name, "");
	}
	if (is_given(sub)) {
		(void)buf_append_str(&path, "/");
		url_escape(&path, sub, "/");
	}
	return (char *)path.data;
}

const char *
kube_key(const char *ns, const char *name, char key[KUBE_KEY_MAX])
{
	(void)snprintf(key, KUBE_KEY_MAX, "%s%s%s", is_given(ns) ? ns : "",
		       is_given(ns) ? "/" : "", name);
	return key;
}

int
kube_key_split(const char *key, char *buf, const char **ret_ns,
	       const char **ret_name)
{
	size_t len = strlen(key);
	char *slash;

	if (len >= KUBE_KEY_MAX)
		return -1;
	memcpy(buf, key, len + 1);
	slash = strchr(buf, '/');
	if (slash == NULL) {
		*ret_ns = buf + len;
		*ret_name = buf;
		return len > 0 ? 0 : -1;
	}
	*slash = '\0';
	*ret_ns = buf;
	*ret_name = slash + 1;
	return slash > buf && slash[1] != '\0' && strchr(slash + 1, '/') == NULL
		       ? 0
		       : -1;
}
