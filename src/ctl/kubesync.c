/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/kubesync.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/config.h"
#include "kube/obj.h"
#include "meta/time.h"
#include "meta/yaml.h"
#include "tls/pki.h"
#include "version.h"

#define HTTP_UNAUTHORIZED 401
#define HTTP_FORBIDDEN 403
#define HTTP_NOT_FOUND 404
#define HTTP_CONFLICT 409
#define HTTP_UNAVAILABLE 503
#define HTTP_TIMEOUT 504
#define US_PER_S INT64_C(1000000)

struct kubesync {
	struct loop *loop;
	struct kube_client *client;
};

struct waiting {
	const struct kubesync *ks;
	struct loop *loop;
	json_t *answer;
	struct err *err;
	int result;
};

static enum err_kind
kind_of(int code)
{
	switch (code) {
	case HTTP_UNAUTHORIZED:
	case HTTP_FORBIDDEN:
		return ERR_DENIED;
	case HTTP_NOT_FOUND:
		return ERR_NOT_FOUND;
	case HTTP_CONFLICT:
		return ERR_CONFLICT;
	case HTTP_UNAVAILABLE:
		return ERR_UNAVAILABLE;
	case HTTP_TIMEOUT:
		return ERR_TIMEOUT;
	default:
		return ERR_REFUSED;
	}
}

int
kubesync_blame(const struct kubesync *ks, struct err *err)
{
	const char *cert = kube_client_config(ks->client)->cert.text;
	struct tls_pki_validity validity;
	char text[TIME_TEXT_SIZE];
	struct err ignored;

	if (cert == NULL || tls_pki_read_validity(cert, strlen(cert), &validity,
						  &ignored) == -1)
		return -1;
	if (validity.not_after * US_PER_S >= time_now_us())
		return -1;
	return err_prefix(err, "the client certificate has expired (%s)",
			  time_text(validity.not_after * US_PER_S, text));
}

static void
answered(const struct kube_result *result, void *arg)
{
	struct waiting *w = arg;

	if (result->status->code != 0) {
		w->result = err_set(w->err,
				    kube_is_already_exists(result)
					    ? ERR_EXISTS
					    : kind_of(result->status->code),
				    "%s", result->status->message);
		if (result->code == 0 || result->code == HTTP_UNAUTHORIZED)
			(void)kubesync_blame(w->ks, w->err);
	} else {
		w->result = 0;
		w->answer = json_incref(result->answer);
	}
	loop_stop(w->loop);
}

struct kubesync *
kubesync_open(const struct kube_flags *flags, struct err *err)
{
	struct kube_client_options options = {
		.user_agent = "ferryctl/" FERRY_VERSION,
		.at_once = true,
	};
	struct kubesync *ks;

	if (kube_config_load(flags, NULL, &options.config, err) == -1)
		return NULL;
	ks = xmalloc0(sizeof(*ks));
	ks->loop = options.loop = loop_new();
	ks->client = kube_client_new(&options);
	return ks;
}

void
kubesync_free(struct kubesync *ks)
{
	if (ks == NULL)
		return;
	kube_client_free(ks->client);
	loop_free(ks->loop);
	free(ks);
}

const char *
kubesync_ns(const struct kubesync *ks)
{
	return kube_client_config(ks->client)->ns;
}

struct loop *
kubesync_loop(const struct kubesync *ks)
{
	return ks->loop;
}

struct kube_client *
kubesync_client(const struct kubesync *ks)
{
	return ks->client;
}

int
kubesync_send(struct kubesync *ks, const struct kube_request *request,
	      json_t **ret_answer, struct err *err)
{
	struct waiting w = { .ks = ks, .loop = ks->loop, .err = err };

	(void)kube_send(ks->client, request, answered, &w);
	loop_run(ks->loop);
	if (ret_answer != NULL)
		*ret_answer = w.answer;
	else
		json_decref(w.answer);
	return w.result;
}

/* What Ferry installs. */
static const struct kube_resource resources[] = {
	{ "", "v1", "namespaces", "Namespace" },
	{ "", "v1", "serviceaccounts", "ServiceAccount" },
	{ "", "v1", "services", "Service" },
	{ "", "v1", "endpoints", "Endpoints" },
	{ "", "v1", "configmaps", "ConfigMap" },
	{ "discovery.k8s.io", "v1", "endpointslices", "EndpointSlice" },
	{ "storage.k8s.io", "v1", "storageclasses", "StorageClass" },
	{ "rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole" },
	{ "rbac.authorization.k8s.io", "v1", "clusterrolebindings",
	  "ClusterRoleBinding" },
	{ "rbac.authorization.k8s.io", "v1", "roles", "Role" },
	{ "rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding" },
	{ "admissionregistration.k8s.io", "v1",
	  "validatingwebhookconfigurations", "ValidatingWebhookConfiguration" },
	{ "admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
	  "MutatingWebhookConfiguration" },
	{ "apiregistration.k8s.io", "v1", "apiservices", "APIService" },
	{ "kubevirt.io", "v1", "kubevirts", "KubeVirt" },
	{ "k8s.cni.cncf.io", "v1", "network-attachment-definitions",
	  "NetworkAttachmentDefinition" },
};

static const struct kube_resource *
resource_of(const json_t *object)
{
	for (size_t i = 0; i < ARRAY_LEN(resources); i++) {
		AUTO(free_ptr) char *version = kube_api_version(&resources[i]);

		if (str_equal(js_str_at(object, "kind"), resources[i].kind) &&
		    str_equal(js_str_at(object, "apiVersion"), version))
			return &resources[i];
	}
	return NULL;
}

int
kubesync_apply(struct kubesync *ks, const json_t *object, struct err *err)
{
	struct kube_request request = {
		.verb = KUBE_CREATE,
		.resource = resource_of(object),
		.ns = obj_ns(object),
		.body = object,
	};

	if (request.resource == NULL)
		return err_set(err, ERR_INVALID, "cannot apply a %s of %s",
			       js_str_at(object, "kind"),
			       js_str_at(object, "apiVersion"));
	if (kubesync_send(ks, &request, NULL, err) == 0)
		return 0;
	if (err->kind == ERR_EXISTS) {
		request.verb = KUBE_PATCH_MERGE;
		request.name = obj_name(object);
		if (kubesync_send(ks, &request, NULL, err) == 0)
			return 0;
	}
	return err_prefix(err, "%s %s", request.resource->kind,
			  obj_name(object));
}

int
kubesync_apply_yaml(struct kubesync *ks, const char *text, size_t len,
		    struct err *err)
{
	AUTO(yaml_docs_unref) struct yaml_docs *docs = yaml_docs_new(text, len);
	int more;

	for (;;) {
		AUTO(js_unref) json_t *object = NULL;

		more = yaml_docs_next(docs, &object, err);
		if (more != 1)
			return more;
		if (!json_is_null(object) &&
		    kubesync_apply(ks, object, err) == -1)
			return -1;
	}
}
