/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "kube/client.h"

struct claims {
	struct kube_client *client;
	void (*done)(void *arg);
	void *arg;
	char *ns;
	char **names;
	struct pvc **found; /* NULL: not there, or not yet asked */
	size_t count, next;
	struct kube_call *call;
};

static const struct pvc *
find(void *arg, const char *name)
{
	const struct claims *c = arg;

	for (size_t i = 0; c != NULL && i < c->count; i++) {
		if (str_equal(c->names[i], name))
			return c->found[i];
	}
	return NULL;
}

void
claims_judge(const struct claims *claims, const struct vmi *vmi,
	     bool host_model_known, struct migratable *ret_verdict)
{
	const struct migratable_facts facts = {
		.vmi = vmi,
		.host_model_known = host_model_known,
		.claim = find,
		.arg = (void *)(uintptr_t)claims,
	};

	migratable_judge(&facts, ret_verdict);
}

bool
claims_are_needed(const struct vmi *vmi)
{
	for (size_t i = 0; i < vmi->volume_count; i++) {
		if (vmi->volumes[i].claim[0] != '\0')
			return true;
	}
	return false;
}

static void ask_next(struct claims *c);

static void
answered(const struct kube_result *result, void *arg)
{
	struct claims *c = arg;
	struct err err;

	c->call = NULL;
	if (result->answer != NULL) {
		c->found[c->next] = pvc_decode(result->answer, &err);
		if (c->found[c->next] == NULL)
			log_warning(NULL, "claim %s/%s, ignoring: %s", c->ns,
				    c->names[c->next], err.text);
	}
	c->next++;
	ask_next(c);
}

static void
ask_next(struct claims *c)
{
	struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &kube_persistentvolumeclaims,
		.ns = c->ns,
	};

	if (c->next == c->count) {
		c->done(c->arg);
		return;
	}
	request.name = c->names[c->next];
	c->call = kube_send(c->client, &request, answered, c);
}

struct claims *
claims_ask(struct kube_client *client, const struct vmi *vmi,
	   void (*done)(void *arg), void *arg)
{
	struct claims *c = xmalloc0(sizeof(*c));

	c->client = client;
	c->done = done;
	c->arg = arg;
	c->ns = xstrdup(vmi->meta.ns);
	c->names = xcalloc(vmi->volume_count + 1, sizeof(*c->names));
	c->found = xcalloc(vmi->volume_count + 1, sizeof(struct pvc *));
	for (size_t i = 0; i < vmi->volume_count; i++) {
		if (vmi->volumes[i].claim[0] != '\0')
			c->names[c->count++] = xstrdup(vmi->volumes[i].claim);
	}
	ask_next(c);
	return c;
}

void
claims_free(struct claims *c)
{
	if (c == NULL)
		return;
	kube_cancel(c->call);
	for (size_t i = 0; i < c->count; i++) {
		free(c->names[i]);
		pvc_free(c->found[i]);
	}
	free(c->names);
	free(c->found);
	free(c->ns);
	free(c);
}
