/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/evict.h"

#include <string.h>

#include "base/err.h"
#include "base/jsat.h"
#include "cluster/control/model.h"
#include "cluster/control/view.h"
#include "meta/time.h"

static bool
is_of_health(const struct taint *taint)
{
	return taint->effect == TAINT_NO_EXECUTE &&
	       (strcmp(taint->key, TAINT_NOT_READY) == 0 ||
		strcmp(taint->key, TAINT_UNREACHABLE) == 0);
}

/* How long the pod bears the taint: seconds, 0 not at all, -1 for ever. */
static int64_t
patience(const struct pod *pod, const struct taint *taint)
{
	int64_t least = -1;
	bool covered = false;

	for (size_t i = 0; i < pod->toleration_count; i++) {
		const struct toleration *t = &pod->tolerations[i];

		if (!toleration_covers(t, taint))
			continue;
		covered = true;
		if (t->timed && (least == -1 || t->seconds < least))
			least = t->seconds < 0 ? 0 : t->seconds;
	}
	if (covered)
		return least;
	return is_of_health(taint) ? EVICT_DEFAULT_SECONDS : 0;
}

int64_t
evict_time(const struct pod *pod, const json_t *taints, bool cut_off,
	   int64_t now_us)
{
	size_t count;
	struct taint *list = taints_from_json(taints, &count);
	int64_t soonest = EVICT_NEVER;

	for (size_t i = 0; i < count; i++) {
		int64_t seconds;
		int64_t since = now_us;
		int64_t at;
		struct err err;

		if (list[i].effect != TAINT_NO_EXECUTE ||
		    (cut_off && is_of_health(&list[i])))
			continue;
		seconds = patience(pod, &list[i]);
		if (seconds == -1)
			continue;
		if (time_parse(
			    js_str_at(json_array_get(taints, i), "timeAdded"),
			    &since, &err) == -1 ||
		    since > now_us)
			since = now_us;
		if (seconds > INT32_MAX)
			seconds = INT32_MAX;
		at = since + seconds * TIME_US_PER_SECOND;
		if (at < soonest)
			soonest = at;
	}
	taints_free(list, count);
	return soonest;
}

static bool
is_unhealthy(const struct node *node)
{
	for (size_t i = 0; i < node->taint_count; i++) {
		if (is_of_health(&node->taints[i]))
			return true;
	}
	return false;
}

bool
evict_is_cut_off(const struct view *view)
{
	for (size_t i = 0; i < view->count; i++) {
		if (!is_unhealthy(view->list[i]))
			return false;
	}
	return true;
}
