/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/portprobe.h"

#include <stdlib.h>

#include "api/migration.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"
#include "net/reach.h"

#define US_PER_MS 1000UL

struct port {
	struct portprobe *probe;
	struct loop_io *io; /* NULL: it is over */
	int fd;
	uint16_t port;
	json_int_t channel;
	const char *result;
};

struct portprobe {
	struct port ports[MIGRATION_PORTS_MAX];
	size_t count, waiting;
	struct loop_timer *timer;
	void (*done)(void *arg, json_t *results);
	void *arg;
};

static void
close_port(struct port *port)
{
	loop_io_free(port->io);
	port->io = NULL;
	close_fd(&port->fd);
}

static void
finish(void *arg)
{
	struct portprobe *probe = arg;
	json_t *results = json_array();

	for (size_t i = 0; i < probe->count; i++) {
		struct port *port = &probe->ports[i];

		close_port(port);
		json_array_append_new(results,
				      json_pack("{s:i, s:I, s:s}", "port",
						(int)port->port, "channel",
						port->channel, "result",
						port->result));
	}
	probe->done(probe->arg, results);
}

static void
on_ready(unsigned ready, void *arg)
{
	struct port *port = arg;
	struct portprobe *probe = port->probe;

	(void)ready;
	port->result = reach_name(reach_end(port->fd));
	close_port(port);
	if (--probe->waiting == 0)
		loop_timer_start(probe->timer, 0);
}

static void
begin(struct portprobe *probe, struct loop *loop, const char *address,
      struct port *port)
{
	enum reach reach = REACH_UNREACHABLE;
	struct err ignored;

	if (reach_begin(address, port->port, &port->fd, &reach, &ignored) !=
	    1) {
		port->result = reach_name(reach);
		return;
	}
	port->result = reach_name(REACH_SILENT); /* until it answers */
	port->io = loop_io_new(loop, port->fd, on_ready, port);
	loop_io_want(port->io, LOOP_WRITE);
	probe->waiting++;
}

struct portprobe *
portprobe_new(struct loop *loop, const char *address, const json_t *ports,
	      void (*done)(void *arg, json_t *results), void *arg)
{
	struct portprobe *probe = xmalloc0(sizeof(*probe));
	const char *name;
	json_t *channel;

	probe->done = done;
	probe->arg = arg;
	probe->timer = loop_timer_new(loop, finish, probe);
	json_object_foreach((json_t *)(uintptr_t)ports, name, channel)
	{
		struct port *port = &probe->ports[probe->count];
		uint64_t number;
		struct err ignored;

		if (probe->count == MIGRATION_PORTS_MAX ||
		    str_to_u64(name, "a port", 1, UINT16_MAX, &number,
			       &ignored) == -1)
			continue;
		*port = (struct port){ .probe = probe,
				       .fd = -1,
				       .port = (uint16_t)number,
				       .channel = json_integer_value(channel) };
		probe->count++;
		begin(probe, loop, address, port);
	}
	loop_timer_start(probe->timer,
			 probe->waiting == 0 ? 0 : REACH_MS * US_PER_MS);
	return probe;
}

void
portprobe_free(struct portprobe *probe)
{
	if (probe == NULL)
		return;
	for (size_t i = 0; i < probe->count; i++)
		close_port(&probe->ports[i]);
	loop_timer_free(probe->timer);
	free(probe);
}
