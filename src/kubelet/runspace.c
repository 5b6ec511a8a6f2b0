/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/runspace.h"

#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/vfs.h>

#include "base/err.h"

int
runspace_mount(const char *source, const char *target, const char *type,
	       unsigned long flags, const char *data, struct err *err)
{
	if (mount(source, target, type, flags, data) == -1)
		return err_errno(err, "cannot mount '%s' on '%s'", source,
				 target);
	return 0;
}

int
runspace_enter(struct err *err)
{
	struct statfs fs;

	if (unshare(CLONE_NEWNS) == -1)
		return err_errno(err, "cannot make a mount namespace");
	if (runspace_mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL, err) ==
	    -1)
		return -1;
	if (statfs(RUNSPACE_CGROUPS, &fs) == 0 &&
	    fs.f_type == CGROUP2_SUPER_MAGIC)
		return 0;
	(void)umount2(RUNSPACE_CGROUPS, MNT_DETACH);
	return runspace_mount("cgroup2", RUNSPACE_CGROUPS, "cgroup2",
			      MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL, err);
}
