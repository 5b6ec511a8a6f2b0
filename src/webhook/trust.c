/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/trust.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/client.h"

#define CONFIGMAP "extension-apiserver-authentication"
#define CONFIGMAP_NS "kube-system"
#define US_PER_MS 1000UL

struct trust {
	struct kube_client *client;
	struct kube_call *call;
	struct loop_timer *timer; /* NULL: the operator said it all */
	void (*changed)(void *arg);
	void *arg;
	bool known;
	bool told; /* of the last failure */
	struct trust_rules rules;
};

static void
take(struct trust *trust, const json_t *configmap)
{
	struct trust_rules rules = { 0 };
	bool same;
	struct err err;

	if (configmap != NULL &&
	    trust_rules_read(configmap, &rules, &err) == -1) {
		log_error(NULL,
			  "ConfigMap '" CONFIGMAP_NS "/" CONFIGMAP
			  "', ignoring: %s",
			  err.text);
		return;
	}
	if (rules.ca_pem == NULL && !trust->known)
		log_warning(NULL, "the cluster publishes no requestheader CA: "
				  "subresources are refused");
	same = str_equal(rules.ca_pem, trust->rules.ca_pem);
	trust_rules_done(&trust->rules);
	trust->rules = rules;
	trust->known = true;
	if (!same)
		trust->changed(trust->arg);
}

static void
looked(const struct kube_result *result, void *arg)
{
	struct trust *trust = arg;

	trust->call = NULL;
	if (result->status->code == 0 || kube_is_not_found(result)) {
		trust->told = false;
		take(trust, result->answer);
	} else if (!trust->told) {
		/* What is known stays. */
		trust->told = true;
		log_warning(NULL,
			    "cannot read ConfigMap '" CONFIGMAP_NS "/" CONFIGMAP
			    "', trying again: %s",
			    result->status->message);
	}
	loop_timer_start(trust->timer,
			 (trust->known ? TRUST_LOOK_MS : TRUST_LOOK_FIRST_MS) *
				 US_PER_MS);
}

static void
look(void *arg)
{
	struct trust *trust = arg;
	const struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &kube_configmaps,
		.ns = CONFIGMAP_NS,
		.name = CONFIGMAP,
	};

	trust->call = kube_send(trust->client, &request, looked, trust);
}

struct trust *
trust_new(const struct trust_config *config)
{
	struct trust *trust = xmalloc0(sizeof(*trust));

	trust->client = config->client;
	trust->changed = config->changed;
	trust->arg = config->arg;
	if (config->ca_pem != NULL) {
		trust->known = true;
		trust->rules.ca_pem = xstrdup(config->ca_pem);
		trust->rules.allowed_names = json_array();
		for (size_t i = 0; i < config->allowed_names->count; i++)
			(void)json_array_append_new(
				trust->rules.allowed_names,
				json_string(config->allowed_names->value[i]));
		return trust;
	}
	trust->timer =
		loop_timer_new(kube_client_loop(config->client), look, trust);
	look(trust);
	return trust;
}

void
trust_free(struct trust *trust)
{
	if (trust == NULL)
		return;
	kube_cancel(trust->call);
	loop_timer_free(trust->timer);
	trust_rules_done(&trust->rules);
	free(trust);
}

const char *
trust_ca(const struct trust *trust)
{
	return trust->rules.ca_pem;
}

bool
trust_is_known(const struct trust *trust)
{
	return trust->known;
}

json_t *
trust_user(const struct trust *trust, const struct http_request *req)
{
	return trust_rules_user(&trust->rules, req);
}
