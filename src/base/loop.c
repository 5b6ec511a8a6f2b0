/* SPDX-License-Identifier: Apache-2.0 */
#include "base/loop.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>
#include <event2/event_struct.h>

#include "base/heap.h"
#include "base/log.h"
#include "base/mem.h"

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_US UINT64_C(1000)

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

	/*
	 * Timers are not libevent's: it sets its timerfd anew in each turn of
	 * the loop, a system call that shows in the round trip of a relay.
	 * This one is set when the first deadline comes earlier, and not when
	 * it goes later: then the descriptor wakes the loop once for nothing.
	 */
	struct heap timers;
	uint64_t armed_ns; /* when timer_fd fires; 0 if never */
	int timer_fd;
	struct event timer;
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
	struct heap_node node; /* first: heap_first() yields the timer */
	struct loop *loop;
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

/* Sets timer_fd to the deadline of the first timer, or to never. */
static void
arm(struct loop *loop)
{
	struct heap_node *first = heap_first(&loop->timers);
	struct itimerspec when = { 0 };

	loop->armed_ns = first != NULL ? first->key : 0;
	when.it_value.tv_sec = (time_t)(loop->armed_ns / NS_PER_S);
	when.it_value.tv_nsec = (long)(loop->armed_ns % NS_PER_S);
	if (timerfd_settime(loop->timer_fd, TFD_TIMER_ABSTIME, &when, NULL) ==
	    -1)
		die("cannot set the loop's timer");
}

static void
on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct loop *loop = arg;
	uint64_t now = loop_now_ns();
	struct heap_node *first;

	(void)fd;
	(void)what;
	while ((first = heap_first(&loop->timers)) != NULL &&
	       first->key <= now) {
		struct loop_timer *timer = (struct loop_timer *)first;

		heap_remove(&loop->timers, first);
		timer->fn(timer->arg);
	}
	/* Setting it also makes it unreadable, so there is no read(2). */
	arm(loop);
}

static void
watch_always(struct loop *loop, struct event *event, int fd,
	     event_callback_fn fn)
{
	if (fd == -1)
		die("cannot make the loop's descriptors");
	if (event_assign(event, loop->base, fd, EV_READ | EV_PERSIST, fn,
			 loop) == -1 ||
	    event_add(event, NULL) == -1)
		die("cannot watch the loop's descriptors");
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
	(void)event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK |
						    EVENT_BASE_FLAG_IGNORE_ENV);
	loop->base = event_base_new_with_config(config);
	event_config_free(config);
	if (loop->base == NULL)
		die("cannot make an event loop");

	(void)pthread_mutex_init(&loop->lock, NULL);
	loop->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	watch_always(loop, &loop->wake, loop->wake_fd, on_wake);
	loop->timer_fd =
		timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	watch_always(loop, &loop->timer, loop->timer_fd, on_timer);
	return loop;
}

void
loop_free(struct loop *loop)
{
	if (loop == NULL)
		return;
	(void)event_del(&loop->wake);
	(void)event_del(&loop->timer);
	(void)close(loop->wake_fd);
	(void)close(loop->timer_fd);
	event_base_free(loop->base);
	(void)pthread_mutex_destroy(&loop->lock);
	heap_done(&loop->timers);
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
	if (event_base_loop(loop->base, EVLOOP_ONCE | EVLOOP_NONBLOCK) == -1)
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
	return loop_now_ns() / NS_PER_MS;
}

uint64_t
loop_now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
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

struct loop_timer *
loop_timer_new(struct loop *loop, void (*fn)(void *arg), void *arg)
{
	struct loop_timer *timer = xmalloc0(sizeof(*timer));

	timer->loop = loop;
	timer->fn = fn;
	timer->arg = arg;
	return timer;
}

void
loop_timer_start(struct loop_timer *timer, uint64_t delay_us)
{
	struct loop *loop = timer->loop;
	uint64_t deadline_ns;

	if (__builtin_mul_overflow(delay_us, NS_PER_US, &deadline_ns) ||
	    __builtin_add_overflow(deadline_ns, loop_now_ns(), &deadline_ns))
		deadline_ns = INT64_MAX;
	heap_set(&loop->timers, &timer->node, deadline_ns);
	if (loop->armed_ns == 0 || deadline_ns < loop->armed_ns)
		arm(loop);
}

void
loop_timer_stop(struct loop_timer *timer)
{
	heap_remove(&timer->loop->timers, &timer->node);
}

bool
loop_timer_running(const struct loop_timer *timer)
{
	return heap_has(&timer->node);
}

void
loop_timer_free(struct loop_timer *timer)
{
	if (timer == NULL)
		return;
	loop_timer_stop(timer);
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
