/* SPDX-License-Identifier: Apache-2.0 */
#include "virt/migrate.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "virt/conn.h"
#include "virt/internal.h"

#define ANY_CODE (-1)

/*
 * The first row whose code and text fit. The texts are libvirt's and QEMU's,
 * untranslated; codes alone say little, most failures are "internal".
 */
static const struct {
	const char *text; /* part of it; NULL for any */
	int code;
	enum virt_fault fault;
} faults[] = {
	{ NULL, VIR_ERR_OPERATION_ABORTED, VIRT_FAULT_ABORTED },
	{ NULL, VIR_ERR_NO_DOMAIN, VIRT_FAULT_GONE },
	{ "domain is not running", ANY_CODE, VIRT_FAULT_GONE },
	{ "domain is no longer running", ANY_CODE, VIRT_FAULT_GONE },
	{ "post-copy migration is not supported", ANY_CODE,
	  VIRT_FAULT_POST_COPY_UNSUPPORTED },
	{ "Postcopy is not supported", ANY_CODE,
	  VIRT_FAULT_POST_COPY_UNSUPPORTED },
	{ "post-copy", ANY_CODE, VIRT_FAULT_POST_COPY },
	{ "postcopy", ANY_CODE, VIRT_FAULT_POST_COPY },
	{ "torage pool not found", ANY_CODE, VIRT_FAULT_DISK },
	{ "different sizes", ANY_CODE, VIRT_FAULT_DISK },
	{ "cannot precreate storage", ANY_CODE, VIRT_FAULT_DISK },
	{ "pre-creation of storage", ANY_CODE, VIRT_FAULT_DISK },
	{ "Cannot access storage file", ANY_CODE, VIRT_FAULT_DISK },
	{ "Could not open '", ANY_CODE, VIRT_FAULT_DISK },
	{ "Failed to bind socket", ANY_CODE, VIRT_FAULT_REFUSED },
	{ "Failed to connect", ANY_CODE, VIRT_FAULT_CONNECT },
	{ "unable to connect to server", ANY_CODE, VIRT_FAULT_CONNECT },
	{ "cannot connect to socket", ANY_CODE, VIRT_FAULT_CONNECT },
	{ "onnection refused", ANY_CODE, VIRT_FAULT_CONNECT },
	/* QEMU about the stream of disks, which is its own. */
	{ "Failed to read initial magic", ANY_CODE, VIRT_FAULT_CONNECT },
	{ "Unexpected end-of-file before all data", ANY_CODE, VIRT_FAULT_LOST },
	{ "client socket is closed", ANY_CODE, VIRT_FAULT_SILENT },
	{ "nd of file while reading", ANY_CODE, VIRT_FAULT_SILENT },
	{ "Cannot recv data", ANY_CODE, VIRT_FAULT_SILENT },
	{ "Cannot write data", ANY_CODE, VIRT_FAULT_SILENT },
	{ "keepalive", ANY_CODE, VIRT_FAULT_SILENT },
	{ "Unable to write to socket", ANY_CODE, VIRT_FAULT_LOST },
	{ "Broken pipe", ANY_CODE, VIRT_FAULT_LOST },
	{ "onnection reset", ANY_CODE, VIRT_FAULT_LOST },
	{ "Lost connection to destination host", ANY_CODE, VIRT_FAULT_LOST },
	{ "unexpectedly closed the monitor", ANY_CODE, VIRT_FAULT_PEER_QEMU },
	{ "migration was active, but no RAM info", ANY_CODE, VIRT_FAULT_OTHER },
	{ NULL, VIR_ERR_CONFIG_UNSUPPORTED, VIRT_FAULT_REFUSED },
	{ NULL, VIR_ERR_CPU_INCOMPATIBLE, VIRT_FAULT_REFUSED },
	{ "guest", VIR_ERR_OPERATION_FAILED, VIRT_FAULT_OTHER },
	{ NULL, VIR_ERR_RPC, VIRT_FAULT_SILENT },
};

void
virt_migration_copy(struct virt_migration *to,
		    const struct virt_migration *from)
{
	const char **disks = xcalloc(from->disk_count, sizeof(*disks));

	for (size_t i = 0; i < from->disk_count; i++)
		disks[i] = xstrdup(from->disks[i]);
	*to = *from;
	to->disks = disks;
	to->domain = xstrdup(from->domain);
	to->control_uri = xstrdup(from->control_uri);
	to->memory_uri = xstrdup(from->memory_uri);
	if (from->disks_uri != NULL)
		to->disks_uri = xstrdup(from->disks_uri);
}

