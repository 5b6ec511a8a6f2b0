/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/source.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "launcher/mover.h"
#include "launcher/outcome.h"
#include "meta/time.h"

struct source {
	struct flight flight;
	struct launch_record record;
	bool running; /* the threads are */
	void *(*run)(void *flight);
	pthread_t mover;
	struct loop_timer *cut_timer; /* runs from an abort to its grace */
	void (*changed)(void *ctx);
	void (*resume)(void *ctx);
	void *ctx;
};

#define US_PER_MS 1000U
#define SWITCH_LOOK_US (100U * US_PER_MS)

/* Nothing else ends it. */
static void
cut(void *arg)
{
	struct source *source = arg;
	struct flight_state state = flight_peek(&source->flight);

	/* Nobody knows yet whether there is something to abort. */
	if (state.switching)
		loop_timer_start(source->cut_timer, SWITCH_LOOK_US);
	if (!source->running || state.switching || !state.abort)
		return;
	log_warning(NULL, "the migration does not end: its streams have to be "
			  "cut");
	source->record.cut_streams = true;
	source->changed(source->ctx);
}

static void
begin_abort(struct source *source)
{
	source->record.abort = LAUNCH_ABORTING;
	loop_timer_start(source->cut_timer,
			 source->flight.config.abort_grace_ms * US_PER_MS);
}

/* QEMU lets go of the guest as it hands it over: how much it was slowed down
 * stays. */
static void
take_progress(struct launch_record *record, const struct launch_progress *now)
{
	uint32_t throttle = record->progress.throttle_percent;

	record->progress = *now;
	if (throttle > now->throttle_percent)
		record->progress.throttle_percent = throttle;
}

static void
take_news(void *ctx, const struct flight_news *news)
{
	struct source *source = ctx;
	struct launch_record *record = &source->record;

	if (news->has_progress)
		take_progress(record, &news->progress);
	if (news->post_copy)
		outcome_switched(record);
	if (news->paused)
		record->mode = LAUNCH_MODE_PAUSED;
	if (news->aborting != LAUNCH_REASON_NONE)
		begin_abort(source);
	if (news->resume)
		source->resume(source->ctx);
	if (news->last) {
		(void)pthread_join(source->mover, NULL);
		source->running = false;
		loop_timer_stop(source->cut_timer);
		outcome_conclude(record, &news->outcome, time_now_us());
	}
	source->changed(source->ctx);
}

static int
run(struct source *source, struct err *err)
{
	flight_begin(&source->flight);
	source->running = true;
	if (pthread_create(&source->mover, NULL, source->run,
			   &source->flight) == 0)
		return 0;
	source->running = false;
	return err_set(err, ERR_LIMIT, "cannot start a thread");
}

struct source *
source_start(const struct source_config *config)
{
	struct source *source = xmalloc0(sizeof(*source));
	struct err err;

	flight_init(&source->flight, &config->flight, take_news, source);
	source->changed = config->changed;
	source->resume = config->resume;
	source->ctx = config->ctx;
	source->run = config->mover != NULL ? config->mover : mover_run;
	source->cut_timer = loop_timer_new(config->flight.loop, cut, source);
	source->record = (struct launch_record){
		.uid = xstrdup(config->uid),
		.message = xstrdup(""),
		.role = LAUNCH_SOURCE,
		.start_us = time_now_us(),
		.mode = LAUNCH_PRE_COPY,
		.watched = config->watched,
	};
	if (run(source, &err) == -1)
		outcome_unstarted(&source->record, &err, time_now_us());
	return source;
}

bool
source_over(const struct source *source)
{
	return !source->running;
}

void
source_free(struct source *source)
{
	if (source == NULL)
		return;
	loop_timer_free(source->cut_timer);
	launch_record_done(&source->record);
	flight_done(&source->flight);
	free(source);
}

int
source_abort(struct source *source, struct err *err)
{
	struct launch_record *record = &source->record;

	if (record->abort == LAUNCH_ABORTING)
		return 0;
	if (source_holds(source)) {
		record->abort = LAUNCH_ABORTING;
		return 0;
	}
	if (!source->running)
		return err_set(err, ERR_CONFLICT,
			       "the migration is over already");
	if (!flight_abort(&source->flight, LAUNCH_REASON_CANCELED) &&
	    flight_peek(&source->flight).post_copy) {
		record->abort = LAUNCH_ABORT_FAILED;
		return err_set(err, ERR_CONFLICT,
			       "the machine runs on the target already: to "
			       "stop now would be to lose it");
	}
	begin_abort(source);
	return 0;
}

int
source_recover(struct source *source, bool listening, struct err *err)
{
	if (source->running)
		return err_set(err, ERR_CONFLICT, "the migration goes on");
	if (source->record.completed ||
	    source->record.reason != LAUNCH_REASON_POST_COPY_FAILED)
		return err_set(err, ERR_CONFLICT,
			       "there is no post-copy that broke");
	if (listening &&
	    flight_peek(&source->flight).stream != QMP_STREAM_PAUSED)
		return err_set(err, ERR_CONFLICT,
			       "QEMU is not at a break of its stream");
	source->flight.config.migration.recover = true;
	source->flight.config.listening = listening;
	if (run(source, err) == -1)
		return -1;
	/* Whatever was asked for before is not asked of this try. */
	outcome_switched(&source->record);
	source->record.reason = LAUNCH_REASON_NONE;
	free(source->record.message);
	source->record.message = xstrdup("");
	return 0;
}

bool
source_stream(struct source *source, enum qmp_stream stream)
{
	struct launch_record *record = &source->record;
	uint64_t breaks = record->breaks, mended = record->mended;

	if (stream == QMP_STREAM_PAUSED)
		record->breaks++;
	else if (stream == QMP_STREAM_POST_COPY ||
		 stream == QMP_STREAM_COMPLETED)
		record->mended = record->breaks;
	flight_stream(&source->flight, stream);
	return record->breaks != breaks || record->mended != mended;
}

void
source_refused(struct source *source, const struct err *err)
{
	flight_refused(&source->flight, err);
}

enum outcome_wish
source_follow(struct source *source, const struct virt_look *look)
{
	if (source->running)
		return OUTCOME_NOTHING;
	outcome_follow(&source->record, look, time_now_us());
	return outcome_wish(&source->record, look);
}

void
source_returned(struct source *source)
{
	outcome_returned(&source->record, time_now_us());
}

bool
source_holds(const struct source *source)
{
	return source != NULL && !source->record.completed &&
	       source->record.reason == LAUNCH_REASON_UNCONFIRMED &&
	       source->record.abort == LAUNCH_ABORT_NONE;
}

bool
source_stands(const struct source *source)
{
	return source != NULL && !source->record.completed &&
	       (source->record.reason == LAUNCH_REASON_UNCONFIRMED ||
		source->record.mode == LAUNCH_POST_COPY);
}

const struct launch_record *
source_record(const struct source *source)
{
	return &source->record;
}
