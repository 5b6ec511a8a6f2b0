/* SPDX-License-Identifier: Apache-2.0 */
#include <limits.h>

#include "api/config.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/render/render.h"
#include "controller/render/resources.h"
#include "meta/quantity.h"

#define MIB (INT64_C(1024) * 1024)

/*
 * Besides the guest's memory, with KubeVirt's numbers, so that quotas made for
 * one fit the other.
 */
#define OVERHEAD_FIXED (215 * MIB) /* launcher, libvirt, QEMU without guest */
#define OVERHEAD_PER_VCPU (8 * MIB)
#define OVERHEAD_IO_THREAD (8 * MIB)
#define OVERHEAD_VIDEO (32 * MIB)
#define OVERHEAD_GUARANTEED (100 * MIB) /* a limit that is hit kills */
#define OVERHEAD_PAGE_TABLES 512        /* one byte for so many */

#define EPHEMERAL_STORAGE_OVERHEAD INT64_C(50000000) /* logs, sockets, ISOs */

#define OVERCOMMIT_NONE 100 /* percent */

/* A quantity, which may be written as a number. 1, 0 when it is missing, -1. */
static int
get_amount(const json_t *obj, const char *key, const char *where,
	   struct quantity *ret_amount, struct err *err)
{
	const json_t *value = json_object_get(obj, key);

	if (value == NULL || json_is_null(value))
		return 0;
	if (json_is_integer(value)) {
		*ret_amount = quantity_from_int(json_integer_value(value),
						QUANTITY_DECIMAL_SI);
	} else if (!json_is_string(value)) {
		return err_set(err, ERR_INVALID, "%s.%s: is no quantity", where,
			       key);
	} else if (quantity_parse(json_string_value(value), ret_amount, err) ==
		   -1) {
		return err_prefix(err, "%s.%s", where, key);
	}
	if (quantity_sign(ret_amount) < 0)
		return err_set(err, ERR_INVALID, "%s.%s: must not be negative",
			       where, key);
	return 1;
}

static void
set_amount(json_t *obj, const char *key, struct quantity amount)
{
	char text[QUANTITY_TEXT_SIZE];

	json_object_set_new(
		obj, key,
		json_string(quantity_text(&amount, text, sizeof(text))));
}

static struct quantity
bytes(int64_t value)
{
	return quantity_from_int(value, QUANTITY_BINARY_SI);
}

/* What is asked for, and what comes of it. */
struct demand {
	const json_t *domain;
	const struct render_env *env;
	json_t *requests, *limits; /* of the container, in the making */
	uint64_t vcpus;
	struct quantity guest; /* memory; zero when it is not said */
	struct quantity request;
	int64_t overhead;
};

static uint64_t
count_at(const json_t *cpu, const char *name)
{
	int64_t n = js_int_at(cpu, name, 1);

	if (n > RESOURCES_VCPUS_MAX)
		return RESOURCES_VCPUS_MAX;
	return n < 1 ? 1 : (uint64_t)n;
}

static uint64_t
at_most(uint64_t n, uint64_t max)
{
	return n > max ? max : n;
}

uint64_t
resources_vcpus(const json_t *vmi)
{
	static const char *const paths[] = { "spec.domain.resources.limits",
					     "spec.domain.resources.requests" };
	const json_t *cpu = js_obj_at(vmi, "spec.domain.cpu");
	struct quantity amount = QUANTITY_ZERO;
	struct err ignored;
	uint64_t n;

	if (js_at(cpu, "cores") != NULL || js_at(cpu, "sockets") != NULL ||
	    js_at(cpu, "threads") != NULL) {
		n = at_most(count_at(cpu, "cores") * count_at(cpu, "sockets"),
			    RESOURCES_VCPUS_MAX);
		return at_most(n * count_at(cpu, "threads"),
			       RESOURCES_VCPUS_MAX);
	}
	for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
		if (get_amount(js_obj_at(vmi, paths[i]), "cpu", "", &amount,
			       &ignored) == 1 &&
		    quantity_value(&amount) > 0)
			return at_most((uint64_t)quantity_value(&amount),
				       RESOURCES_VCPUS_MAX);
	}
	return 1;
}

