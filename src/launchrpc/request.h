/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHRPC_REQUEST_H
#define LAUNCHRPC_REQUEST_H

/*
 * request - the parameters of the methods, both directions.
 *
 * Members that are not known are refused: a handler that asks for more than a
 * launcher can do learns that from `versions`, not from being ignored.
 *
 * Each _encode() returns a new reference. Each _decode() fills *ret, which
 * _done() empties, or leaves it empty.
 *
 * Threading: as js.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/js.h"
#include "launchrpc/protocol.h"
#include "launchrpc/status.h"

struct err;

/* versions: parameters and result. */
struct launch_versions {
	uint32_t protocol_min, protocol_max;
	char *program;
	char *version;
	/* the launcher's result only; "" while libvirtd is not up */
	char *libvirt, *qemu;
};

json_t *launch_versions_encode(const struct launch_versions *versions);
int launch_versions_decode(const json_t *obj, struct launch_versions *ret,
			   struct err *err);
void launch_versions_done(struct launch_versions *versions);

/*
 * The highest protocol that both speak. ERR_REFUSED names both programs and
 * their versions, and which one is to be brought up to date.
 */
int launch_versions_agree(const struct launch_versions *here,
			  const struct launch_versions *peer,
			  uint32_t *ret_protocol, struct err *err);

/* sync: define and start what is not there. */
struct launch_sync {
	json_t *vmi; /* the whole object */
	struct launch_interfaces interfaces;
};

json_t *launch_sync_encode(const struct launch_sync *sync);
int launch_sync_decode(const json_t *obj, struct launch_sync *ret,
		       struct err *err);
void launch_sync_done(struct launch_sync *sync);

/* How large a disk is at the source, where that does not follow from the
 * machine's spec; prepare makes it as large. */
struct launch_disk {
	char *name; /* of the volume */
	uint64_t size_bytes;
};

/* prepare: make room for the machine to come in. */
struct launch_prepare {
	json_t *vmi;
	char *migration_uid;
	struct launch_interfaces interfaces;
	struct launch_disk *disks;
	size_t disk_count;
};

json_t *launch_prepare_encode(const struct launch_prepare *prepare);
int launch_prepare_decode(const json_t *obj, struct launch_prepare *ret,
			  struct err *err);
void launch_prepare_done(struct launch_prepare *prepare);

/* migrate: begin, by the sockets that are there. */
struct launch_migrate {
	json_t *vmi;
	char *migration_uid;
	/* status.migrationState.migrationConfiguration; NULL: defaults */
	json_t *configuration;
	bool block;        /* copy the disks that are not shared */
	uint32_t parallel; /* connections for memory; 0: one, the usual one */
};

json_t *launch_migrate_encode(const struct launch_migrate *migrate);
int launch_migrate_decode(const json_t *obj, struct launch_migrate *ret,
			  struct err *err);
void launch_migrate_done(struct launch_migrate *migrate);

/* cancel, finalize, recover: {"migrationUid":UID}. Borrowed. */
json_t *launch_uid_encode(const char *migration_uid);
int launch_uid_decode(const json_t *obj, const char **ret_uid, struct err *err);

/* recover: the same, and whether the target's QEMU listens again. */
json_t *launch_recover_encode(const char *migration_uid, bool listening);
int launch_recover_decode(const json_t *obj, const char **ret_uid,
			  bool *ret_listening, struct err *err);

/* shutdown: {"graceSeconds":N}. */
json_t *launch_grace_encode(uint64_t seconds);
int launch_grace_decode(const json_t *obj, uint64_t *ret_seconds,
			struct err *err);

#endif
