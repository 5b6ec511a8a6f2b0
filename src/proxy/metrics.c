/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/metrics.h"

#include "base/buf.h"
#include "base/loop.h"
#include "proxy/creds.h"
#include "proxy/listener.h"

/* One family: its name, type, help, and how to print a listener's value. */
struct family {
	const char *name;
	const char *type;
	const char *help;
	int (*print)(struct buf *buf, const char *name,
		     const struct listener *listener);
};

static int
print_value(struct buf *buf, const char *name, const struct listener *listener,
	    const char *extra, double value)
{
	return buf_printf(buf, "%s{side=\"%s\",migration=\"%s\"%s} %.17g\n",
			  name, side_name(listener->spec.side),
			  listener->spec.key, extra, value);
}

static int
print_bytes(struct buf *buf, const char *name, const struct listener *listener)
{
	struct counts counts;

	listener_counts(listener, &counts);
	if (print_value(buf, name, listener, ",direction=\"sent\"",
			(double)counts.sent_bytes) == -1)
		return -1;
	return print_value(buf, name, listener, ",direction=\"received\"",
			   (double)counts.received_bytes);
}

static int
print_streams(struct buf *buf, const char *name,
	      const struct listener *listener)
{
	return print_value(buf, name, listener, "",
			   (double)listener->n_streams);
}

static int
print_ended(struct buf *buf, const char *name, const struct listener *listener)
{
	return print_value(buf, name, listener, "",
			   (double)listener->streams_ended);
}

static int
print_age(struct buf *buf, const char *name, const struct listener *listener)
{
	return print_value(buf, name, listener, "",
			   (double)(loop_now_ms() - listener->started_ms) /
				   1e3);
}

/* Per cause of waiting: how often, or how long. */
static int
print_causes(struct buf *buf, const char *name, const struct listener *listener,
	     const uint64_t values[STALL_COUNT], double unit)
{
	char extra[64];

	for (int i = 0; i < STALL_COUNT; i++) {
		(void)snprintf(extra, sizeof(extra), ",cause=\"%s\"",
			       stall_name((enum stall)i));
		if (print_value(buf, name, listener, extra,
				(double)values[i] / unit) == -1)
			return -1;
	}
	return 0;
}

static int
print_stalled(struct buf *buf, const char *name,
	      const struct listener *listener)
{
	struct counts counts;

	listener_counts(listener, &counts);
	return print_causes(buf, name, listener, counts.stalled_ns, 1e9);
}

static int
print_stalls(struct buf *buf, const char *name, const struct listener *listener)
{
	struct counts counts;

	listener_counts(listener, &counts);
	return print_causes(buf, name, listener, counts.stalls, 1);
}

static const struct family families[] = {
	{ "ferry_proxy_migration_bytes_total", "counter",
	  "Bytes carried for a migration", print_bytes },
	{ "ferry_proxy_migration_streams", "gauge",
	  "Connections that carry a migration now", print_streams },
	{ "ferry_proxy_migration_streams_ended_total", "counter",
	  "Connections of a migration that are over", print_ended },
	{ "ferry_proxy_migration_age_seconds", "gauge",
	  "Time since the listener was started", print_age },
	{ "ferry_proxy_migration_stalls_total", "counter",
	  "How often a stream had to wait, by cause", print_stalls },
	{ "ferry_proxy_migration_stalled_seconds_total", "counter",
	  "How long streams had to wait, by cause", print_stalled },
};

static int
print_family(struct buf *buf, const struct proxy *proxy,
	     const struct family *family)
{
	const struct listener *listener;

	if (buf_printf(buf, "# HELP %s %s\n# TYPE %s %s\n", family->name,
		       family->help, family->name, family->type) == -1)
		return -1;
	TAILQ_FOREACH(listener, &proxy->listeners, entry)
	{
		if (family->print(buf, family->name, listener) == -1)
			return -1;
	}
	return 0;
}

static int
print_failures(struct buf *buf, const struct proxy *proxy)
{
	const char *name = "ferry_proxy_failures_total";

	if (buf_printf(buf,
		       "# HELP %s Connections refused or broken, by reason\n"
		       "# TYPE %s counter\n",
		       name, name) == -1)
		return -1;
	for (int i = REASON_NONE + 1; i < REASON_COUNT; i++) {
		if (buf_printf(buf, "%s{reason=\"%s\"} %llu\n", name,
			       reason_name((enum reason)i),
			       (unsigned long long)proxy->failures[i]) == -1)
			return -1;
	}
	return 0;
}

