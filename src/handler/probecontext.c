/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/probecontext.h"

#include "api/pathprobe.h"
#include "api/vmi.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/log.h"
#include "base/str.h"
#include "handler/handler.h"
#include "handler/probewire.h"
#include "handler/proxyctl.h"
#include "kube/resource.h"
#include "version.h"

json_t *
probe_answer(const struct probe_context *context)
{
	json_t *answer = json_pack("{s:s, s:s}", "node", context->node,
				   "handler", FERRY_VERSION);
	const char *address = handler_options(context->handler)->address;

	if (address != NULL)
		json_object_set_new(answer, "address", json_string(address));
	return answer;
}

int
probe_check(const struct probe_context *context, const json_t *view,
	    struct err *err)
{
	if (js_str_at(view, "error")[0] != '\0')
		return err_set(err, ERR_UNAVAILABLE,
			       "the ferry-proxy of %s does not answer",
			       context->node);
	if (context->dir_fd == -1)
		return err_set(err, ERR_UNAVAILABLE,
			       "%s has no directory for the sockets of a "
			       "measurement; its handler's log has why",
			       context->node);
	return 0;
}

static void
look_for_machine(const char *key, void *arg)
{
	bool *found = arg;

	*found = *found || !str_has_prefix(key, PROBE_KEY_PREFIX);
}

bool
probe_is_busy(const struct probe_context *context)
{
	const struct proxyctl *proxy = handler_proxy(context->handler);
	bool found = false;

	for (int side = 0; side < PROXY_SIDE_COUNT; side++)
		proxyctl_each(proxy, (enum proxy_side)side, look_for_machine,
			      &found);
	return found;
}

const struct vmi *
probe_vmi(const struct probe_context *context, const struct pathprobe *probe)
{
	char key[KUBE_KEY_MAX];
	const struct seen_vmi *machine;

	if (probe->vmi_name[0] == '\0')
		return NULL;
	machine = handler_vmi(context->handler,
			      kube_key(probe->meta.ns, probe->vmi_name, key));
	return machine == NULL ? NULL : machine->vmi;
}

static void
stopped(void *arg, const json_t *result, const struct err *err)
{
	(void)arg;
	(void)result;
	if (err != NULL)
		log_warning(NULL, "a listener of a probe, ignoring: %s",
			    err->text);
}

void
probe_stop_listener(const struct probe_context *context, int side,
		    const char *key)
{
	const struct proxyctl_end end = {
		.side = (enum proxy_side)side,
		.key = key,
	};
	struct err err;

	if (proxyctl_stop(handler_proxy(context->handler), &end, stopped, NULL,
			  &err) == -1)
		stopped(NULL, NULL, &err);
}
