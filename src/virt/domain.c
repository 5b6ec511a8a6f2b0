/* SPDX-License-Identifier: Apache-2.0 */
#include "virt/domain.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "virt/internal.h"

#define ANY (-1)
#define DISK_ERRORS_MAX 64

/* libvirt's states and reasons as ours; the first row that fits. */
static const struct {
	int state, reason;
	enum virt_state to;
	enum virt_why why;
} table[] = {
#define S(name) VIR_DOMAIN_##name
	{ S(RUNNING), S(RUNNING_BOOTED), VIRT_RUNNING, VIRT_WHY_BOOTED },
	{ S(RUNNING), S(RUNNING_MIGRATED), VIRT_RUNNING, VIRT_WHY_MIGRATED },
	{ S(RUNNING), S(RUNNING_MIGRATION_CANCELED), VIRT_RUNNING,
	  VIRT_WHY_RETURNED },
	{ S(RUNNING), S(RUNNING_POSTCOPY), VIRT_RUNNING, VIRT_WHY_POST_COPY },
	{ S(RUNNING), S(RUNNING_POSTCOPY_FAILED), VIRT_RUNNING,
	  VIRT_WHY_POST_COPY_FAILED },
	{ S(RUNNING), S(RUNNING_UNPAUSED), VIRT_RUNNING, VIRT_WHY_USER },
	{ S(RUNNING), ANY, VIRT_RUNNING, VIRT_WHY_UNKNOWN },
	{ S(BLOCKED), ANY, VIRT_RUNNING, VIRT_WHY_UNKNOWN },
	{ S(PAUSED), S(PAUSED_STARTING_UP), VIRT_INCOMING, VIRT_WHY_UNKNOWN },
	{ S(PAUSED), S(PAUSED_MIGRATION), VIRT_PAUSED, VIRT_WHY_MIGRATING },
	{ S(PAUSED), S(PAUSED_POSTCOPY), VIRT_PAUSED, VIRT_WHY_POST_COPY },
	{ S(PAUSED), S(PAUSED_POSTCOPY_FAILED), VIRT_PAUSED,
	  VIRT_WHY_POST_COPY_FAILED },
	{ S(PAUSED), S(PAUSED_IOERROR), VIRT_PAUSED, VIRT_WHY_IO_ERROR },
	{ S(PAUSED), S(PAUSED_USER), VIRT_PAUSED, VIRT_WHY_USER },
	{ S(PAUSED), S(PAUSED_SHUTTING_DOWN), VIRT_SHUTTING_DOWN,
	  VIRT_WHY_GUEST },
	{ S(PAUSED), S(PAUSED_CRASHED), VIRT_CRASHED, VIRT_WHY_CRASHED },
	{ S(PAUSED), ANY, VIRT_PAUSED, VIRT_WHY_UNKNOWN },
	{ S(SHUTDOWN), ANY, VIRT_SHUTTING_DOWN, VIRT_WHY_GUEST },
	{ S(SHUTOFF), S(SHUTOFF_SHUTDOWN), VIRT_OFF, VIRT_WHY_GUEST },
	{ S(SHUTOFF), S(SHUTOFF_DESTROYED), VIRT_OFF, VIRT_WHY_DESTROYED },
	{ S(SHUTOFF), S(SHUTOFF_CRASHED), VIRT_OFF, VIRT_WHY_CRASHED },
	{ S(SHUTOFF), S(SHUTOFF_DAEMON), VIRT_OFF, VIRT_WHY_CRASHED },
	{ S(SHUTOFF), S(SHUTOFF_MIGRATED), VIRT_OFF, VIRT_WHY_MIGRATED },
	{ S(SHUTOFF), S(SHUTOFF_FAILED), VIRT_OFF, VIRT_WHY_FAILED },
	{ S(SHUTOFF), ANY, VIRT_OFF, VIRT_WHY_UNKNOWN },
	{ S(CRASHED), ANY, VIRT_CRASHED, VIRT_WHY_CRASHED },
	{ S(PMSUSPENDED), ANY, VIRT_RUNNING, VIRT_WHY_UNKNOWN },
#undef S
};

static const char *const state_names[] = {
	[VIRT_ABSENT] = "absent",
	[VIRT_INCOMING] = "incoming",
	[VIRT_RUNNING] = "running",
	[VIRT_PAUSED] = "paused",
	[VIRT_SHUTTING_DOWN] = "shutting down",
	[VIRT_OFF] = "off",
	[VIRT_CRASHED] = "crashed",
};
_Static_assert(ARRAY_LEN(state_names) == VIRT_STATE_COUNT, "each state");

static const char *const why_names[] = {
	[VIRT_WHY_UNKNOWN] = "unknown",
	[VIRT_WHY_BOOTED] = "booted",
	[VIRT_WHY_MIGRATED] = "migrated",
	[VIRT_WHY_MIGRATING] = "migrating",
	[VIRT_WHY_RETURNED] = "returned",
	[VIRT_WHY_POST_COPY] = "post-copy",
	[VIRT_WHY_POST_COPY_FAILED] = "post-copy failed",
	[VIRT_WHY_USER] = "user",
	[VIRT_WHY_IO_ERROR] = "I/O error",
	[VIRT_WHY_GUEST] = "guest",
	[VIRT_WHY_DESTROYED] = "destroyed",
	[VIRT_WHY_CRASHED] = "crashed",
	[VIRT_WHY_FAILED] = "failed",
};
_Static_assert(ARRAY_LEN(why_names) == VIRT_WHY_COUNT, "each reason");

