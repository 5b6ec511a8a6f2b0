/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/lister.h"

#include <stdlib.h>

#include "base/jsat.h"
#include "base/mem.h"

struct lister {
	struct kube_client *client;
	struct kube_resource resource;
	char *ns;
	char *label_selector;
	char *field_selector;
	unsigned page; /* 0: all at once */
	bool paged;    /* the token did not expire yet */
	struct kube_call *call;
	char *token; /* for the next page; NULL: the first */
	bool inside; /* somebody is being called */
	bool over;
	void (*begin)(void *arg);
	void (*item)(json_t *object, void *arg);
	void (*done)(const struct status *status, const char *version,
		     void *arg);
	void *arg;
};

static void next_page(struct lister *l);

static char *
copy(const char *text)
{
	return text != NULL ? xstrdup(text) : NULL;
}

static void
lister_free(struct lister *l)
{
	kube_cancel(l->call);
	free(l->ns);
	free(l->label_selector);
	free(l->field_selector);
	free(l->token);
	free(l);
}

void
lister_cancel(struct lister *l)
{
	if (l == NULL || l->over)
		return;
	l->over = true;
	if (!l->inside)
		lister_free(l);
}

static void
end(struct lister *l, const struct status *st, const char *version)
{
	if (l->over)
		return;
	l->over = true;
	l->done(st, version, l->arg);
}

static void
restart(struct lister *l)
{
	free(l->token);
	l->token = NULL;
	next_page(l);
}

/* Whether another way of asking may help. */
static bool
ask_otherwise(struct lister *l, const struct kube_result *result)
{
	if (result->too_large && l->page > 1) {
		l->page /= 2;
		return true;
	}
	if (kube_is_expired(result) && l->token != NULL && l->paged) {
		l->paged = false;
		return true;
	}
	return false;
}

static void
take_page(struct lister *l, const struct kube_result *result)
{
	const json_t *items = js_arr_at(result->answer, "items");
	const char *version =
		js_str_at(result->answer, "metadata.resourceVersion");
	const char *token = js_str_at(result->answer, "metadata.continue");
	struct status st = STATUS_INIT;
	json_t *item;
	size_t i;

	/* A list of none may have null. */
	if (*version == '\0' ||
	    (items == NULL && js_at(result->answer, "items") != NULL)) {
		(void)status_set(&st, 500, "InternalError",
				 "the answer is no list");
		end(l, &st, NULL);
		status_done(&st);
		return;
	}
	json_array_foreach(items, i, item)
	{
		if (l->over)
			return;
		l->item(item, l->arg);
	}
	if (*token == '\0') {
		end(l, &st, version);
		return;
	}
	free(l->token);
	l->token = xstrdup(token);
	if (!l->over)
		next_page(l);
}

static void
on_page(const struct kube_result *result, void *arg)
{
	struct lister *l = arg;

	l->call = NULL;
	l->inside = true;
	if (result->status->code == 0) {
		if (l->token == NULL && l->begin != NULL)
			l->begin(l->arg);
		if (!l->over)
			take_page(l, result);
	} else if (ask_otherwise(l, result)) {
		restart(l);
	} else {
		end(l, result->status, NULL);
	}
	l->inside = false;
	if (l->over)
		lister_free(l);
}

static void
next_page(struct lister *l)
{
	struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &l->resource,
		.ns = l->ns,
		.label_selector = l->label_selector,
		.field_selector = l->field_selector,
		.limit = l->paged ? l->page : 0,
		.continue_token = l->token,
		.timeout_ms = LISTER_TIMEOUT_MS,
	};

	l->call = kube_send(l->client, &request, on_page, l);
}

struct lister *
lister_start(const struct lister_request *r)
{
	struct lister *l = xmalloc0(sizeof(*l));

	l->client = r->client;
	l->resource = *r->resource;
	l->ns = copy(r->ns);
	l->label_selector = copy(r->label_selector);
	l->field_selector = copy(r->field_selector);
	l->page = r->page != 0 ? r->page : LISTER_PAGE;
	l->paged = true;
	l->begin = r->begin;
	l->item = r->item;
	l->done = r->done;
	l->arg = r->arg;
	next_page(l);
	return l;
}
