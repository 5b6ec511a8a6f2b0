/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_VM_H
#define API_VM_H

/*
 * vm - a VirtualMachine, without its template: making an instance of it needs
 * all of it and takes the JSON.
 *
 * Threading: as objmeta.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/conds.h"
#include "api/objmeta.h"

#define VM_REQUESTS_MAX 16

enum run_strategy {
	RUN_UNSET,
	RUN_ALWAYS,
	RUN_HALTED,
	RUN_MANUAL,
	RUN_RERUN_ON_FAILURE,
	RUN_ONCE,
	RUN_WAIT_AS_RECEIVER,
	RUN_STRATEGY_COUNT,
};

/* "Always", ...; "" for unset. Unknown texts are RUN_UNSET. */
const char *run_strategy_name(enum run_strategy strategy);
enum run_strategy run_strategy_parse(const char *text);

enum vm_action {
	VM_START,
	VM_STOP,
	VM_ACTION_COUNT,
};

struct vm_request {
	enum vm_action action;
	char *uid;    /* of the instance to be stopped; "" for any */
	json_t *data; /* an object of strings, or NULL */
};

struct vm {
	struct objmeta meta;
	/* runStrategy, or what running stands for (Always or Halted). */
	enum run_strategy strategy;
	bool says_running; /* by the older spec.running */
	bool has_finalizer;
	bool orphans; /* deleted without what it owns */
	/* status */
	bool created, ready;
	char *printable_status;
	enum run_strategy followed; /* status.runStrategy */
	struct conds conds;
	struct vm_request *requests; /* stateChangeRequests */
	size_t request_count;
	int64_t observed_generation, desired_generation;
	/* startFailure */
	char *failed_uid;
	uint32_t failed_count;
	int64_t retry_after_us;
};

struct vm *vm_decode(const json_t *object, struct err *err);
void vm_free(struct vm *vm);
void vm_unref(struct vm **pointer);

#endif
