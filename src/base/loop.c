/* SPDX-License-Identifier: Apache-2.0 */
#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "base/log.h"
#include "base/mem.h"

struct call {
	void (*fn)(void *arg);
	void *arg;
};

/* Calls in order of posting. */
struct calls {
	struct call *items;
	size_t count;
	size_t size;
};

struct loop {
	struct event_base *base;
	bool stopping;

	/* What other threads post; wake_fd is readable when there is some. */
	pthread_mutex_t lock;
	struct calls posted;  /* under lock */
	struct calls running; /* the batch being run, of the loop's thread */
	int wake_fd;
	struct event wake;
};

/*
 * Reading and writing are two events: libevent then changes the registration
 * with one epoll_ctl() where a single event would have to be removed and added
 * again.
 */
struct loop_io {
	struct event read;
	struct event write;
	unsigned wanted;
	void (*fn)(unsigned ready, void *arg);
	void *arg;
};

struct loop_timer {
	struct event event;
	void (*fn)(void *arg);
	void *arg;
};

struct loop_signal {
	struct event event;
	void (*fn)(int signo, void *arg);
	void *arg;
};

static _Noreturn void
die(const char *what)
{
	log_error(NULL, "%s: %m", what);
	abort();
}

/* libevent talks to stderr by itself otherwise, and not in JSON. */
static void
on_libevent_log(int severity, const char *msg)
{
	if (severity >= EVENT_LOG_WARN)
		log_warning(NULL, "libevent: %s", msg);
	else
		log_debug(NULL, "libevent: %s", msg);
}

static void
set_libevent_log(void)
{
	event_set_log_callback(on_libevent_log);
}

static void
run_posted(struct loop *loop)
{
	struct calls batch;

	pthread_mutex_lock(&loop->lock);
	batch = loop->posted;
	loop->posted = loop->running;
	loop->running = batch;
	pthread_mutex_unlock(&loop->lock);

	for (size_t i = 0; i < batch.count; i++)
		batch.items[i].fn(batch.items[i].arg);
	loop->running.count = 0;
}

static void
on_wake(evutil_socket_t fd, short what, void *arg)
{
	uint64_t count;

	(void)what;
	/* Before taking the batch: what is posted after it wakes again. */
	if (read(fd, &count, sizeof(count)) == -1 && errno != EAGAIN)
		die("cannot read the loop's eventfd");
	run_posted(arg);
}

struct loop *
loop_new(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct loop *loop = xmalloc0(sizeof(*loop));
	struct event_config *config = event_config_new();

	(void)pthread_once(&once, set_libevent_log);
	if (config == NULL)
		die("cannot configure an event loop");
	/* Its own thread only: libevent needs no locks. */
	(void)event_config_set_flag(
		config, EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV |
				EVENT_BASE_FLAG_PRECISE_TIMER);
	loop->base = event_base_new_with_config(config);
	event_config_free(config);
	if (loop->base == NULL)
		die("cannot make an event loop");

	loop->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (loop->wake_fd == -1)
		die("cannot make the loop's eventfd");
	(void)pthread_mutex_init(&loop->lock, NULL);
	(void)event_assign(&loop->wake, loop->base, loop->wake_fd,
			   EV_READ | EV_PERSIST, on_wake, loop);
	if (event_add(&loop->wake, NULL) == -1)
		die("cannot watch the loop's eventfd");
	return loop;
}

void
loop_free(struct loop *loop)
{
	if (loop == NULL)
		return;
	(void)event_del(&loop->wake);
	(void)close(loop->wake_fd);
	event_base_free(loop->base);
	(void)pthread_mutex_destroy(&loop->lock);
	free(loop->posted.items);
	free(loop->running.items);
	free(loop);
}

void
loop_run(struct loop *loop)
{
	while (!loop->stopping) {
		if (event_base_loop(loop->base, EVLOOP_NO_EXIT_ON_EMPTY) == -1)
			die("the event loop failed");
	}
	run_posted(loop);
	loop->stopping = false;
}

void
loop_stop(struct loop *loop)
{
	loop->stopping = true;
	(void)event_base_loopbreak(loop->base);
}

void
loop_poll(struct loop *loop)
{
	if (event_base_loop(loop->base, EVLOOP_NONBLOCK) == -1)
		die("the event loop failed");
}

