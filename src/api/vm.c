/* SPDX-License-Identifier: Apache-2.0 */
#include "api/vm.h"

#include <stdlib.h>

#include "api/names.h"
#include "api/text.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "kube/obj.h"

static const char *const strategy_names[] = {
	[RUN_UNSET] = "",
	[RUN_ALWAYS] = "Always",
	[RUN_HALTED] = "Halted",
	[RUN_MANUAL] = "Manual",
	[RUN_RERUN_ON_FAILURE] = "RerunOnFailure",
	[RUN_ONCE] = "Once",
	[RUN_WAIT_AS_RECEIVER] = "WaitAsReceiver",
};
_Static_assert(ARRAY_LEN(strategy_names) == RUN_STRATEGY_COUNT,
	       "each strategy has a name");

static const char *const action_names[] = {
	[VM_START] = "Start",
	[VM_STOP] = "Stop",
};
_Static_assert(ARRAY_LEN(action_names) == VM_ACTION_COUNT,
	       "each action has a name");

const char *
run_strategy_name(enum run_strategy strategy)
{
	return strategy_names[strategy];
}

enum run_strategy
run_strategy_parse(const char *text)
{
	size_t i = text_index(strategy_names, ARRAY_LEN(strategy_names), text);

	return i == ARRAY_LEN(strategy_names) ? RUN_UNSET
					      : (enum run_strategy)i;
}

static enum run_strategy
decode_strategy(const json_t *spec)
{
	const json_t *running = js_at(spec, "running");

	if (json_is_boolean(running))
		return json_is_true(running) ? RUN_ALWAYS : RUN_HALTED;
	return run_strategy_parse(js_str_at(spec, "runStrategy"));
}

static int
decode_requests(const json_t *array, struct vm *vm, struct err *err)
{
	size_t i;
	json_t *item;

	if (json_array_size(array) == 0)
		return 0;
	if (json_array_size(array) > VM_REQUESTS_MAX)
		return err_set(err, ERR_LIMIT,
			       "more than %d stateChangeRequests",
			       VM_REQUESTS_MAX);
	vm->requests = xcalloc(VM_REQUESTS_MAX, sizeof(*vm->requests));
	json_array_foreach(array, i, item)
	{
		size_t action =
			text_index(action_names, ARRAY_LEN(action_names),
				   js_str_at(item, "action"));

		if (action == ARRAY_LEN(action_names))
			return err_set(err, ERR_INVALID,
				       "stateChangeRequests[%zu]: unknown "
				       "action '%s'",
				       i, js_str_at(item, "action"));
		vm->requests[vm->request_count++] = (struct vm_request){
			.action = (enum vm_action)action,
			.uid = text_at(item, "uid"),
			.data = text_obj_at(item, "data"),
		};
	}
	return 0;
}

static int
decode_status(const json_t *object, struct vm *vm, struct err *err)
{
	const json_t *status = js_obj_at(object, "status");
	int64_t failures =
		js_int_at(status, "startFailure.consecutiveFailCount", 0);

	vm->created = js_bool_at(status, "created", false);
	vm->ready = js_bool_at(status, "ready", false);
	vm->printable_status = text_at(status, "printableStatus");
	vm->followed = run_strategy_parse(js_str_at(status, "runStrategy"));
	vm->observed_generation = js_int_at(status, "observedGeneration", 0);
	vm->desired_generation = js_int_at(status, "desiredGeneration", 0);
	vm->failed_uid = text_at(status, "startFailure.lastFailedVMIUID");
	vm->failed_count =
		failures < 0 || failures > UINT32_MAX ? 0 : (uint32_t)failures;
	vm->retry_after_us =
		text_time_at(status, "startFailure.retryAfterTimestamp");
	conds_decode(js_arr_at(status, "conditions"), &vm->conds);
	if (decode_requests(js_arr_at(status, "stateChangeRequests"), vm,
			    err) == -1)
		return err_prefix(err, "status");
	return 0;
}

struct vm *
vm_decode(const json_t *object, struct err *err)
{
	AUTO(vm_unref) struct vm *vm = xmalloc0(sizeof(*vm));

	if (objmeta_decode(object, &vm->meta, err) == -1)
		return NULL;
	vm->strategy = decode_strategy(js_obj_at(object, "spec"));
	vm->says_running = json_is_boolean(js_at(object, "spec.running"));
	vm->has_finalizer = obj_has_finalizer(object, FINALIZER_VM);
	vm->orphans = obj_has_finalizer(object, FINALIZER_ORPHAN);
	if (decode_status(object, vm, err) == -1)
		return NULL;
	return TAKE_PTR(vm);
}

void
vm_free(struct vm *vm)
{
	if (vm == NULL)
		return;
	objmeta_done(&vm->meta);
	text_free(vm->printable_status);
	conds_done(&vm->conds);
	for (size_t i = 0; i < vm->request_count; i++) {
		text_free(vm->requests[i].uid);
		json_decref(vm->requests[i].data);
	}
	free(vm->requests);
	text_free(vm->failed_uid);
	free(vm);
}

void
vm_unref(struct vm **pointer)
{
	vm_free(*pointer);
	*pointer = NULL;
}
