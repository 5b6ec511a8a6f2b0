/* SPDX-License-Identifier: Apache-2.0 */
#include "virt/events.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/mem.h"
#include "virt/conn.h"
#include "virt/internal.h"

#define EVENT_COUNT 2

struct virt_watch {
	struct virt_conn *conn;
	struct virt_watcher watcher;
	int ids[EVENT_COUNT];
};

static void *
run(void *arg)
{
	(void)arg;
	(void)pthread_setname_np(pthread_self(), "virt-events");
	while (virEventRunDefaultImpl() == 0)
		;
	return NULL;
}

int
virt_events_start(struct err *err)
{
	pthread_t thread;

	if (virEventRegisterDefaultImpl() == -1)
		return virt_fail(err, "cannot set up libvirt's events");
	if (pthread_create(&thread, NULL, run, NULL) != 0)
		return err_set(err, ERR_LIMIT,
			       "cannot start a thread for libvirt's events");
	(void)pthread_detach(thread);
	return 0;
}

static int
on_lifecycle(virConnectPtr conn, virDomainPtr domain, int event, int detail,
	     void *arg)
{
	struct virt_watch *watch = arg;

	(void)conn;
	(void)domain;
	(void)detail;
	if (event == VIR_DOMAIN_EVENT_RESUMED)
		watch->watcher.resumed(watch->watcher.ctx);
	watch->watcher.changed(watch->watcher.ctx);
	return 0;
}

static void
on_io_error(virConnectPtr conn, virDomainPtr domain, const char *path,
	    const char *alias, int action, void *arg)
{
	struct virt_watch *watch = arg;

	(void)conn;
	(void)domain;
	(void)path;
	(void)alias;
	(void)action;
	watch->watcher.changed(watch->watcher.ctx);
}

static void
on_close(virConnectPtr conn, int reason, void *arg)
{
	struct virt_watch *watch = arg;

	(void)conn;
	(void)reason;
	watch->watcher.closed(watch->watcher.ctx);
}

static int
register_all(struct virt_watch *watch, struct err *err)
{
	const struct {
		int id;
		virConnectDomainEventGenericCallback fn;
	} events[EVENT_COUNT] = {
		{ VIR_DOMAIN_EVENT_ID_LIFECYCLE,
		  VIR_DOMAIN_EVENT_CALLBACK(on_lifecycle) },
		{ VIR_DOMAIN_EVENT_ID_IO_ERROR,
		  VIR_DOMAIN_EVENT_CALLBACK(on_io_error) },
	};

	for (size_t i = 0; i < EVENT_COUNT; i++) {
		watch->ids[i] = virConnectDomainEventRegisterAny(
			watch->conn->ptr, NULL, events[i].id, events[i].fn,
			watch, NULL);
		if (watch->ids[i] == -1)
			return virt_fail(err, "cannot watch for events");
	}
	if (virConnectRegisterCloseCallback(watch->conn->ptr, on_close, watch,
					    NULL) == -1)
		return virt_fail(err, "cannot watch the connection");
	virt_conn_keep_alive(watch->conn);
	return 0;
}

int
virt_watch_new(struct virt_conn *conn, const struct virt_watcher *watcher,
	       struct virt_watch **ret_watch, struct err *err)
{
	struct virt_watch *watch = xmalloc0(sizeof(*watch));

	watch->conn = conn;
	watch->watcher = *watcher;
	for (size_t i = 0; i < EVENT_COUNT; i++)
		watch->ids[i] = -1;
	if (register_all(watch, err) == -1) {
		virt_watch_free(watch);
		return -1;
	}
	*ret_watch = watch;
	return 0;
}

/*
 * The memory stays with libvirt's thread: a callback may be under way, and
 * there is nothing to wait for it with. One watch for each time libvirtd was
 * started is all that this can come to.
 */
void
virt_watch_free(struct virt_watch *watch)
{
	if (watch == NULL)
		return;
	for (size_t i = 0; i < EVENT_COUNT; i++) {
		if (watch->ids[i] != -1)
			(void)virConnectDomainEventDeregisterAny(
				watch->conn->ptr, watch->ids[i]);
	}
	(void)virConnectUnregisterCloseCallback(watch->conn->ptr, on_close);
}
