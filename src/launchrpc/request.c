/* SPDX-License-Identifier: Apache-2.0 */
#include "launchrpc/request.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#define UID_MAX 128 /* part of file names */
#define GRACE_MAX_S (7UL * 24 * 60 * 60)

static void
set_str(json_t *obj, const char *name, const char *value)
{
	if (value != NULL)
		(void)json_object_set_new(obj, name, json_string(value));
}

json_t *
launch_versions_encode(const struct launch_versions *versions)
{
	json_t *obj = json_object();

	(void)json_object_set_new(obj, "protocolMin",
				  json_integer(versions->protocol_min));
	(void)json_object_set_new(obj, "protocolMax",
				  json_integer(versions->protocol_max));
	set_str(obj, "program", versions->program);
	set_str(obj, "version", versions->version);
	set_str(obj, "libvirt", versions->libvirt);
	set_str(obj, "qemu", versions->qemu);
	return obj;
}

/* Unlike the others this ignores what it does not know: it is how two that do
 * not know each other find out. */
int
launch_versions_decode(const json_t *obj, struct launch_versions *ret,
		       struct err *err)
{
	const char *program, *version, *libvirt = "", *qemu = "";
	uint64_t min, max;

	*ret = (struct launch_versions){ 0 };
	if (js_get_u64(obj, "protocolMin", 0, UINT32_MAX, &min, err) == -1 ||
	    js_get_u64(obj, "protocolMax", 0, UINT32_MAX, &max, err) == -1 ||
	    js_get_str(obj, "program", &program, err) == -1 ||
	    js_get_str(obj, "version", &version, err) == -1 ||
	    js_opt_str(obj, "libvirt", &libvirt, err) == -1 ||
	    js_opt_str(obj, "qemu", &qemu, err) == -1)
		return -1;
	*ret = (struct launch_versions){
		.protocol_min = (uint32_t)min,
		.protocol_max = (uint32_t)max,
		.program = xstrdup(program),
		.version = xstrdup(version),
		.libvirt = xstrdup(libvirt),
		.qemu = xstrdup(qemu),
	};
	return 0;
}

void
launch_versions_done(struct launch_versions *versions)
{
	free(versions->program);
	free(versions->version);
	free(versions->libvirt);
	free(versions->qemu);
	*versions = (struct launch_versions){ 0 };
}

int
launch_versions_agree(const struct launch_versions *here,
		      const struct launch_versions *peer,
		      uint32_t *ret_protocol, struct err *err)
{
	uint32_t min = here->protocol_min > peer->protocol_min
			       ? here->protocol_min
			       : peer->protocol_min;
	uint32_t max = here->protocol_max < peer->protocol_max
			       ? here->protocol_max
			       : peer->protocol_max;
	const struct launch_versions *old =
		here->protocol_max < peer->protocol_max ? here : peer;

	*ret_protocol = max;
	if (min <= max)
		return 0;
	return err_set(err, ERR_REFUSED,
		       "%s %s speaks protocol %u to %u and %s %s speaks %u to "
		       "%u: update %s",
		       here->program, here->version, here->protocol_min,
		       here->protocol_max, peer->program, peer->version,
		       peer->protocol_min, peer->protocol_max, old->program);
}

json_t *
launch_sync_encode(const struct launch_sync *sync)
{
	json_t *obj = json_object();

	(void)json_object_set(obj, "vmi", sync->vmi);
	(void)json_object_set_new(obj, "interfaces",
				  launch_interfaces_encode(&sync->interfaces));
	return obj;
}

/* What sync and prepare have in common. *ret_vmi is a new reference. */
static int
machine_decode(const json_t *obj, json_t **ret_vmi,
	       struct launch_interfaces *ret_interfaces, struct err *err)
{
	json_t *vmi, *interfaces = NULL;

