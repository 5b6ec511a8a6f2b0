/* SPDX-License-Identifier: Apache-2.0 */
/* The method `measure`: by a worker of its own, since it takes a second. */
#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "launcher/launcher.h"
#include "launcher/virtworker.h"
#include "launchrpc/guest.h"
#include "meta/time.h"
#include "rpc/session.h"
#include "virt/guest.h"

struct sample {
	struct launcher *launcher;
	struct rpc_pending *pending;
	struct virt_guest guest;
	int rc;
	struct err err;
};

static void
sample_work(struct virtworker *worker, void *arg)
{
	struct sample *sample = arg;
	struct virt_conn *conn;

	sample->rc = virtworker_conn(worker, &conn, &sample->err);
	if (sample->rc == 0)
		sample->rc = virt_guest_measure(conn, sample->launcher->domain,
						LAUNCH_MEASURE_MS,
						&sample->guest, &sample->err);
}

static void
sample_done(void *arg)
{
	struct sample *sample = arg;
	struct launcher *launcher = sample->launcher;

	if (sample->rc == -1) {
		rpc_pending_error(sample->pending, &sample->err);
		free(sample);
		return;
	}
	if (launcher->guest == NULL)
		launcher->guest = xmalloc0(sizeof(*launcher->guest));
	*launcher->guest = (struct launch_guest){
		.memory_bytes = sample->guest.memory,
		.resident_bytes = sample->guest.resident,
		.dirty_rate_bytes_per_second = sample->guest.dirty_rate,
		.time_us = time_now_us(),
	};
	rpc_pending_result(sample->pending, launcher_status(launcher));
	launcher_touch(launcher);
	free(sample);
}

int
launcher_measure(struct launcher *launcher, struct rpc_pending *pending,
		 struct err *err)
{
	struct sample *sample;

	if (!launcher->life.started || launcher->ending)
		return err_set(err, ERR_CONFLICT, "there is no machine");
	sample = xmalloc0(sizeof(*sample));
	sample->launcher = launcher;
	sample->pending = pending;
	virtworker_do(launcher->sampler, sample_work, sample_done, sample);
	return 0;
}
