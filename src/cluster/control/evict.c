/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/evict.h"

#include <string.h>

#include "base/err.h"
#include "cluster/control/dig.h"
#include "cluster/control/model.h"
#include "meta/time.h"

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
	if (strcmp(taint->key, TAINT_NOT_READY) == 0 ||
	    strcmp(taint->key, TAINT_UNREACHABLE) == 0)
		return EVICT_DEFAULT_SECONDS;
	return 0;
}

int64_t
evict_time(const struct pod *pod, const json_t *taints, int64_t now_us)
{
	size_t count;
	struct taint *list = taints_from_json(taints, &count);
	int64_t soonest = EVICT_NEVER;

	for (size_t i = 0; i < count; i++) {
		int64_t seconds;
		int64_t since = now_us;
		int64_t at;
		struct err err;

		if (list[i].effect != TAINT_NO_EXECUTE)
			continue;
		seconds = patience(pod, &list[i]);
		if (seconds == -1)
			continue;
		if (time_parse(dig_str(json_array_get(taints, i), "timeAdded"),
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
