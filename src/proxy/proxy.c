/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/proxy.h"

#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "proxy/limit.h"
#include "proxy/listener.h"
#include "proxy/opener.h"

void
proxy_init(struct proxy *proxy, struct loop *loop)
{
	*proxy = (struct proxy){ .loop = loop, .started_ms = loop_now_ms() };
	TAILQ_INIT(&proxy->listeners);
	TAILQ_INIT(&proxy->loose);
}

struct listener *
proxy_find(const struct proxy *proxy, enum side side, const char *key)
{
	struct listener *listener;

	TAILQ_FOREACH(listener, &proxy->listeners, entry)
	{
		if (listener->spec.side == side &&
		    strcmp(listener->spec.key, key) == 0)
			return listener;
	}
	return NULL;
}

static void
drop(struct proxy *proxy, struct listener *listener, bool cut)
{
	TAILQ_REMOVE(&proxy->listeners, listener, entry);
	proxy->n_listeners--;
	listener_free(listener, cut);
}

static int
open_dir(struct proxy *proxy, struct spec_dir *dir, struct err *err)
{
	if (dir->fd != -1 || dir->path == NULL)
		return 0;
	return opener_open_dir(proxy->opener, dir->path, &dir->fd, err);
}

static void
log_listener(const struct listener *listener, const char *what)
{
	const struct log_field ref[] = {
		{ "side", side_name(listener->spec.side) },
		{ "key", listener->spec.key },
		{ "peer", listener->spec.peer },
		{ NULL, NULL },
	};

	log_info(ref, "listener %s", what);
}

int
proxy_start(struct proxy *proxy, struct spec *spec,
	    struct listener **ret_listener, struct err *err)
{
	struct listener *old = proxy_find(proxy, spec->side, spec->key);
	struct listener *listener;

	/* Open before comparing: what counts is the directory, not its name. */
	if (open_dir(proxy, &spec->dir, err) == -1 ||
	    open_dir(proxy, &spec->control_dir, err) == -1) {
		spec_done(spec);
		return -1;
	}
	if (old && spec_equal(&old->spec, spec)) {
		spec_done(spec);
		*ret_listener = old;
		return 0;
	}
	if (proxy->draining) {
		spec_done(spec);
		return err_set(err, ERR_UNAVAILABLE,
			       "unable to process new migration connections "
			       "during shutdown");
	}
	if (old) {
		log_listener(old, "is replaced: its arguments changed");
		drop(proxy, old, true);
	}
	if (listener_new(proxy, spec, &listener, err) == -1)
		return -1;
	TAILQ_INSERT_TAIL(&proxy->listeners, listener, entry);
	proxy->n_listeners++;
	log_listener(listener, "started");
	*ret_listener = listener;
	return 0;
}

int
proxy_stop(struct proxy *proxy, enum side side, const char *key, bool cut,
	   struct err *err)
{
	struct listener *listener = proxy_find(proxy, side, key);

	if (listener == NULL)
		return err_set(err, ERR_NOT_FOUND, "no %s listener '%s'",
			       side_name(side), key);
	log_listener(listener, cut ? "stopped" : "released");
	drop(proxy, listener, cut);
	proxy_check_idle(proxy);
	return 0;
}

void
proxy_drain(struct proxy *proxy)
{
	proxy->draining = true;
	proxy_check_idle(proxy);
}

void
proxy_end(struct proxy *proxy)
{
	struct failure ending;
	struct stream *stream;

	proxy->draining = true;
	while (!TAILQ_EMPTY(&proxy->listeners))
		drop(proxy, TAILQ_FIRST(&proxy->listeners), true);
	failure_set(&ending, REASON_STOPPED, "the daemon ends");
	TAILQ_FOREACH(stream, &proxy->loose, entry)
	stream_abort(stream, &ending);
	proxy_check_idle(proxy);
}

void
proxy_check_idle(struct proxy *proxy)
{
	if (proxy->draining && proxy->n_listeners == 0 &&
	    proxy->n_streams == 0 && proxy->idle)
		proxy->idle(proxy->idle_arg);
}
