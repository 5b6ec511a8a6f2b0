/* SPDX-License-Identifier: Apache-2.0 */
#include "launchrpc/status.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/jssize.h"
#include "base/mem.h"

static void
set_str(json_t *obj, const char *name, const char *value)
{
	(void)json_object_set_new(obj, name,
				  json_string(value != NULL ? value : ""));
}

void
launch_interfaces_done(struct launch_interfaces *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].name);
		free(list->items[i].tap);
		free(list->items[i].mac);
		free(list->items[i].model);
	}
	free(list->items);
	*list = (struct launch_interfaces){ 0 };
}

void
launch_interfaces_copy(struct launch_interfaces *to,
		       const struct launch_interfaces *from)
{
	struct launch_interfaces copy = { .count = from->count };

	copy.items = xcalloc(from->count, sizeof(*copy.items));
	for (size_t i = 0; i < from->count; i++) {
		const struct launch_interface *item = &from->items[i];

		copy.items[i] = (struct launch_interface){
			.name = xstrdup(item->name),
			.tap = xstrdup(item->tap),
			.mac = xstrdup(item->mac),
			.model = xstrdup(item->model),
			.mtu = item->mtu,
		};
	}
	launch_interfaces_done(to);
	*to = copy;
}

json_t *
launch_interfaces_encode(const struct launch_interfaces *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++) {
		const struct launch_interface *item = &list->items[i];
		json_t *obj = json_object();

		set_str(obj, "name", item->name);
		set_str(obj, "tap", item->tap);
		set_str(obj, "mac", item->mac);
		set_str(obj, "model", item->model);
		(void)json_object_set_new(obj, "mtu", json_integer(item->mtu));
		(void)json_array_append_new(array, obj);
	}
	return array;
}

static int
interface_decode(const json_t *obj, struct launch_interface *ret,
		 struct err *err)
{
	const char *name, *tap, *mac = "", *model = "";
	uint64_t mtu = 0;

	if (js_get_str(obj, "name", &name, err) == -1 ||
	    js_get_str(obj, "tap", &tap, err) == -1 ||
	    js_opt_str(obj, "mac", &mac, err) == -1 ||
	    js_opt_str(obj, "model", &model, err) == -1 ||
	    js_opt_u64(obj, "mtu", 0, UINT16_MAX, &mtu, err) == -1)
		return -1;
	*ret = (struct launch_interface){
		.name = xstrdup(name),
		.tap = xstrdup(tap),
		.mac = xstrdup(mac),
		.model = xstrdup(model),
		.mtu = (uint32_t)mtu,
	};
	return 0;
}

int
launch_interfaces_decode(const json_t *list, struct launch_interfaces *ret,
			 struct err *err)
{
	size_t count = json_array_size(list);

	*ret = (struct launch_interfaces){ 0 };
	if (count > LAUNCH_INTERFACES_MAX)
		return err_set(err, ERR_LIMIT, "more than %u interfaces",
			       LAUNCH_INTERFACES_MAX);
	ret->items = xcalloc(count, sizeof(*ret->items));
	for (size_t i = 0; i < count; i++) {
		if (interface_decode(json_array_get(list, i), &ret->items[i],
				     err) == -1) {
			launch_interfaces_done(ret);
			return err_prefix(err, "interfaces[%zu]", i);
		}
		ret->count++;
	}
	return 0;
}

void
launch_status_done(struct launch_status *status)
{
	free(status->version);
	free(status->libvirt);
	free(status->qemu);
	free(status->vmi_uid);
	free(status->message);
	free(status->disk_error);
	launch_interfaces_done(&status->interfaces);
	if (status->migration != NULL)
		launch_record_done(status->migration);
	free(status->migration);
	free(status->guest);
	*status = (struct launch_status){ 0 };
}

void
launch_status_copy(struct launch_status *to, const struct launch_status *from)
{
	struct launch_status copy = *from;

	copy.version = xstrdup(from->version);
	copy.libvirt = xstrdup(from->libvirt);
	copy.qemu = xstrdup(from->qemu);
	copy.vmi_uid = xstrdup(from->vmi_uid);
	copy.message = xstrdup(from->message);
	copy.disk_error = xstrdup(from->disk_error);
	copy.interfaces = (struct launch_interfaces){ 0 };
	launch_interfaces_copy(&copy.interfaces, &from->interfaces);
	if (from->migration != NULL) {
		copy.migration = xmalloc0(sizeof(*copy.migration));
		launch_record_copy(copy.migration, from->migration);
	}
	if (from->guest != NULL) {
		copy.guest = xmalloc0(sizeof(*copy.guest));
		*copy.guest = *from->guest;
	}
	launch_status_done(to);
	*to = copy;
}

