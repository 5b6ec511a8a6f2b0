/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_LISTER_H
#define KUBE_LISTER_H

/*
 * lister - all objects of a kind, page by page.
 *
 * One list is one moment: all pages show the state as of the resource version
 * that done is told. When that is not possible any more, because the pages
 * took too long (410), it begins again, without pages; when a page is too
 * large, with smaller ones. Each beginning is told, and what came before does
 * not count then.
 *
 * Threading: only from the loop's thread.
 */

#include "base/js.h"
#include "kube/client.h"

struct lister;

#define LISTER_PAGE 500
#define LISTER_TIMEOUT_MS 120000 /* for each page */

struct lister_request {
	struct kube_client *client;
	const struct kube_resource *resource;
	const char *ns;
	const char *label_selector;
	const char *field_selector;
	unsigned page; /* objects in a page; 0: LISTER_PAGE */
	/* Before the first object, also when it begins again. */
	void (*begin)(void *arg);
	/* Borrowed; without apiVersion and kind, as lists have them. */
	void (*item)(json_t *object, void *arg);
	/* Once. version is NULL when it failed. */
	void (*done)(const struct status *status, const char *version,
		     void *arg);
	void *arg;
};

/* Each callback may cancel it. */
struct lister *lister_start(const struct lister_request *request);
void lister_cancel(struct lister *lister); /* not after done; NULL is fine */

#endif