void
loop_post(struct loop *loop, void (*fn)(void *arg), void *arg)
{
	static const uint64_t one = 1;
	struct calls *calls = &loop->posted;
	bool was_empty;

	pthread_mutex_lock(&loop->lock);
	if (calls->count == calls->size) {
		calls->size = calls->size > 0 ? calls->size * 2 : 16;
		calls->items = xrealloc(calls->items,
					calls->size * sizeof(*calls->items));
	}
	was_empty = calls->count == 0;
	calls->items[calls->count++] = (struct call){ fn, arg };
	/* Under the lock: once it is released the loop may end and be freed. */
	if (was_empty && write(loop->wake_fd, &one, sizeof(one)) == -1 &&
	    errno != EAGAIN)
		die("cannot wake the loop");
	pthread_mutex_unlock(&loop->lock);
}

uint64_t
loop_now_ms(void)
{
	return loop_now_ns() / 1000000;
}

uint64_t
loop_now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void
on_read(evutil_socket_t fd, short what, void *arg)
{
	struct loop_io *io = arg;

	(void)fd;
	(void)what;
	io->fn(LOOP_READ, io->arg);
}

static void
on_write(evutil_socket_t fd, short what, void *arg)
{
	struct loop_io *io = arg;

	(void)fd;
	(void)what;
	io->fn(LOOP_WRITE, io->arg);
}

struct loop_io *
loop_io_new(struct loop *loop, int fd, void (*fn)(unsigned ready, void *arg),
	    void *arg)
{
	struct loop_io *io = xmalloc0(sizeof(*io));

	io->fn = fn;
	io->arg = arg;
	(void)event_assign(&io->read, loop->base, fd, EV_READ | EV_PERSIST,
			   on_read, io);
	(void)event_assign(&io->write, loop->base, fd, EV_WRITE | EV_PERSIST,
			   on_write, io);
	return io;
}

/* Adds or removes one of the two events. */
static void
io_switch(struct event *event, bool on)
{
	if (on ? event_add(event, NULL) == -1 : event_del(event) == -1)
		die("cannot watch a descriptor");
}

void
loop_io_want(struct loop_io *io, unsigned events)
{
	unsigned changed = io->wanted ^ events;

	assert((events & ~(LOOP_READ | LOOP_WRITE)) == 0);
	if (changed == 0)
		return;
	io->wanted = events;
	if (changed & LOOP_READ)
		io_switch(&io->read, events & LOOP_READ);
	if (changed & LOOP_WRITE)
		io_switch(&io->write, events & LOOP_WRITE);
}

void
loop_io_free(struct loop_io *io)
{
	if (io == NULL)
		return;
	loop_io_want(io, 0);
	free(io);
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct loop_timer *timer = arg;

	(void)fd;
	(void)what;
	timer->fn(timer->arg);
}

struct loop_timer *
loop_timer_new(struct loop *loop, void (*fn)(void *arg), void *arg)
{
	struct loop_timer *timer = xmalloc0(sizeof(*timer));

	timer->fn = fn;
	timer->arg = arg;
	(void)evtimer_assign(&timer->event, loop->base, on_timer, timer);
	return timer;
}

void
loop_timer_start(struct loop_timer *timer, uint64_t delay_us)
{
	struct timeval delay = {
		.tv_sec = (time_t)(delay_us / 1000000),
		.tv_usec = (suseconds_t)(delay_us % 1000000),
	};

	if (evtimer_add(&timer->event, &delay) == -1)
		die("cannot start a timer");
}

void
loop_timer_stop(struct loop_timer *timer)
{
	(void)evtimer_del(&timer->event);
}

bool
loop_timer_running(const struct loop_timer *timer)
{
	return evtimer_pending(&timer->event, NULL) != 0;
}

void
loop_timer_free(struct loop_timer *timer)
{
	if (timer == NULL)
		return;
	(void)evtimer_del(&timer->event);
	free(timer);
}

static void
on_signal(evutil_socket_t signo, short what, void *arg)
{
	struct loop_signal *sig = arg;

	(void)what;
	sig->fn(signo, sig->arg);
}

struct loop_signal *
loop_signal_new(struct loop *loop, int signo, void (*fn)(int signo, void *arg),
		void *arg)
{
	struct loop_signal *sig = xmalloc0(sizeof(*sig));

	sig->fn = fn;
	sig->arg = arg;
	(void)evsignal_assign(&sig->event, loop->base, signo, on_signal, sig);
	if (evsignal_add(&sig->event, NULL) == -1)
		die("cannot watch a signal");
	return sig;
}

void
loop_signal_free(struct loop_signal *sig)
{
	if (sig == NULL)
		return;
	(void)evsignal_del(&sig->event);
	free(sig);
}
