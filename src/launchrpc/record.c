/* SPDX-License-Identifier: Apache-2.0 */
#include "launchrpc/record.h"

#include <stddef.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"

/* The numbers of a progress, by name. */
static const struct {
	const char *name;
	size_t offset;
	bool narrow; /* 32 bits */
} numbers[] = {
#define WIDE(name, member)                                            \
	{                                                             \
		name, offsetof(struct launch_progress, member), false \
	}
#define NARROW(name, member)                                         \
	{                                                            \
		name, offsetof(struct launch_progress, member), true \
	}
	NARROW("percent", percent),
	WIDE("bytesTotal", bytes_total),
	WIDE("bytesProcessed", bytes_processed),
	WIDE("bytesRemaining", bytes_remaining),
	WIDE("rateBytesPerSecond", rate_bytes_per_second),
	WIDE("dirtyRateBytesPerSecond", dirty_rate_bytes_per_second),
	WIDE("iteration", iteration),
	WIDE("expectedDowntimeMs", expected_downtime_ms),
	WIDE("etaSeconds", eta_seconds),
	NARROW("throttlePercent", throttle_percent),
	WIDE("downtimeMs", downtime_ms),
	WIDE("blackoutMs", blackout_ms),
#undef WIDE
#undef NARROW
};

void
launch_record_done(struct launch_record *record)
{
	free(record->uid);
	free(record->message);
	*record = (struct launch_record){ 0 };
}

void
launch_record_copy(struct launch_record *to, const struct launch_record *from)
{
	struct launch_record copy = *from;

	copy.uid = xstrdup(from->uid != NULL ? from->uid : "");
	copy.message = xstrdup(from->message != NULL ? from->message : "");
	launch_record_done(to);
	*to = copy;
}

bool
launch_record_broken(const struct launch_record *record, bool libvirt)
{
	return record->breaks > 0 ? record->breaks > record->mended : libvirt;
}

static json_t *
progress_encode(const struct launch_progress *progress)
{
	json_t *obj = json_object();

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		const char *at = (const char *)progress + numbers[i].offset;
		uint64_t value = numbers[i].narrow
					 ? *(const uint32_t *)(const void *)at
					 : *(const uint64_t *)(const void *)at;

		(void)json_object_set_new(obj, numbers[i].name,
					  json_integer((json_int_t)value));
	}
	return obj;
}

static int
progress_decode(const json_t *obj, struct launch_progress *ret, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		char *at = (char *)ret + numbers[i].offset;
		uint64_t value = 0;

		if (js_opt_u64(obj, numbers[i].name, 0,
			       numbers[i].narrow ? UINT32_MAX : INT64_MAX,
			       &value, err) == -1)
			return -1;
		if (numbers[i].narrow)
			*(uint32_t *)(void *)at = (uint32_t)value;
		else
			*(uint64_t *)(void *)at = value;
	}
	return 0;
}

static void
set_str(json_t *obj, const char *name, const char *value)
{
	if (value != NULL && *value != '\0')
		(void)json_object_set_new(obj, name, json_string(value));
}

static void
set_bool(json_t *obj, const char *name, bool value)
{
	(void)json_object_set_new(obj, name, json_boolean(value));
}

static void
set_time(json_t *obj, const char *name, int64_t us)
{
	if (us != 0)
		(void)json_object_set_new(obj, name, json_integer(us));
}

static void
set_count(json_t *obj, const char *name, uint64_t count)
{
	(void)json_object_set_new(obj, name, json_integer((json_int_t)count));
}

json_t *
launch_record_encode(const struct launch_record *record)
{
	json_t *obj = json_object();

	set_str(obj, "uid", record->uid);
	set_str(obj, "role", launch_role_name(record->role));
	set_time(obj, "startTimeUs", record->start_us);
	set_time(obj, "endTimeUs", record->end_us);
	set_bool(obj, "completed", record->completed);
	set_bool(obj, "failed", record->failed);
	set_str(obj, "reasonCode", launch_reason_name(record->reason));
	set_str(obj, "failureReason", record->message);
	set_str(obj, "mode", launch_mode_name(record->mode));
	set_str(obj, "abortStatus", launch_abort_name(record->abort));
	set_bool(obj, "cutStreams", record->cut_streams);
	if (record->watched) {
		set_count(obj, "breaks", record->breaks);
		set_count(obj, "mended", record->mended);
		set_count(obj, "listening", record->listening);
	}
	set_bool(obj, "domainDetected", record->domain_detected);
	set_time(obj, "domainReadyTimeUs", record->domain_ready_us);
	(void)json_object_set_new(obj, "progress",
				  progress_encode(&record->progress));
	return obj;
}