/* Requested and limited alike, so that the kernel kills it before others. */
static bool
is_guaranteed(const struct demand *d)
{
	static const char *const names[] = { "cpu", "memory" };
	struct err ignored;

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct quantity request = QUANTITY_ZERO;
		struct quantity limit = QUANTITY_ZERO;

		if (get_amount(js_obj_at(d->domain, "resources.requests"),
			       names[i], "", &request, &ignored) != 1 ||
		    get_amount(js_obj_at(d->domain, "resources.limits"),
			       names[i], "", &limit, &ignored) != 1 ||
		    quantity_cmp(&request, &limit) != 0)
			return false;
	}
	return true;
}

static int64_t
overhead_of(const struct demand *d)
{
	double ratio = d->env->config->memory_overhead_ratio;
	const struct quantity *memory =
		quantity_is_zero(&d->guest) ? &d->request : &d->guest;
	int64_t sum = quantity_value(memory) / OVERHEAD_PAGE_TABLES;

	sum += OVERHEAD_FIXED + OVERHEAD_IO_THREAD;
	sum += (int64_t)d->vcpus * OVERHEAD_PER_VCPU;
	if (js_bool_at(d->domain, "devices.autoattachGraphicsDevice", true))
		sum += OVERHEAD_VIDEO;
	/* Less than what is needed would be killed. */
	if (ratio > 1.0 && (double)sum * ratio < (double)(INT64_MAX / 2))
		sum = (int64_t)((double)sum * ratio);
	if (is_guaranteed(d))
		sum += OVERHEAD_GUARANTEED;
	return sum;
}

static const char *
page_size(const struct demand *d)
{
	return js_str_at(d->domain, "memory.hugepages.pageSize");
}

/* The machine's own share of the memory that is requested. */
static int
find_memory(struct demand *d, struct err *err)
{
	uint64_t overcommit = d->env->config->memory_overcommit;
	const json_t *memory = js_obj_at(d->domain, "memory");
	int found;

	if (get_amount(memory, "guest", "spec.domain.memory", &d->guest, err) ==
	    -1)
		return -1;
	found = get_amount(d->requests, "memory",
			   "spec.domain.resources.requests", &d->request, err);
	if (found == 0)
		found = get_amount(d->limits, "memory",
				   "spec.domain.resources.limits", &d->request,
				   err);
	if (found != 0)
		return found == 1 ? 0 : -1;
	d->request = d->guest;
	if (quantity_is_zero(&d->request) && *page_size(d) != '\0' &&
	    get_amount(js_obj_at(memory, "hugepages"), "pageSize",
		       "spec.domain.memory.hugepages", &d->request, err) == -1)
		return -1;
	if (quantity_is_zero(&d->request))
		return err_set(err, ERR_INVALID,
			       "spec.domain.memory.guest: the machine has no "
			       "memory, nor is any requested");
	if (overcommit > 0 && overcommit != OVERCOMMIT_NONE &&
	    *page_size(d) == '\0')
		d->request = quantity_from_int(
			(int64_t)((__int128)quantity_value(&d->request) *
				  OVERCOMMIT_NONE / overcommit),
			d->request.format);
	return 0;
}

/* What is left of amount without the guest's memory. */
static struct quantity
beyond_guest(const struct demand *d, struct quantity amount)
{
	if (quantity_is_zero(&d->guest) ||
	    quantity_cmp(&amount, &d->guest) <= 0)
		return bytes(0);
	return quantity_sub(amount, d->guest);
}

/* The guest's memory is in huge pages; the rest is not. */
static void
set_hugepages(struct demand *d, const struct quantity *limit)
{
	AUTO(free_ptr) char *name = xasprintf("hugepages-%s", page_size(d));
	struct quantity pages = d->request;

	if (!quantity_is_zero(&d->guest) &&
	    quantity_cmp(&d->request, &d->guest) > 0)
		pages = d->guest;
	set_amount(d->requests, name, pages);
	set_amount(d->limits, name, pages);
	set_amount(
		d->requests, "memory",
		quantity_add(beyond_guest(d, d->request), bytes(d->overhead)));
	if (limit != NULL)
		set_amount(d->limits, "memory",
			   quantity_add(beyond_guest(d, *limit),
					bytes(d->overhead)));
}

