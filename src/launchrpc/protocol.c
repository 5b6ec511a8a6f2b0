/* SPDX-License-Identifier: Apache-2.0 */
#include "launchrpc/protocol.h"

#include <stddef.h>

#include "base/array.h"
#include "base/str.h"

#define SHORT_MS 10000U
/* Starting libvirtd on a cold cache, disks and QEMU, on a busy node. */
#define LONG_MS 120000U
/* More than the launcher gives QEMU (LAUNCH_MEASURE_MS). */
#define MEASURE_MS (LAUNCH_MEASURE_MS + SHORT_MS)

static const struct {
	const char *name;
	uint64_t timeout_ms;
} methods[] = {
	[LAUNCH_VERSIONS] = { "versions", SHORT_MS },
	[LAUNCH_STATUS] = { "status", SHORT_MS },
	[LAUNCH_SYNC] = { "sync", LONG_MS },
	[LAUNCH_PREPARE] = { "prepare", LONG_MS },
	[LAUNCH_MIGRATE] = { "migrate", SHORT_MS },
	[LAUNCH_CANCEL] = { "cancel", SHORT_MS },
	[LAUNCH_FINALIZE] = { "finalize", SHORT_MS },
	[LAUNCH_RECOVER] = { "recover", SHORT_MS },
	[LAUNCH_PAUSE] = { "pause", LONG_MS },
	[LAUNCH_UNPAUSE] = { "unpause", LONG_MS },
	[LAUNCH_SHUTDOWN] = { "shutdown", SHORT_MS },
	[LAUNCH_KILL] = { "kill", SHORT_MS },
	[LAUNCH_CLEANUP] = { "cleanup", SHORT_MS },
	[LAUNCH_MEASURE] = { "measure", MEASURE_MS },
};
_Static_assert(ARRAY_LEN(methods) == LAUNCH_METHOD_COUNT, "a row per method");

static const char *const states[] = {
	[LAUNCH_NO_DOMAIN] = "NoDomain",
	[LAUNCH_STARTING] = "Starting",
	[LAUNCH_RUNNING] = "Running",
	[LAUNCH_PAUSED] = "Paused",
	[LAUNCH_SHUTTING_DOWN] = "ShuttingDown",
	[LAUNCH_STOPPED] = "Stopped",
	[LAUNCH_CRASHED] = "Crashed",
};
_Static_assert(ARRAY_LEN(states) == LAUNCH_STATE_COUNT, "a name per state");

static const char *const causes[] = {
	[LAUNCH_CAUSE_NONE] = "",
	[LAUNCH_CAUSE_BOOTED] = "Booted",
	[LAUNCH_CAUSE_MIGRATED] = "Migrated",
	[LAUNCH_CAUSE_MIGRATING] = "Migrating",
	[LAUNCH_CAUSE_POST_COPY] = "PostCopy",
	[LAUNCH_CAUSE_POST_COPY_FAILED] = "PostCopyFailed",
	[LAUNCH_CAUSE_USER] = "User",
	[LAUNCH_CAUSE_IO_ERROR] = "IOError",
	[LAUNCH_CAUSE_GUEST] = "Guest",
	[LAUNCH_CAUSE_REQUEST] = "Request",
	[LAUNCH_CAUSE_KILLED] = "Killed",
	[LAUNCH_CAUSE_CRASHED] = "Crashed",
	[LAUNCH_CAUSE_QEMU_GONE] = "QemuGone",
	[LAUNCH_CAUSE_START_FAILED] = "StartFailed",
	[LAUNCH_CAUSE_OTHER] = "Other",
};
_Static_assert(ARRAY_LEN(causes) == LAUNCH_CAUSE_COUNT, "a name per cause");

static const char *const roles[] = {
	[LAUNCH_SOURCE] = "source",
	[LAUNCH_TARGET] = "target",
};
_Static_assert(ARRAY_LEN(roles) == LAUNCH_ROLE_COUNT, "a name per role");

static const char *const modes[] = {
	[LAUNCH_PRE_COPY] = "PreCopy",
	[LAUNCH_POST_COPY] = "PostCopy",
	[LAUNCH_MODE_PAUSED] = "Paused",
};
_Static_assert(ARRAY_LEN(modes) == LAUNCH_MODE_COUNT, "a name per mode");

static const char *const aborts[] = {
	[LAUNCH_ABORT_NONE] = "",
	[LAUNCH_ABORTING] = "Aborting",
	[LAUNCH_ABORT_SUCCEEDED] = "Succeeded",
	[LAUNCH_ABORT_FAILED] = "Failed",
};
_Static_assert(ARRAY_LEN(aborts) == LAUNCH_ABORT_COUNT, "a name per status");

static const char *const reasons[] = {
	[LAUNCH_REASON_NONE] = "",
	[LAUNCH_REASON_CANCELED] = "Canceled",
	[LAUNCH_REASON_PROGRESS_TIMEOUT] = "ProgressTimeout",
	[LAUNCH_REASON_COMPLETION_TIMEOUT] = "CompletionTimeout",
	[LAUNCH_REASON_CONNECT_FAILED] = "ConnectFailed",
	[LAUNCH_REASON_CONNECTION_LOST] = "ConnectionLost",
	[LAUNCH_REASON_TARGET_REFUSED] = "TargetRefused",
	[LAUNCH_REASON_TARGET_DISK] = "TargetDisk",
	[LAUNCH_REASON_TARGET_LOST] = "TargetLost",
	[LAUNCH_REASON_POST_COPY_UNSUPPORTED] = "PostCopyUnsupported",
	[LAUNCH_REASON_POST_COPY_FAILED] = "PostCopyFailed",
	[LAUNCH_REASON_UNCONFIRMED] = "Unconfirmed",
	[LAUNCH_REASON_MACHINE_ENDED] = "MachineEnded",
	[LAUNCH_REASON_LIBVIRT_LOST] = "LibvirtLost",
	[LAUNCH_REASON_NEVER_ARRIVED] = "NeverArrived",
	[LAUNCH_REASON_UNSUPPORTED] = "Unsupported",
	[LAUNCH_REASON_INTERNAL] = "Internal",
};
_Static_assert(ARRAY_LEN(reasons) == LAUNCH_REASON_COUNT, "a name per reason");

static const char *
name_of(const char *const *names, size_t count, size_t value)
{
	return value < count ? names[value] : "Unknown";
}

static size_t
value_of(const char *const *names, size_t count, const char *name)
{
	size_t i = 0;

	while (i < count && !str_equal(names[i], name))
		i++;
	return i;
}

const char *
launch_method_name(enum launch_method method)
{
	return methods[method].name;
}

uint64_t
launch_method_timeout_ms(enum launch_method method)
{
	return methods[method].timeout_ms;
}

/* Both ways of each table. */
#define NAMES(type, table)                                                   \
	const char *launch_##type##_name(enum launch_##type type)            \
	{                                                                    \
		return name_of(table, ARRAY_LEN(table), type);               \
	}                                                                    \
	enum launch_##type launch_##type##_parse(const char *name)           \
	{                                                                    \
		return (enum launch_##type)value_of(table, ARRAY_LEN(table), \
						    name);                   \
	}

NAMES(state, states)
NAMES(cause, causes)
NAMES(role, roles)
NAMES(mode, modes)
NAMES(abort, aborts)
NAMES(reason, reasons)