void
virt_migration_done(struct virt_migration *migration)
{
	for (size_t i = 0; i < migration->disk_count; i++)
		free((char *)(uintptr_t)migration->disks[i]);
	free((void *)(uintptr_t)migration->disks);
	free((char *)(uintptr_t)migration->domain);
	free((char *)(uintptr_t)migration->control_uri);
	free((char *)(uintptr_t)migration->memory_uri);
	free((char *)(uintptr_t)migration->disks_uri);
	*migration = (struct virt_migration){ 0 };
}

enum virt_fault
virt_fault_from(int code, const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		if ((faults[i].code == ANY_CODE || faults[i].code == code) &&
		    (faults[i].text == NULL ||
		     (text != NULL && strstr(text, faults[i].text) != NULL)))
			return faults[i].fault;
	}
	return VIRT_FAULT_OTHER;
}

static unsigned
flags_of(const struct virt_migration *migration)
{
	const struct {
		bool wanted;
		unsigned flag;
	} table[] = {
		{ migration->disk_count > 0, VIR_MIGRATE_NON_SHARED_INC },
		{ migration->post_copy, VIR_MIGRATE_POSTCOPY },
		{ migration->auto_converge, VIR_MIGRATE_AUTO_CONVERGE },
		{ migration->parallel > 0, VIR_MIGRATE_PARALLEL },
		{ migration->paused, VIR_MIGRATE_PAUSED },
		{ migration->recover, VIR_MIGRATE_POSTCOPY_RESUME },
	};
	/* Who may reach which disk was decided before: libvirt only sees a
	 * directory that somebody mounted, and calls each unsafe. */
	unsigned flags = VIR_MIGRATE_LIVE | VIR_MIGRATE_PEER2PEER |
			 VIR_MIGRATE_PERSIST_DEST | VIR_MIGRATE_UNSAFE;

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		flags |= table[i].wanted ? table[i].flag : 0;
	return flags;
}

struct params {
	virTypedParameterPtr items;
	int count, size;
};

static int
add_disks(const struct virt_migration *migration, struct params *p)
{
	for (size_t i = 0; i < migration->disk_count; i++) {
		if (virTypedParamsAddString(&p->items, &p->count, &p->size,
					    VIR_MIGRATE_PARAM_MIGRATE_DISKS,
					    migration->disks[i]) == -1)
			return -1;
	}
	return 0;
}

static int
fill(const struct virt_migration *migration, struct params *p)
{
	if (virTypedParamsAddString(&p->items, &p->count, &p->size,
				    VIR_MIGRATE_PARAM_URI,
				    migration->memory_uri) == -1)
		return -1;
	if (migration->disk_count > 0 &&
	    (virTypedParamsAddString(&p->items, &p->count, &p->size,
				     VIR_MIGRATE_PARAM_DISKS_URI,
				     migration->disks_uri) == -1 ||
	     add_disks(migration, p) == -1))
		return -1;
	if (migration->bandwidth_mib > 0 &&
	    virTypedParamsAddULLong(&p->items, &p->count, &p->size,
				    VIR_MIGRATE_PARAM_BANDWIDTH,
				    migration->bandwidth_mib) == -1)
		return -1;
	if (migration->parallel > 0 &&
	    virTypedParamsAddInt(&p->items, &p->count, &p->size,
				 VIR_MIGRATE_PARAM_PARALLEL_CONNECTIONS,
				 (int)migration->parallel) == -1)
		return -1;
	return 0;
}

int
virt_migrate(struct virt_conn *conn, const struct virt_migration *migration,
	     enum virt_fault *ret_fault, struct err *err)
{
	virDomainPtr domain = NULL;
	struct params params = { 0 };
	const virError *error;
	int rc;

	*ret_fault = VIRT_FAULT_NONE;
	if (virt_lookup(conn, migration->domain, &domain, err) == -1) {
		*ret_fault = VIRT_FAULT_GONE;
		return -1;
	}
	rc = fill(migration, &params);
	if (rc == 0)
		rc = virDomainMigrateToURI3(
			domain, migration->control_uri, params.items,
			(unsigned)params.count, flags_of(migration));
	if (rc == -1) {
		error = virGetLastError();
		*ret_fault =
			virt_fault_from(error != NULL ? error->code : 0,
					error != NULL ? error->message : NULL);
		(void)virt_fail(err, "cannot migrate the domain");
		if (!virt_conn_alive(conn))
			*ret_fault = VIRT_FAULT_DAEMON;
	}
	virTypedParamsFree(params.items, params.count);
	virt_free_domain(&domain);
	return rc;
}
