/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/controller.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "controller/evacuation/evacuation.h"
#include "controller/instance/instance.h"
#include "controller/machine/machine.h"
#include "controller/metrics.h"
#include "controller/migration/migrations.h"
#include "controller/world.h"
#include "kube/client.h"
#include "kube/leader.h"
#include "version.h"

/* A controller: made while this process leads, see world.h. */
struct part {
	const char *name;
	void *(*make)(struct world *world);
	void (*free)(void *part);
};

/* Those of src/controller, as functions of one type. */
#define PART(name)                                    \
	static void *name##_make(struct world *world) \
	{                                             \
		return name##_new(world);             \
	}                                             \
	static void name##_end(void *part)            \
	{                                             \
		name##_free(part);                    \
	}

PART(evacuations)
PART(instances)
PART(machines)
PART(migrations)

/* In the order in which they are made; ends with one without a name. */
static const struct part parts[] = {
	{ "migrations", migrations_make, migrations_end },
	{ "instances", instances_make, instances_end },
	{ "machines", machines_make, machines_end },
	{ "evacuations", evacuations_make, evacuations_end },
	{ NULL, NULL, NULL },
};

struct controller {
	struct loop *loop;
	struct kube_client *client;
	struct leader *leader;
	struct world *world;
	struct health_server *health; /* NULL: does not serve */
	struct loop_timer *settle;    /* makes or frees the parts */
	void *parts[ARRAY_LEN(parts)];
	bool running; /* the parts are there */
	bool leads;   /* as last told */
};

static bool
may_write(void *arg)
{
	const struct controller *c = arg;

	return c->leader != NULL && leader_leads(c->leader);
}

static void
start_parts(struct controller *c)
{
	c->running = true;
	for (size_t i = 0; parts[i].name != NULL; i++)
		c->parts[i] = parts[i].make(c->world);
}

static void
stop_parts(struct controller *c)
{
	if (!c->running)
		return;
	c->running = false;
	for (size_t i = ARRAY_LEN(parts); i-- > 0;) {
		if (parts[i].name != NULL)
			parts[i].free(c->parts[i]);
		c->parts[i] = NULL;
	}
}

/* From the loop, so that nobody is freed from within his own callback. */
static void
settle(void *arg)
{
	struct controller *c = arg;
	bool run = c->leads && world_has_synced(c->world);

	if (run && !c->running)
		start_parts(c);
	else if (!run)
		stop_parts(c);
}

static void
on_synced(void *arg)
{
	struct controller *c = arg;

	log_info(NULL, "all objects have been listed");
	loop_timer_start(c->settle, 0);
}

static void
on_lead(void *arg)
{
	struct controller *c = arg;

	log_info(NULL, "leading");
	c->leads = true;
	loop_timer_start(c->settle, 0);
}

static void
on_lead_lost(void *arg)
{
	struct controller *c = arg;

	log_warning(NULL, "no longer leading");
	c->leads = false;
	loop_timer_start(c->settle, 0);
}

static void
on_holder(const char *holder, void *arg)
{
	(void)arg;
	log_info(NULL, "the leader is '%s'", holder);
}

static bool
is_ready(void *arg)
{
	const struct controller *c = arg;

	return world_has_synced(c->world);
}

static int
write_metrics(struct buf *buf, void *arg)
{
	const struct controller *c = arg;

	if (buf_printf(buf,
		       "# HELP kubevirt_virt_controller_leading_status "
		       "Whether this process leads.\n"
		       "# TYPE kubevirt_virt_controller_leading_status gauge\n"
		       "kubevirt_virt_controller_leading_status %d\n"
		       "# HELP kubevirt_virt_controller_ready_status "
		       "Whether this process can lead.\n"
		       "# TYPE kubevirt_virt_controller_ready_status gauge\n"
		       "kubevirt_virt_controller_ready_status %d\n",
		       leader_leads(c->leader),
		       world_has_synced(c->world)) == -1)
		return -1;
	/* Of several processes the leader tells, so that nothing is counted
	 * twice. */
	if (c->running && metrics_write(c->world, buf) == -1)
		return -1;
	return world_write_metrics(c->world, buf);
}

static struct kube_client *
make_client(struct controller *c, const struct controller_options *options)
{
	const struct kube_client_options client = {
		.loop = options->loop,
		.config = options->config,
		.user_agent = "ferry-controller/" FERRY_VERSION,
		.qps = options->qps,
		.burst = options->burst,
		.in_flight = options->in_flight,
		.timeout_ms = options->timeout_ms,
		.may_write = may_write,
		.may_write_arg = c,
	};

	return kube_client_new(&client);
}

static struct leader *
make_leader(struct controller *c, const struct controller_options *options)
{
	char *made = options->identity == NULL ? leader_make_identity() : NULL;
	const struct leader_config config = {
		.client = c->client,
		.ns = options->ns,
		.name = CONTROLLER_LEASE,
		.identity = made != NULL ? made : options->identity,
		.lease_ms = options->lease_ms,
		.renew_ms = options->renew_ms,
		.retry_ms = options->retry_ms,
		.started = on_lead,
		.stopped = on_lead_lost,
		.changed = on_holder,
		.arg = c,
	};
	struct leader *leader = leader_new(&config);

	free(made);
	return leader;
}

static struct world *
make_world(struct controller *c, const struct controller_options *options)
{
	const struct world_options world = {
		.loop = options->loop,
		.client = c->client,
		.ns = options->ns,
		.launcher_image = options->launcher_image,
		.launcher_command = options->launcher_command,
	};

	return world_new(&world);
}

struct controller *
controller_start(const struct controller_options *options, struct err *err)
{
	struct controller *c = xmalloc0(sizeof(*c));
	const struct health_hooks hooks = { .ready = is_ready,
					    .metrics = write_metrics,
					    .arg = c };

	c->loop = options->loop;
	c->client = make_client(c, options);
	if (options->health.listen != NULL) {
		c->health = health_server_new(c->loop, &options->health, &hooks,
					      err);
		if (c->health == NULL) {
			controller_free(c);
			return NULL;
		}
	}
	c->settle = loop_timer_new(c->loop, settle, c);
	c->world = make_world(c, options);
	c->leader = make_leader(c, options);
	world_start(c->world, on_synced, c);
	return c;
}

void
controller_stop(struct controller *c, void (*done)(void *arg), void *arg)
{
	leader_stop(c->leader, done, arg);
}

void
controller_free(struct controller *c)
{
	if (c == NULL)
		return;
	stop_parts(c);
	health_server_free(c->health);
	world_free(c->world);
	leader_free(c->leader);
	if (c->settle != NULL)
		loop_timer_free(c->settle);
	kube_client_free(c->client);
	free(c);
}

uint16_t
controller_port(const struct controller *c)
{
	return c->health == NULL ? 0 : health_server_port(c->health);
}
