/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_PLAN_INTERNAL_H
#define WEBHOOK_PLAN_INTERNAL_H

/* plan_internal - what the plans share. Private to plan*.c. */

#include "webhook/plan.h"

#define VM_NOT_RUNNING "VM is not running"
#define VM_RECOVERY_REQUIRED                                                   \
	"VM recovery required: Volume migration failed, leaving some volumes " \
	"pointing to non-consistent targets; manual intervention is needed "   \
	"to "                                                                  \
	"reassign them to their original volumes."

struct plan *plan_new(int code);
/* Takes the reference of body. */
struct step *plan_add(struct plan *plan, enum step_kind kind, json_t *body);

/* An operation of a JSON patch, a new reference; takes that of value, which is
 * NULL for none. */
json_t *plan_op(const char *op, const char *path, json_t *value);
/* A list of them; takes the references. second may be NULL. */
json_t *plan_ops(json_t *first, json_t *second);

/* 409 in the words for these two. Each returns NULL. */
void *plan_conflict_vm(const struct plan_facts *facts, struct status *st,
		       const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void *plan_conflict_vmi(const struct plan_facts *facts, struct status *st,
			const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
