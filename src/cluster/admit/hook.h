/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_HOOK_H
#define CLUSTER_ADMIT_HOOK_H

/*
 * hook - the webhooks that are configured, and which requests they want.
 *
 * struct hooks follows the configurations of one kind in the store. Whoever
 * calls webhooks takes the set as it is at that moment and holds on to it; a
 * change makes a new set.
 *
 * A hook whose matchPolicy is Equivalent also gets requests for another
 * version of the kind its rules name, with the object in that version.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"

struct admission_request;
struct kind_version;
struct selector;
struct status;
struct store;

#define HOOK_TIMEOUT_DEFAULT_S 10
#define HOOK_TIMEOUT_MAX_S 30

struct hook {
	char *name;
	bool mutating;
	bool fails_closed;    /* failurePolicy: Fail */
	bool reinvoked;       /* reinvocationPolicy: IfNeeded */
	bool exact;           /* matchPolicy: Exact */
	bool no_side_effects; /* in a dry run */
	bool speaks_v1;       /* else v1beta1 */
	unsigned timeout_s;
	char *url; /* where to; of a service: as messages show it */
	char *service_ns, *service_name; /* NULL: none */
	uint16_t service_port;
	char *ca_pem; /* NULL: the CAs of the system */
	json_t *rules;
	struct selector *namespaces; /* NULL: all */
	struct selector *objects;    /* NULL: all */
	bool broken; /* a selector that cannot be read: matches all and fails */
};

struct hook_config {
	unsigned refs;
	char *name;
	struct hook *hooks;
	size_t count;
};

struct hook_set {
	unsigned refs;
	struct hook_config **configs; /* by name */
	size_t config_count;
	const struct hook **hooks; /* all of them, in the order of calling */
	size_t count;
};

struct hooks;

/* resource is "mutatingwebhookconfigurations" or the validating one. */
struct hooks *hooks_new(struct store *store, const char *resource);
void hooks_free(struct hooks *hooks);

/* A reference to the set as it is now. */
struct hook_set *hooks_set(struct hooks *hooks);
void hook_set_unref(struct hook_set *set); /* NULL is fine */
/* From an object of the kind; never fails. */
struct hook_config *hook_config_new(const json_t *config, bool mutating);
void hook_config_unref(struct hook_config *config);

/*
 * Whether the hook is to be called: 1 with the version that it wants to see, 0,
 * or -1 with an answer to the client.
 */
int hook_matches(const struct hook *hook, struct store *store,
		 const struct admission_request *req,
		 const struct kind_version **ret_version, struct status *st);

/* "CREATE" and so on, as in rules and reviews; op is an enum admission_op. */
const char *hook_op_name(int op);

#endif
