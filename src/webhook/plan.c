/* SPDX-License-Identifier: Apache-2.0 */
#include "webhook/plan.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "meta/status.h"
#include "webhook/plan_internal.h"

struct plan *
plan_new(int code)
{
	struct plan *plan = xmalloc0(sizeof(*plan));

	plan->code = code;
	return plan;
}

void
plan_free(struct plan *plan)
{
	if (plan == NULL)
		return;
	for (size_t i = 0; i < plan->count; i++) {
		json_decref(plan->steps[i].body);
		free(plan->steps[i].name);
	}
	free(plan);
}

struct step *
plan_add(struct plan *plan, enum step_kind kind, json_t *body)
{
	struct step *step = &plan->steps[plan->count];

	assert(plan->count < PLAN_STEPS_MAX);
	plan->count++;
	step->kind = kind;
	step->body = body;
	return step;
}

json_t *
plan_op(const char *op, const char *path, json_t *value)
{
	json_t *item = json_pack("{s:s, s:s}", "op", op, "path", path);

	if (value != NULL)
		(void)json_object_set_new(item, "value", value);
	return item;
}

json_t *
plan_ops(json_t *first, json_t *second)
{
	json_t *ops = json_array();

	(void)json_array_append_new(ops, first);
	if (second != NULL)
		(void)json_array_append_new(ops, second);
	return ops;
}

__attribute__((format(printf, 4, 0))) static void
conflict(struct status *st, const char *resource, const char *name,
	 const char *fmt, va_list ap)
{
	AUTO(free_ptr) char *why = xvasprintf(fmt, ap);
	const struct gr gr = { "kubevirt.io", resource };

	(void)status_conflict(st, &gr, name, why);
}

void *
plan_conflict_vm(const struct plan_facts *facts, struct status *st,
		 const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	conflict(st, "virtualmachine", facts->name, fmt, ap);
	va_end(ap);
	return NULL;
}

void *
plan_conflict_vmi(const struct plan_facts *facts, struct status *st,
		  const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	conflict(st, "virtualmachineinstance", facts->name, fmt, ap);
	va_end(ap);
	return NULL;
}
