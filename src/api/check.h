/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_CHECK_H
#define API_CHECK_H

/*
 * check - what admission refuses, in KubeVirt's order and words.
 *
 * Each check is a pure function over what was read and returns 0, or -1 with st
 * filled as KubeVirt's answer: either 400 with a message alone, or 422 with
 * reason Invalid, a cause for each field, and their texts with ", " between
 * them as message.
 *
 * Threading: any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"
#include "meta/status.h"

struct kubevirt_config;
struct vmi;
struct vmim;

/* 422 and its causes; see above. reason as "FieldValueInvalid"; field may be
 * NULL. Adds to what st already has. Returns -1. */
int check_deny(struct status *st, const char *reason, const char *field,
	       const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* 400. Returns -1. */
int check_fail(struct status *st, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Who asks. */
struct check_user {
	const char *name;
	bool internal;   /* one of KubeVirt's own service accounts */
	bool controller; /* that of virt-controller */
};

struct vmim_create_facts {
	const struct vmim *vmim;
	struct check_user user;
	const struct kubevirt_config *config;
	const struct vmi *vmi;            /* NULL: it does not exist */
	const struct vmim *const *of_vmi; /* all of the machine, by label */
	size_t of_vmi_count;
};

/*
 * The part that needs nothing but the object, so that a wrong one costs no
 * requests; vmim_check_create() includes it.
 */
int vmim_check_spec(const struct vmim *vmim, const struct check_user *user,
		    struct status *st);
int vmim_check_create(const struct vmim_create_facts *facts, struct status *st);

/* Of the objects' JSON: the spec as a whole, and the label. */
int vmim_check_update(const json_t *old_object, const json_t *new_object,
		      struct status *st);

/*
 * A machine itself: only what Ferry can run, see domain.h, and nothing that
 * contradicts itself. prefix is "spec", or "spec.template.spec" in a
 * VirtualMachine.
 */
int vmi_check_spec(const json_t *spec, const char *prefix, struct status *st);
int vmi_check_create(const json_t *object, const struct check_user *user,
		     struct status *st);
int vmi_check_update(const json_t *old_object, const json_t *new_object,
		     const struct check_user *user, int64_t now_us,
		     struct status *st);

/*
 * What the agent of a node may change on a machine: only one that runs on the
 * node or is received by it, only what that side writes, and never the target
 * of a migration. node is "" or NULL when its identity does not tell.
 */
int vmi_check_node_update(const json_t *old_object, const json_t *new_object,
			  const char *node, struct status *st);

/*
 * What the agent of a node may change on a Node: labels and annotations of its
 * own whose keys are KubeVirt's. Taints, other labels and other nodes are not
 * its to write: by them it could lead machines to itself. node as above.
 */
int node_check_update(const json_t *old_object, const json_t *new_object,
		      const char *node, struct status *st);

struct vm_facts {
	const json_t *old_object; /* NULL for a new one */
	const json_t *new_object;
	const struct kubevirt_config *config;
	const struct vmi *vmi; /* its instance, or NULL */
	int64_t now_us;
};

int vm_check(const struct vm_facts *facts, struct status *st);

/* old_object is NULL for a new one. */
int policy_check(const json_t *old_object, const json_t *new_object,
		 const struct kubevirt_config *config, struct status *st);

/* The same; the gates are those of the new object. */
int kubevirt_check(const json_t *old_object, const json_t *new_object,
		   struct status *st);

#endif