	if (js_get_obj(obj, "vmi", &vmi, err) == -1 ||
	    js_opt_arr(obj, "interfaces", &interfaces, err) == -1 ||
	    launch_interfaces_decode(interfaces, ret_interfaces, err) == -1)
		return -1;
	*ret_vmi = json_incref(vmi);
	return 0;
}

int
launch_sync_decode(const json_t *obj, struct launch_sync *ret, struct err *err)
{
	static const char *const names[] = { "vmi", "interfaces", NULL };

	*ret = (struct launch_sync){ 0 };
	if (js_only(obj, names, err) == -1)
		return -1;
	return machine_decode(obj, &ret->vmi, &ret->interfaces, err);
}

void
launch_sync_done(struct launch_sync *sync)
{
	js_unref(&sync->vmi);
	launch_interfaces_done(&sync->interfaces);
}

json_t *
launch_prepare_encode(const struct launch_prepare *prepare)
{
	json_t *obj = json_object(), *disks = json_array();

	for (size_t i = 0; i < prepare->disk_count; i++) {
		json_t *disk = json_object();

		set_str(disk, "name", prepare->disks[i].name);
		(void)json_object_set_new(
			disk, "sizeBytes",
			json_integer((json_int_t)prepare->disks[i].size_bytes));
		(void)json_array_append_new(disks, disk);
	}
	(void)json_object_set(obj, "vmi", prepare->vmi);
	set_str(obj, "migrationUid", prepare->migration_uid);
	(void)json_object_set_new(
		obj, "interfaces",
		launch_interfaces_encode(&prepare->interfaces));
	(void)json_object_set_new(obj, "disks", disks);
	return obj;
}

static int
uid_decode(const json_t *obj, const char **ret_uid, struct err *err)
{
	const char *uid;

	if (js_get_str(obj, "migrationUid", &uid, err) == -1)
		return -1;
	if (!str_is_name(uid, UID_MAX))
		return err_set(err, ERR_INVALID, "migrationUid: '%s' is no uid",
			       uid);
	*ret_uid = uid;
	return 0;
}

static int
disks_decode(const json_t *array, struct launch_prepare *ret, struct err *err)
{
	size_t count = json_array_size(array);

	if (count > LAUNCH_DISKS_MAX)
		return err_set(err, ERR_LIMIT, "more than %u disks",
			       LAUNCH_DISKS_MAX);
	ret->disks = xcalloc(count, sizeof(*ret->disks));
	for (size_t i = 0; i < count; i++) {
		const json_t *item = json_array_get(array, i);
		const char *name;
		uint64_t size;

		if (js_get_str(item, "name", &name, err) == -1 ||
		    js_get_u64(item, "sizeBytes", 0, INT64_MAX, &size, err) ==
			    -1)
			return err_prefix(err, "disks[%zu]", i);
		ret->disks[i].name = xstrdup(name);
		ret->disks[i].size_bytes = size;
		ret->disk_count++;
	}
	return 0;
}

int
launch_prepare_decode(const json_t *obj, struct launch_prepare *ret,
		      struct err *err)
{
	static const char *const names[] = { "vmi", "migrationUid",
					     "interfaces", "disks", NULL };
	const char *uid;
	json_t *disks = NULL;

	*ret = (struct launch_prepare){ 0 };
	if (js_only(obj, names, err) == -1 || uid_decode(obj, &uid, err) == -1)
		return -1;
	if (js_opt_arr(obj, "disks", &disks, err) == -1 ||
	    disks_decode(disks, ret, err) == -1 ||
	    machine_decode(obj, &ret->vmi, &ret->interfaces, err) == -1) {
		launch_prepare_done(ret);
		return -1;
	}
	ret->migration_uid = xstrdup(uid);
	return 0;
}

void
launch_prepare_done(struct launch_prepare *prepare)
{
	for (size_t i = 0; i < prepare->disk_count; i++)
		free(prepare->disks[i].name);
	free(prepare->disks);
	free(prepare->migration_uid);
	js_unref(&prepare->vmi);
	launch_interfaces_done(&prepare->interfaces);
	*prepare = (struct launch_prepare){ 0 };
}