json_t *
launch_status_encode(const struct launch_status *status)
{
	json_t *obj = json_object(), *domain = json_object();

	set_str(obj, "version", status->version);
	set_str(obj, "libvirt", status->libvirt);
	set_str(obj, "qemu", status->qemu);
	set_str(obj, "vmiUid", status->vmi_uid);
	(void)json_object_set_new(obj, "libvirtUp",
				  json_boolean(status->libvirt_up));
	set_str(domain, "state", launch_state_name(status->state));
	set_str(domain, "reason", launch_cause_name(status->cause));
	set_str(domain, "message", status->message);
	set_str(domain, "diskError", status->disk_error);
	(void)json_object_set_new(domain, "id", json_integer(status->id));
	(void)json_object_set_new(obj, "domain", domain);
	(void)json_object_set_new(
		obj, "interfaces",
		launch_interfaces_encode(&status->interfaces));
	if (status->migration != NULL)
		(void)json_object_set_new(
			obj, "migration",
			launch_record_encode(status->migration));
	if (status->guest != NULL)
		(void)json_object_set_new(obj, "guest",
					  launch_guest_encode(status->guest));
	return obj;
}

static int
domain_decode(const json_t *obj, struct launch_status *ret, struct err *err)
{
	const char *state, *reason = "", *message = "", *disk = "";
	uint64_t id = 0;

	if (js_get_str(obj, "state", &state, err) == -1 ||
	    js_opt_str(obj, "reason", &reason, err) == -1 ||
	    js_opt_str(obj, "message", &message, err) == -1 ||
	    js_opt_str(obj, "diskError", &disk, err) == -1 ||
	    js_opt_u64(obj, "id", 0, INT64_MAX, &id, err) == -1)
		return -1;
	ret->state = launch_state_parse(state);
	/* Nobody can act upon a state that it does not know. */
	if (ret->state == LAUNCH_STATE_COUNT)
		return err_set(err, ERR_INVALID, "unknown state '%s'", state);
	ret->cause = launch_cause_parse(reason);
	if (ret->cause == LAUNCH_CAUSE_COUNT)
		ret->cause = LAUNCH_CAUSE_OTHER;
	ret->message = xstrdup(message);
	ret->disk_error = xstrdup(disk);
	ret->id = (int64_t)id;
	return 0;
}

static int
versions_decode(const json_t *obj, struct launch_status *ret, struct err *err)
{
	const char *version, *libvirt = "", *qemu = "", *uid = "";

	if (js_get_str(obj, "version", &version, err) == -1 ||
	    js_opt_str(obj, "libvirt", &libvirt, err) == -1 ||
	    js_opt_str(obj, "qemu", &qemu, err) == -1 ||
	    js_opt_str(obj, "vmiUid", &uid, err) == -1 ||
	    js_opt_bool(obj, "libvirtUp", &ret->libvirt_up, err) == -1)
		return -1;
	ret->version = xstrdup(version);
	ret->libvirt = xstrdup(libvirt);
	ret->qemu = xstrdup(qemu);
	ret->vmi_uid = xstrdup(uid);
	return 0;
}

static int
migration_decode(const json_t *obj, struct launch_status *ret, struct err *err)
{
	json_t *migration = NULL;

	if (js_opt_obj(obj, "migration", &migration, err) == -1)
		return -1;
	if (migration == NULL)
		return 0;
	ret->migration = xmalloc0(sizeof(*ret->migration));
	if (launch_record_decode(migration, ret->migration, err) == -1)
		return err_prefix(err, "migration");
	return 0;
}

static int
guest_decode(const json_t *obj, struct launch_status *ret, struct err *err)
{
	json_t *guest = NULL;

	if (js_opt_obj(obj, "guest", &guest, err) == -1)
		return -1;
	if (guest == NULL)
		return 0;
	ret->guest = xmalloc0(sizeof(*ret->guest));
	if (launch_guest_decode(guest, ret->guest, err) == -1)
		return err_prefix(err, "guest");
	return 0;
}

int
launch_status_decode(const json_t *obj, struct launch_status *ret,
		     struct err *err)
{
	json_t *domain, *interfaces = NULL;

	*ret = (struct launch_status){ 0 };
	if (js_size(obj).bytes > LAUNCH_STATUS_MAX)
		return err_set(err, ERR_LIMIT,
			       "a status of more than %lu bytes",
			       LAUNCH_STATUS_MAX);
	if (versions_decode(obj, ret, err) == 0 &&
	    js_get_obj(obj, "domain", &domain, err) == 0 &&
	    domain_decode(domain, ret, err) == 0 &&
	    js_opt_arr(obj, "interfaces", &interfaces, err) == 0 &&
	    launch_interfaces_decode(interfaces, &ret->interfaces, err) == 0 &&
	    migration_decode(obj, ret, err) == 0 &&
	    guest_decode(obj, ret, err) == 0)
		return 0;
	launch_status_done(ret);
	return -1;
}
