/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/source.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "launcher/mover.h"
#include "launcher/outcome.h"
#include "meta/time.h"

struct source {
	struct flight flight;
	struct launch_record record;
	bool running; /* the threads are */
	pthread_t mover;
	void (*changed)(void *ctx);
	void *ctx;
};

static void
take_news(void *ctx, const struct flight_news *news)
{
	struct source *source = ctx;
	struct launch_record *record = &source->record;

	if (news->has_progress)
		record->progress = news->progress;
	if (news->post_copy)
		record->mode = LAUNCH_POST_COPY;
	if (news->paused)
		record->mode = LAUNCH_MODE_PAUSED;
	if (news->cut_streams)
		record->cut_streams = true;
	if (news->aborting != LAUNCH_REASON_NONE)
		record->abort = LAUNCH_ABORTING;
	if (news->last) {
		(void)pthread_join(source->mover, NULL);
		source->running = false;
		outcome_conclude(record, &news->outcome, time_now_us());
	}
	source->changed(source->ctx);
}

static int
run(struct source *source, struct err *err)
{
	flight_begin(&source->flight);
	source->running = true;
	if (pthread_create(&source->mover, NULL, mover_run, &source->flight) ==
	    0)
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
	source->ctx = config->ctx;
	source->record = (struct launch_record){
		.uid = xstrdup(config->uid),
		.message = xstrdup(""),
		.role = LAUNCH_SOURCE,
		.start_us = time_now_us(),
		.mode = LAUNCH_PRE_COPY,
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
	record->abort = LAUNCH_ABORTING;
	return 0;
}

int
source_recover(struct source *source, struct err *err)
{
	if (source->running)
		return err_set(err, ERR_CONFLICT, "the migration goes on");
	if (source->record.completed ||
	    source->record.reason != LAUNCH_REASON_POST_COPY_FAILED)
		return err_set(err, ERR_CONFLICT,
			       "there is no post-copy that broke");
	source->flight.config.migration.recover = true;
	source->record.reason = LAUNCH_REASON_NONE;
	free(source->record.message);
	source->record.message = xstrdup("");
	return run(source, err);
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