static int
set_memory(struct demand *d, struct err *err)
{
	struct quantity limit = QUANTITY_ZERO;
	int limited = get_amount(d->limits, "memory",
				 "spec.domain.resources.limits", &limit, err);

	if (limited == -1)
		return -1;
	if (*page_size(d) != '\0') {
		set_hugepages(d, limited ? &limit : NULL);
		return 0;
	}
	if (!js_bool_at(d->domain, "resources.overcommitGuestOverhead", false))
		set_amount(d->requests, "memory",
			   quantity_add(d->request, bytes(d->overhead)));
	else
		set_amount(d->requests, "memory", d->request);
	if (limited)
		set_amount(d->limits, "memory",
			   quantity_add(limit, bytes(d->overhead)));
	return 0;
}

static int
set_cpu(struct demand *d, struct err *err)
{
	uint64_t ratio = d->env->config->cpu_allocation_ratio;
	const json_t *configuration = d->env->configuration;
	struct quantity amount = QUANTITY_ZERO;
	int found;

	if (json_object_get(d->requests, "cpu") != NULL)
		return 0;
	found = get_amount(configuration, "cpuRequest", "spec.configuration",
			   &amount, err);
	if (found == -1)
		return -1;
	if (found == 0)
		amount = quantity_from_milli(
			(int64_t)d->vcpus * 1000 /
				(ratio == 0 ? 1 : (int64_t)ratio),
			QUANTITY_DECIMAL_SI);
	set_amount(d->requests, "cpu", amount);
	return 0;
}

static int
set_ephemeral_storage(struct demand *d, struct err *err)
{
	struct quantity extra = quantity_from_int(EPHEMERAL_STORAGE_OVERHEAD,
						  QUANTITY_DECIMAL_SI);
	struct quantity amount = QUANTITY_ZERO;
	int found = get_amount(d->limits, "ephemeral-storage",
			       "spec.domain.resources.limits", &amount, err);

	if (found == -1)
		return -1;
	if (found == 1)
		set_amount(d->limits, "ephemeral-storage",
			   quantity_add(amount, extra));
	amount = QUANTITY_ZERO;
	if (get_amount(d->requests, "ephemeral-storage",
		       "spec.domain.resources.requests", &amount, err) == -1)
		return -1;
	set_amount(d->requests, "ephemeral-storage",
		   quantity_add(amount, extra));
	return 0;
}

/* Some interface is virtio's, which is what is taken when none is said. */
static bool
has_virtio_interface(const struct demand *d)
{
	const json_t *interfaces = js_arr_at(d->domain, "devices.interfaces");
	json_t *interface;
	size_t i;

	json_array_foreach(interfaces, i, interface)
	{
		const char *model = js_str_at(interface, "model");

		if (*model == '\0' || str_equal(model, "virtio"))
			return true;
	}
	return false;
}

/* Limits alone: for devices they are requests as well. */
static void
set_devices(struct demand *d)
{
	bool emulation = d->env->config->use_emulation;

	if (!emulation)
		json_object_set_new(d->limits, "devices.kubevirt.io/kvm",
				    json_string("1"));
	if (json_array_size(js_arr_at(d->domain, "devices.interfaces")) > 0 ||
	    js_bool_at(d->domain, "devices.autoattachPodInterface", true))
		json_object_set_new(d->limits, "devices.kubevirt.io/tun",
				    json_string("1"));
	if (!emulation && has_virtio_interface(d))
		json_object_set_new(d->limits, "devices.kubevirt.io/vhost-net",
				    json_string("1"));
}

static json_t *
copy_of(const json_t *obj)
{
	return obj == NULL ? json_object() : json_deep_copy(obj);
}

json_t *
resources_render(const json_t *vmi, const struct render_env *env,
		 int64_t *ret_overhead, struct err *err)
{
	const json_t *domain = js_obj_at(vmi, "spec.domain");
	AUTO(js_unref)
	json_t *requests = copy_of(js_obj_at(domain, "resources.requests"));
	AUTO(js_unref)
	json_t *limits = copy_of(js_obj_at(domain, "resources.limits"));
	struct demand d = {
		.domain = domain,
		.env = env,
		.requests = requests,
		.limits = limits,
		.vcpus = resources_vcpus(vmi),
		.guest = QUANTITY_ZERO,
		.request = QUANTITY_ZERO,
	};

	if (find_memory(&d, err) == -1)
		return NULL;
	d.overhead = overhead_of(&d);
	if (set_memory(&d, err) == -1 || set_cpu(&d, err) == -1 ||
	    set_ephemeral_storage(&d, err) == -1)
		return NULL;
	set_devices(&d);
	*ret_overhead = d.overhead;
	return json_pack("{s:O, s:O}", "limits", limits, "requests", requests);
}