json_t *
launch_migrate_encode(const struct launch_migrate *migrate)
{
	json_t *obj = json_object();

	(void)json_object_set(obj, "vmi", migrate->vmi);
	set_str(obj, "migrationUid", migrate->migration_uid);
	if (migrate->configuration != NULL)
		(void)json_object_set(obj, "configuration",
				      migrate->configuration);
	(void)json_object_set_new(obj, "block", json_boolean(migrate->block));
	(void)json_object_set_new(obj, "parallel",
				  json_integer(migrate->parallel));
	return obj;
}

int
launch_migrate_decode(const json_t *obj, struct launch_migrate *ret,
		      struct err *err)
{
	static const char *const names[] = { "vmi",           "migrationUid",
					     "configuration", "block",
					     "parallel",      NULL };
	json_t *vmi, *configuration = NULL;
	uint64_t parallel = 0;
	bool block = false;
	const char *uid;

	*ret = (struct launch_migrate){ 0 };
	if (js_only(obj, names, err) == -1 ||
	    uid_decode(obj, &uid, err) == -1 ||
	    js_get_obj(obj, "vmi", &vmi, err) == -1 ||
	    js_opt_obj(obj, "configuration", &configuration, err) == -1 ||
	    js_opt_bool(obj, "block", &block, err) == -1 ||
	    js_opt_u64(obj, "parallel", 0, LAUNCH_PARALLEL_MAX, &parallel,
		       err) == -1)
		return -1;
	*ret = (struct launch_migrate){
		.vmi = json_incref(vmi),
		.migration_uid = xstrdup(uid),
		.configuration = json_incref(configuration),
		.block = block,
		.parallel = (uint32_t)parallel,
	};
	return 0;
}

void
launch_migrate_done(struct launch_migrate *migrate)
{
	js_unref(&migrate->vmi);
	js_unref(&migrate->configuration);
	free(migrate->migration_uid);
	*migrate = (struct launch_migrate){ 0 };
}

json_t *
launch_uid_encode(const char *migration_uid)
{
	json_t *obj = json_object();

	set_str(obj, "migrationUid", migration_uid);
	return obj;
}

int
launch_uid_decode(const json_t *obj, const char **ret_uid, struct err *err)
{
	static const char *const names[] = { "migrationUid", NULL };

	if (js_only(obj, names, err) == -1)
		return -1;
	return uid_decode(obj, ret_uid, err);
}

json_t *
launch_recover_encode(const char *migration_uid, bool listening)
{
	json_t *obj = launch_uid_encode(migration_uid);

	/* Earlier launchers know nothing of it. */
	if (listening)
		(void)json_object_set_new(obj, "listening", json_true());
	return obj;
}

int
launch_recover_decode(const json_t *obj, const char **ret_uid,
		      bool *ret_listening, struct err *err)
{
	static const char *const names[] = { "migrationUid", "listening",
					     NULL };

	*ret_listening = false;
	if (js_only(obj, names, err) == -1 ||
	    js_opt_bool(obj, "listening", ret_listening, err) == -1)
		return -1;
	return uid_decode(obj, ret_uid, err);
}

json_t *
launch_grace_encode(uint64_t seconds)
{
	json_t *obj = json_object();

	(void)json_object_set_new(obj, "graceSeconds",
				  json_integer((json_int_t)seconds));
	return obj;
}

int
launch_grace_decode(const json_t *obj, uint64_t *ret_seconds, struct err *err)
{
	static const char *const names[] = { "graceSeconds", NULL };

	if (js_only(obj, names, err) == -1)
		return -1;
	return js_get_u64(obj, "graceSeconds", 0, GRACE_MAX_S, ret_seconds,
			  err);
}
