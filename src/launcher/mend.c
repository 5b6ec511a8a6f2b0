/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/mend.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "launcher/launcher.h"
#include "launcher/machine.h"
#include "launcher/qmp.h"
#include "launcher/source.h"

#define US_PER_MS 1000U
#define LISTEN_AGAIN_MS 250U
#define ANSWER_MS 10000U

struct mend {
	struct launcher *launcher;
	struct qmp *qmp;
	struct loop_timer *again; /* until QEMU listens */
	uint64_t listens_for;     /* the break that it was asked after */
};

static json_t *
stream_arguments(const struct mend *mend)
{
	AUTO(free_ptr)
	char *path = machine_socket(&mend->launcher->options,
				    MACHINE_CHANNEL_MEMORY);
	AUTO(free_ptr) char *uri = xasprintf("unix:%s", path);

	return json_pack("{s:s}", "uri", uri);
}

/* The record of what comes in and is broken; NULL. */
static struct launch_record *
broken_target(const struct mend *mend)
{
	struct launch_record *target = &mend->launcher->target;

	return target->uid != NULL && !target->completed &&
			       target->breaks > target->mended
		       ? target
		       : NULL;
}

static void
try_again(struct mend *mend, const struct err *err)
{
	log_warning(NULL, "trying again to listen: %s", err->text);
	loop_timer_start(mend->again, LISTEN_AGAIN_MS * US_PER_MS);
}

static void
on_listening(void *arg, const struct err *err)
{
	struct mend *mend = arg;
	struct launch_record *target = broken_target(mend);

	if (target == NULL)
		return;
	if (err != NULL) {
		try_again(mend, err);
		return;
	}
	target->listening = mend->listens_for;
	log_info(NULL, "QEMU listens again, after break %lu",
		 (unsigned long)target->listening);
	launcher_touch(mend->launcher);
}

static void
listen_again(void *arg)
{
	struct mend *mend = arg;
	const struct launch_record *target = broken_target(mend);
	AUTO(js_unref) json_t *arguments = NULL;
	struct err err;

	if (target == NULL || target->listening == target->breaks)
		return;
	arguments = stream_arguments(mend);
	mend->listens_for = target->breaks;
	if (qmp_call(mend->qmp,
		     &(struct qmp_command){ .name = "migrate-recover",
					    .arguments = arguments,
					    .out_of_band = true,
					    .timeout_ms = ANSWER_MS },
		     on_listening, mend, &err) == -1)
		try_again(mend, &err);
}

/* Whether there is something to be told about it. */
static bool
follow_target(struct mend *mend, enum qmp_stream stream)
{
	struct launch_record *target = &mend->launcher->target;
	uint64_t breaks = target->breaks, mended = target->mended;

	if (stream == QMP_STREAM_PAUSED) {
		target->breaks++;
		listen_again(mend);
	} else if (stream == QMP_STREAM_POST_COPY ||
		   stream == QMP_STREAM_COMPLETED) {
		target->mended = target->breaks;
	} else if (stream == QMP_STREAM_NONE) {
		/* Nobody tells any more: libvirt's word has to do. */
		target->watched = false;
		target->breaks = target->mended = target->listening = 0;
	}
	return target->breaks != breaks || target->mended != mended;
}

static void
on_told(void *ctx, enum qmp_stream stream)
{
	struct mend *mend = ctx;
	struct launcher *launcher = mend->launcher;
	bool changed = false;

	if (launcher->source != NULL &&
	    !source_record(launcher->source)->completed)
		changed = source_stream(launcher->source, stream);
	else if (launcher->target.uid != NULL && !launcher->target.completed)
		changed = follow_target(mend, stream);
	if (!changed && stream != QMP_STREAM_RECOVERS) {
		log_debug(NULL, "QEMU's stream: %s", qmp_stream_name(stream));
		return;
	}
	log_info(NULL, "QEMU's stream: %s", qmp_stream_name(stream));
	launcher_touch(launcher);
}

struct mend *
mend_new(struct launcher *launcher)
{
	struct mend *mend = xmalloc0(sizeof(*mend));
	AUTO(free_ptr) char *path = machine_monitor(&launcher->options);
	const struct qmp_config config = {
		.loop = launcher->loop,
		.path = path,
		.told = on_told,
		.ctx = mend,
	};

	mend->launcher = launcher;
	mend->qmp = qmp_new(&config);
	mend->again = loop_timer_new(launcher->loop, listen_again, mend);
	return mend;
}

void
mend_free(struct mend *mend)
{
	if (mend == NULL)
		return;
	qmp_free(mend->qmp);
	loop_timer_free(mend->again);
	free(mend);
}

void
mend_look(struct mend *mend)
{
	qmp_dial(mend->qmp);
}

bool
mend_is_possible(const struct mend *mend)
{
	return qmp_exists(mend->qmp);
}

static void
on_resumed(void *arg, const struct err *err)
{
	struct mend *mend = arg;

	if (err != NULL)
		source_refused(mend->launcher->source, err);
}

void
mend_resume(struct mend *mend)
{
	AUTO(js_unref) json_t *arguments = stream_arguments(mend);
	struct err err;

	(void)json_object_set_new(arguments, "resume", json_true());
	if (qmp_call(mend->qmp,
		     &(struct qmp_command){ .name = "migrate",
					    .arguments = arguments,
					    .timeout_ms = ANSWER_MS },
		     on_resumed, mend, &err) == -1)
		source_refused(mend->launcher->source, &err);
}
