/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHRPC_STATUS_H
#define LAUNCHRPC_STATUS_H

/*
 * status - everything a launcher says about itself and its machine.
 *
 * Threading: as js.h.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/js.h"
#include "launchrpc/guest.h"
#include "launchrpc/protocol.h"
#include "launchrpc/record.h"

struct err;

/* An interface of the machine: its tap exists in the pod before `sync`. */
struct launch_interface {
	char *name;   /* in spec.domain.devices.interfaces */
	char *tap;    /* "tap0" */
	char *mac;    /* of the guest; "" for libvirt's choice */
	char *model;  /* "" for that of the machine's spec */
	uint32_t mtu; /* 0: not said */
};

struct launch_interfaces {
	struct launch_interface *items;
	size_t count;
};

void launch_interfaces_done(struct launch_interfaces *list);
void launch_interfaces_copy(struct launch_interfaces *to,
			    const struct launch_interfaces *from);
json_t *launch_interfaces_encode(const struct launch_interfaces *list);
/* list is an array, NULL for none; what names it in errors. */
int launch_interfaces_decode(const json_t *list, struct launch_interfaces *ret,
			     struct err *err);

struct launch_status {
	char *version; /* of the launcher */
	char *libvirt; /* "9.0.0"; "" until it is known */
	char *qemu;    /* "7.2.22" */
	char *vmi_uid; /* of the command line */
	enum launch_state state;
	enum launch_cause cause;
	int64_t id;       /* libvirt's number of the domain; 0: none */
	char *message;    /* why it could not be started, or was lost; "" */
	char *disk_error; /* paused for an I/O error: which disk; "" */
	bool libvirt_up;  /* false: the state is from before it was lost */
	struct launch_interfaces interfaces;
	struct launch_record *migration; /* NULL for none */
	struct launch_guest *guest;      /* as last measured; NULL: never */
};

void launch_status_done(struct launch_status *status);
/* Of one that was decoded, or that has all its texts. It never fails: what one
 * side could read the other has. */
void launch_status_copy(struct launch_status *to,
			const struct launch_status *from);
json_t *launch_status_encode(const struct launch_status *status);
/* On failure *ret is empty. Unknown names and members as in record.h. */
int launch_status_decode(const json_t *obj, struct launch_status *ret,
			 struct err *err);

#endif
