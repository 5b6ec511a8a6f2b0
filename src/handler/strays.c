/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/strays.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "handler/handler.h"
#include "handler/proxyctl.h"

#define US_PER_MS 1000U

struct strays {
	struct handler *handler;
	struct loop_timer *timer;
};

/* What was found on one side: keys, while the proxy's list is walked. */
struct found {
	const struct handler *handler;
	json_t *keys;
};

static void
add_stray(const char *key, void *arg)
{
	struct found *found = arg;

	if (!handler_knows(found->handler, key))
		json_array_append_new(found->keys, json_string(key));
}

/* One that could not be stopped is found again. */
static void
stopped(void *arg, const json_t *result, const struct err *err)
{
	(void)arg;
	(void)result;
	if (err != NULL)
		log_warning(NULL, "a listener of no machine, trying on: %s",
			    err->text);
}

static void
stop_side(struct strays *strays, enum proxy_side side)
{
	struct proxyctl *proxy = handler_proxy(strays->handler);
	struct found found = { strays->handler, json_array() };
	const json_t *key;
	struct err err;
	size_t i;

	proxyctl_each(proxy, side, add_stray, &found);
	json_array_foreach(found.keys, i, key)
	{
		const struct proxyctl_end end = {
			.side = side,
			.key = json_string_value(key),
		};

		log_info(NULL,
			 "machine %s is not here any more: stopping its "
			 "listener",
			 end.key);
		if (proxyctl_stop(proxy, &end, stopped, NULL, &err) == -1)
			stopped(NULL, NULL, &err);
	}
	json_decref(found.keys);
}

void
strays_stop(struct strays *strays)
{
	if (!handler_is_ready(strays->handler))
		return;
	for (int side = 0; side < PROXY_SIDE_COUNT; side++)
		stop_side(strays, (enum proxy_side)side);
}

static void
look(void *arg)
{
	struct strays *strays = arg;
	bool ready = handler_is_ready(strays->handler);

	if (ready)
		proxyctl_list(handler_proxy(strays->handler));
	loop_timer_start(strays->timer,
			 (ready ? STRAYS_LOOK_MS : STRAYS_WAIT_MS) * US_PER_MS);
}

struct strays *
strays_new(struct handler *handler, struct loop *loop)
{
	struct strays *strays = xmalloc0(sizeof(*strays));

	strays->handler = handler;
	strays->timer = loop_timer_new(loop, look, strays);
	loop_timer_start(strays->timer, STRAYS_WAIT_MS * US_PER_MS);
	return strays;
}

void
strays_free(struct strays *strays)
{
	if (strays == NULL)
		return;
	loop_timer_free(strays->timer);
	free(strays);
}
