/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_SANDBOX_H
#define PROXY_SANDBOX_H

/*
 * sandbox - giving up, in named stages, what the proxy does not need.
 *
 * The order, and what must have happened before each stage:
 *
 *   sandbox_check_user()          first of all: refuses root without a user
 *     ... start the opener, then read keys, bind the control socket
 *   sandbox_drop_user()           another user for good
 *   sandbox_drop_capabilities()   none left, none to be had by execve(2)
 *   sandbox_landlock()            no file system, where the kernel has it
 *   sandbox_seccomp()             only the system calls of a relay
 *     ... start threads, serve
 *
 * All stages act on the calling thread and those it starts later, so no thread
 * may have been started. A failed stage leaves the process half confined: the
 * program must end.
 *
 * Builds with a sanitizer (address, thread, memory) have no seccomp stage:
 * their run time needs calls of its own. sandbox_has_seccomp() tells, and so
 * does sandbox_describe().
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

struct err;

/* Which system calls are allowed. */
enum sandbox_profile {
	SANDBOX_MAIN,   /* the network and no files */
	SANDBOX_OPENER, /* files and unix sockets, no network */
	SANDBOX_PROFILE_COUNT,
};

/* What has been given up; filled by the stages. */
struct sandbox {
	char user[64];
	uint32_t uid;
	uint32_t gid;
	bool change_user;       /* uid and gid differ from what we are */
	bool capabilities_gone; /* verified */
	int landlock_abi;       /* 0: not active */
	bool seccomp;
};

/*
 * Finds out whom to become. Root must name a user that exists and is not
 * uid 0: ERR_INVALID, naming --user. Others may name only themselves, or
 * nobody (NULL).
 */
int sandbox_check_user(const char *user, struct sandbox *ret_sandbox,
		       struct err *err);

/*
 * Becomes that user: no supplementary groups, all ids, and verifies that the
 * way back is closed. The capability bounding set is emptied while that is
 * still possible. Nothing to do for those who are not root.
 */
int sandbox_drop_user(struct sandbox *sandbox, struct err *err);

/* All capability sets empty, no_new_privs, no core dumps, no ptrace by
 * others of the same user. */
int sandbox_drop_capabilities(struct sandbox *sandbox, struct err *err);

/*
 * Denies everything Landlock of this kernel can deny about files. Descriptors
 * that are open go on working. No Landlock in the kernel is no error; look at
 * landlock_abi.
 */
int sandbox_landlock(struct sandbox *sandbox, struct err *err);

/* Installs the filter. Calls that only an intruder makes end the process,
 * others fail with EPERM. */
int sandbox_seccomp(struct sandbox *sandbox, enum sandbox_profile profile,
		    struct err *err);
bool sandbox_has_seccomp(void);

/*
 * For the opener: keeps only what opening files of others takes
 * (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_CHOWN, CAP_FOWNER), and those
 * only if it has them; no_new_privs, no core dumps.
 */
int sandbox_keep_file_capabilities(struct err *err);

/*
 * {"user":"ferry-proxy","capabilities":"none","seccomp":"on",
 *  "landlock":"abi 4"}; a new reference. "kept" and "off" where a stage was not
 * gone through or is not to be had.
 */
json_t *sandbox_describe(const struct sandbox *sandbox);

#endif