const char *
virt_state_name(enum virt_state state)
{
	return state_names[state];
}

const char *
virt_why_name(enum virt_why why)
{
	return why_names[why];
}

static void
translate(int state, int reason, struct virt_look *look)
{
	look->state = VIRT_PAUSED;
	look->why = VIRT_WHY_UNKNOWN;
	for (size_t i = 0; i < ARRAY_LEN(table); i++) {
		if (table[i].state == state &&
		    (table[i].reason == ANY || table[i].reason == reason)) {
			look->state = table[i].to;
			look->why = table[i].why;
			return;
		}
	}
}

int
virt_domain_look(struct virt_conn *conn, const char *name,
		 struct virt_look *ret_look, struct err *err)
{
	AUTO(virt_free_domain) virDomainPtr domain = NULL;
	struct virt_look look = { .id = -1 };
	int state, reason;

	if (virt_lookup(conn, name, &domain, err) == -1) {
		if (err->kind != ERR_NOT_FOUND)
			return -1;
		*ret_look = look;
		return 0;
	}
	if (virDomainGetState(domain, &state, &reason, 0) == -1) {
		(void)virt_fail(err, "cannot read the domain's state");
		/* A domain without definition goes when it ends. */
		if (err->kind != ERR_NOT_FOUND)
			return -1;
		*ret_look = look;
		return 0;
	}
	translate(state, reason, &look);
	if (look.state != VIRT_OFF)
		look.id = (int)virDomainGetID(domain);
	*ret_look = look;
	return 0;
}

int
virt_domain_start(struct virt_conn *conn, const char *xml, bool paused,
		  struct err *err)
{
	AUTO(virt_free_domain) virDomainPtr domain = NULL;

	domain = virDomainDefineXML(conn->ptr, xml);
	if (domain == NULL)
		return virt_fail(err, "libvirt refuses the domain");
	if (virDomainIsActive(domain) == 1)
		return err_set(err, ERR_EXISTS, "the domain runs already");
	if (virDomainCreateWithFlags(domain, paused ? VIR_DOMAIN_START_PAUSED
						    : 0) == -1) {
		(void)virt_fail(err, "cannot start the domain");
		(void)virDomainUndefine(domain);
		return -1;
	}
	return 0;
}

int
virt_domain_pause(struct virt_conn *conn, const char *name, struct err *err)
{
	AUTO(virt_free_domain) virDomainPtr domain = NULL;

	if (virt_lookup(conn, name, &domain, err) == -1)
		return -1;
	if (virDomainSuspend(domain) == -1)
		return virt_fail(err, "cannot pause the domain");
	return 0;
}

int
virt_domain_resume(struct virt_conn *conn, const char *name, struct err *err)
{
	AUTO(virt_free_domain) virDomainPtr domain = NULL;

	if (virt_lookup(conn, name, &domain, err) == -1)
		return -1;
	if (virDomainResume(domain) == -1)
		return virt_fail(err, "cannot resume the domain");
	return 0;
}

int
virt_domain_press(struct virt_conn *conn, const char *name, struct err *err)
{
	AUTO(virt_free_domain) virDomainPtr domain = NULL;

	if (virt_lookup(conn, name, &domain, err) == -1)
		return -1;
	if (virDomainShutdownFlags(domain,
				   VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN) == -1)
		return virt_fail(err, "cannot ask the guest to shut down");
	return 0;
}

int
virt_domain_destroy(struct virt_conn *conn, const char *name, struct err *err)
{
	AUTO(virt_free_domain) virDomainPtr domain = NULL;

	if (virt_lookup(conn, name, &domain, err) == -1)
		return err->kind == ERR_NOT_FOUND ? 0 : -1;
	if (virDomainDestroy(domain) == 0 || virDomainIsActive(domain) == 0)
		return 0;
	return virt_fail(err, "cannot kill the domain");
}

char *
virt_domain_disk_errors(struct virt_conn *conn, const char *name)
{
	static const char *const texts[] = {
		[VIR_DOMAIN_DISK_ERROR_NONE] = "none",
		[VIR_DOMAIN_DISK_ERROR_UNSPEC] = "unspecified error",
		[VIR_DOMAIN_DISK_ERROR_NO_SPACE] = "no space",
	};
	AUTO(virt_free_domain) virDomainPtr domain = NULL;
	virDomainDiskError errors[DISK_ERRORS_MAX];
	AUTO(buf_done) struct buf text = BUF_INIT(BUF_UNLIMITED);
	struct err err;
	int count;

	if (virt_lookup(conn, name, &domain, &err) == -1)
		return xstrdup("");
	count = virDomainGetDiskErrors(domain, errors, DISK_ERRORS_MAX, 0);
	for (int i = 0; i < count; i++) {
		size_t which = (size_t)errors[i].error;

		(void)buf_printf(
			&text, "%s%s: %s", i > 0 ? ", " : "", errors[i].disk,
			which < ARRAY_LEN(texts) ? texts[which] : "error");
		free(errors[i].disk);
	}
	return xstrdup(text.data != NULL ? (char *)text.data : "");
}
