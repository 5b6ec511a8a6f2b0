/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VIRT_EVENTS_H
#define VIRT_EVENTS_H

/*
 * events - what libvirt says without being asked.
 *
 * libvirt's own event loop runs in a thread of its own, which has to exist
 * before the first connection is made, and serves all connections. What comes
 * is a hint to look: an event may be missed when libvirtd is started again.
 *
 * Threading: events_start() once. Callbacks come from the thread of events, and
 * must not wait.
 */

struct err;
struct virt_conn;
struct virt_watch;

struct virt_watcher {
	/* The domain came, went, or changed its state. */
	void (*changed)(void *ctx);
	/* Before that, where it was let run: it may have ended by the time
	 * somebody looks. */
	void (*resumed)(void *ctx);
	/* The connection broke: no more events. */
	void (*closed)(void *ctx);
	void *ctx;
};

/* Starts the thread; it lives until the process ends. */
int virt_events_start(struct err *err);

/*
 * Watches all domains of a connection, which must outlive the watch. The
 * watcher is copied; after virt_watch_free() it is not called any more, except
 * for a call that is under way.
 */
int virt_watch_new(struct virt_conn *conn, const struct virt_watcher *watcher,
		   struct virt_watch **ret_watch, struct err *err);
void virt_watch_free(struct virt_watch *watch);

#endif