static int
times_decode(const json_t *obj, struct launch_record *ret, struct err *err)
{
	uint64_t start = 0, end = 0, ready = 0;

	if (js_opt_u64(obj, "startTimeUs", 0, INT64_MAX, &start, err) == -1 ||
	    js_opt_u64(obj, "endTimeUs", 0, INT64_MAX, &end, err) == -1 ||
	    js_opt_u64(obj, "domainReadyTimeUs", 0, INT64_MAX, &ready, err) ==
		    -1)
		return -1;
	ret->start_us = (int64_t)start;
	ret->end_us = (int64_t)end;
	ret->domain_ready_us = (int64_t)ready;
	return 0;
}

static int
flags_decode(const json_t *obj, struct launch_record *ret, struct err *err)
{
	if (js_opt_bool(obj, "completed", &ret->completed, err) == -1 ||
	    js_opt_bool(obj, "failed", &ret->failed, err) == -1 ||
	    js_opt_bool(obj, "cutStreams", &ret->cut_streams, err) == -1 ||
	    js_opt_bool(obj, "domainDetected", &ret->domain_detected, err) ==
		    -1)
		return -1;
	return 0;
}

static int
breaks_decode(const json_t *obj, struct launch_record *ret, struct err *err)
{
	if (js_opt_u64(obj, "breaks", 0, INT64_MAX, &ret->breaks, err) == -1 ||
	    js_opt_u64(obj, "mended", 0, INT64_MAX, &ret->mended, err) == -1 ||
	    js_opt_u64(obj, "listening", 0, INT64_MAX, &ret->listening, err) ==
		    -1)
		return -1;
	ret->watched = json_object_get(obj, "breaks") != NULL;
	return 0;
}

static int
names_decode(const json_t *obj, struct launch_record *ret, struct err *err)
{
	const char *role, *uid, *message = "", *reason = "", *abort = "";
	const char *mode = launch_mode_name(LAUNCH_PRE_COPY);

	if (js_get_str(obj, "uid", &uid, err) == -1 ||
	    js_get_str(obj, "role", &role, err) == -1 ||
	    js_opt_str(obj, "failureReason", &message, err) == -1 ||
	    js_opt_str(obj, "reasonCode", &reason, err) == -1 ||
	    js_opt_str(obj, "mode", &mode, err) == -1 ||
	    js_opt_str(obj, "abortStatus", &abort, err) == -1)
		return -1;
	/* What nobody can ask for is nobody's: no migration has such a uid. */
	if (uid[0] == '\0')
		return err_set(err, ERR_INVALID, "uid is empty");
	ret->role = launch_role_parse(role);
	if (ret->role == LAUNCH_ROLE_COUNT)
		return err_set(err, ERR_INVALID, "unknown role '%s'", role);
	ret->reason = launch_reason_parse(reason);
	if (ret->reason == LAUNCH_REASON_COUNT)
		ret->reason = LAUNCH_REASON_INTERNAL;
	ret->mode = launch_mode_parse(mode);
	if (ret->mode == LAUNCH_MODE_COUNT)
		ret->mode = LAUNCH_PRE_COPY;
	ret->abort = launch_abort_parse(abort);
	if (ret->abort == LAUNCH_ABORT_COUNT)
		ret->abort = LAUNCH_ABORT_NONE;
	ret->uid = xstrdup(uid);
	ret->message = xstrdup(message);
	return 0;
}

int
launch_record_decode(const json_t *obj, struct launch_record *ret,
		     struct err *err)
{
	json_t *progress = NULL;

	*ret = (struct launch_record){ 0 };
	if (names_decode(obj, ret, err) == 0 &&
	    times_decode(obj, ret, err) == 0 &&
	    flags_decode(obj, ret, err) == 0 &&
	    breaks_decode(obj, ret, err) == 0 &&
	    js_opt_obj(obj, "progress", &progress, err) == 0 &&
	    (progress == NULL ||
	     progress_decode(progress, &ret->progress, err) == 0))
		return 0;
	launch_record_done(ret);
	return -1;
}