/* By side: those that were made, and those that failed by reason. */
static int
print_handshakes(struct buf *buf, const struct proxy *proxy)
{
	const char *made = "ferry_proxy_handshakes_total";
	const char *failed = "ferry_proxy_handshake_failures_total";

	if (buf_printf(buf,
		       "# HELP %s TLS handshakes that were made\n"
		       "# TYPE %s counter\n",
		       made, made) == -1)
		return -1;
	for (int side = 0; side < SIDE_COUNT; side++) {
		if (buf_printf(
			    buf, "%s{side=\"%s\"} %llu\n", made,
			    side_name((enum side)side),
			    (unsigned long long)proxy->handshakes[side].made) ==
		    -1)
			return -1;
	}
	if (buf_printf(buf,
		       "# HELP %s TLS handshakes that failed, by reason\n"
		       "# TYPE %s counter\n",
		       failed, failed) == -1)
		return -1;
	for (int i = 0; i < SIDE_COUNT * REASON_COUNT; i++) {
		enum side side = (enum side)(i / REASON_COUNT);
		enum reason reason = (enum reason)(i % REASON_COUNT);

		if (reason != REASON_NONE &&
		    buf_printf(buf, "%s{side=\"%s\",reason=\"%s\"} %llu\n",
			       failed, side_name(side), reason_name(reason),
			       (unsigned long long)proxy->handshakes[side]
				       .failed[reason]) == -1)
			return -1;
	}
	return 0;
}

static int
print_single(struct buf *buf, const char *name, const char *type,
	     const char *help, double value)
{
	return buf_printf(buf, "# HELP %s %s\n# TYPE %s %s\n%s %.17g\n", name,
			  help, name, type, name, value);
}

/* Of the whole process, listeners that are gone included. */
static int
print_totals(struct buf *buf, const struct proxy *proxy)
{
	struct counts sum = proxy->ended;
	const struct listener *listener;
	const struct stream *stream;

	TAILQ_FOREACH(listener, &proxy->listeners, entry)
	{
		TAILQ_FOREACH(stream, &listener->streams, entry)
		counters_add_to(&stream->counters, &sum);
	}
	if (print_single(buf, "ferry_proxy_sent_bytes_total", "counter",
			 "Bytes sent to the network",
			 (double)sum.sent_bytes) == -1 ||
	    print_single(buf, "ferry_proxy_received_bytes_total", "counter",
			 "Bytes received from the network",
			 (double)sum.received_bytes) == -1 ||
	    print_single(buf, "ferry_proxy_listeners", "gauge",
			 "Listeners, both sides",
			 (double)proxy->n_listeners) == -1 ||
	    print_single(buf, "ferry_proxy_streams", "gauge",
			 "Connections that carry bytes now",
			 (double)proxy->n_streams) == -1 ||
	    print_single(buf, "ferry_proxy_streams_ended_total", "counter",
			 "Connections that are over",
			 (double)proxy->streams_ended) == -1)
		return -1;
	return print_single(buf, "ferry_proxy_draining", "gauge",
			    "1 while no new listeners are taken",
			    proxy->draining ? 1 : 0);
}

static int
print_expiry(struct buf *buf, const struct proxy *proxy)
{
	const char *name = "ferry_proxy_certificate_not_after_seconds";
	const struct {
		const char *use;
		struct tls_context *context;
	} sets[] = {
		{ "server", creds_server(proxy->creds) },
		{ "migration", creds_source(proxy->creds) },
	};

	if (buf_printf(buf,
		       "# HELP %s When a certificate expires, since 1970\n"
		       "# TYPE %s gauge\n",
		       name, name) == -1)
		return -1;
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		if (sets[i].context == NULL)
			continue;
		if (buf_printf(buf, "%s{use=\"%s\"} %lld\n", name, sets[i].use,
			       (long long)tls_context_not_after(
				       sets[i].context)) == -1)
			return -1;
	}
	return 0;
}

int
metrics_write(const struct proxy *proxy, struct buf *buf)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		if (print_family(buf, proxy, &families[i]) == -1)
			return -1;
	}
	if (print_totals(buf, proxy) == -1 ||
	    print_failures(buf, proxy) == -1 ||
	    print_handshakes(buf, proxy) == -1)
		return -1;
	return print_expiry(buf, proxy);
}
