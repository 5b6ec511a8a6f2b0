/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

/*
 * loop - an event loop, its descriptors, timers and signals.
 *
 * A thin layer on libevent; no other directory includes <event2/...>. A loop
 * belongs to the thread that runs it: everything here must be called from
 * that thread, except loop_post(), which is how other threads reach it.
 *
 * A callback may free the object it was called for, and any other of the same
 * loop; a freed object is never called again.
 */

#include <stdbool.h>
#include <stdint.h>

#define LOOP_READ 1U
#define LOOP_WRITE 2U

struct loop;
struct loop_io;
struct loop_timer;
struct loop_signal;

/* Aborts when the kernel refuses an epoll descriptor: nothing can run. */
struct loop *loop_new(void);

/* All that was made on the loop must have been freed; what was posted and has
 * not run is dropped. NULL is fine. */
void loop_free(struct loop *loop);

/* Runs until loop_stop(); whatever was posted before the stop has run. */
void loop_run(struct loop *loop);
void loop_stop(struct loop *loop);

/* Runs what is ready now without waiting; for tests. */
void loop_poll(struct loop *loop);

/* Runs fn(arg) in the loop's thread, in order of posting. Any thread. */
void loop_post(struct loop *loop, void (*fn)(void *arg), void *arg);

/* Milliseconds / nanoseconds of the monotonic clock. Any thread. */
uint64_t loop_now_ms(void);
uint64_t loop_now_ns(void);

/*
 * Watches fd, level-triggered; nothing is wanted until loop_io_want(). The
 * descriptor stays the caller's, and must be closed after loop_io_free(). When
 * it is ready both ways fn may be called twice, once for each.
 */
struct loop_io *loop_io_new(struct loop *loop, int fd,
			    void (*fn)(unsigned ready, void *arg), void *arg);
/* Sets what is wanted: 0, LOOP_READ, LOOP_WRITE or both. Cheap if unchanged. */
void loop_io_want(struct loop_io *io, unsigned events);
void loop_io_free(struct loop_io *io);

/*
 * A timer that is not running until loop_timer_start(); fires once, never
 * early, and is not running any more when its callback is called.
 */
struct loop_timer *loop_timer_new(struct loop *loop, void (*fn)(void *arg),
				  void *arg);
/* (Re)starts the timer; cheap when it is put off again and again. */
void loop_timer_start(struct loop_timer *timer, uint64_t delay_us);
void loop_timer_stop(struct loop_timer *timer);
bool loop_timer_running(const struct loop_timer *timer);
void loop_timer_free(struct loop_timer *timer);

/* One loop of a process may have signals. */
struct loop_signal *loop_signal_new(struct loop *loop, int signo,
				    void (*fn)(int signo, void *arg),
				    void *arg);
void loop_signal_free(struct loop_signal *sig);

#endif
