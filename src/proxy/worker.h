/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_WORKER_H
#define PROXY_WORKER_H

/*
 * worker - threads that carry streams.
 *
 * The main thread listens, dials, shakes hands and answers the control socket;
 * a stream that is set up runs in one of these. A storm of handshakes or a
 * slow request therefore never delays a migration's memory, and several
 * streams use several cores.
 *
 * A worker owns its loop, its pool of buffers, the turns that its streams take,
 * and the relays it runs. Nobody else touches them: what others want is posted.
 */

#include <stddef.h>

struct loop;
struct pool;
struct turns;
struct workers;

#define WORKERS_MAX 64

/* Starts count threads; after the sandbox has closed. */
struct workers *workers_start(unsigned count);

/* Ends the threads and waits for them. No stream may be running. */
void workers_stop(struct workers *workers);

/* The next worker in turn; lives as long as workers. */
struct worker *workers_next(struct workers *workers);

/* Runs fn(worker, arg) in the worker's thread, in order of posting. */
void worker_post(struct worker *worker,
		 void (*fn)(struct worker *worker, void *arg), void *arg);

/* Only in the worker's own thread. */
struct loop *worker_loop(struct worker *worker);
struct pool *worker_pool(struct worker *worker);
struct turns *worker_turns(struct worker *worker);

#endif
