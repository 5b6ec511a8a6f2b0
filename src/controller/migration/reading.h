/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_MIGRATION_READING_H
#define CONTROLLER_MIGRATION_READING_H

/*
 * reading - all about one migration, read from the server now.
 *
 * The machine, its pods, and its migrations, side by side. What is not there
 * counts as read; everything else that goes wrong makes it fail, since facts
 * are confirmed only as a whole. It also fails, to be tried again, when the
 * machine turns out to be another one than the cache knew: then the pods that
 * were asked for are not its own.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/pod.h"
#include "api/vmi.h"
#include "api/vmim.h"
#include "base/err.h"

struct kube_client;
struct reading;

/* Bounds of what is looked at; more is an error. */
#define READING_PODS_MAX 256
#define READING_VMIMS_MAX 1024

struct reading_request {
	struct kube_client *client;
	const struct vmim *vmim; /* as far as known; not kept */
	const char *vmi_uid;     /* as far as known; "" if it is not */
	bool urgent;
	/* Once, not from within reading_start(). */
	void (*done)(struct reading *reading, void *arg);
	void *arg;
};

/* The texts, views and objects are the reading's. */
struct reading {
	bool ok; /* otherwise err says why not */
	struct err err;
	int64_t at_us; /* when the last answer came */

	json_t *vmim_json, *vmi_json; /* NULL: gone */
	json_t *pods_json;            /* an array */
	struct vmim *vmim;            /* NULL: gone */
	struct vmi *vmi;              /* NULL: gone, or no sense in it */
	bool vmi_bad;                 /* the latter; vmi_err says why */
	struct err vmi_err;
	struct vmim **others;
	size_t other_count;
	/* The server did not say which others there are: the migration has no
	 * label yet, or one that is not its machine's. */
	bool others_unknown;
	struct pod **pods;
	size_t pod_count;
};

struct reading *reading_start(const struct reading_request *request);
/* Also before it is done; nobody is called then. NULL is fine. */
void reading_free(struct reading *reading);

/* The pod of that name as it was read; NULL. */
const json_t *reading_pod_json(const struct reading *reading, const char *name);

#endif
