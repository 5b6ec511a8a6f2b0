/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/sandbox_rules.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "base/array.h"

/* The kernel looks at the low half of an int only; so do the rules. */
#define INT 0xffffffffU

/* Nobody but an intruder makes these calls. */
static const char deadly[] =
	"execve execveat ptrace process_vm_readv process_vm_writev "
	"pidfd_getfd kcmp process_madvise "
	"mount umount2 move_mount open_tree fsopen fsconfig fsmount fspick "
	"mount_setattr pivot_root chroot setns unshare open_by_handle_at "
	"mknod mknodat quotactl acct swapon swapoff "
	"bpf perf_event_open userfaultfd io_uring_setup "
	"init_module finit_module delete_module kexec_load kexec_file_load "
	"reboot iopl ioperm personality uselib vhangup syslog "
	"add_key request_key keyctl "
	"settimeofday clock_settime clock_adjtime adjtimex "
	"sethostname setdomainname";

/* glibc then takes clone(2), whose flags can be looked at. */
static const char absent[] = "clone3";

/* Memory, time, its own signals, descriptors it has, the end. */
static const char common[] =
	"brk munmap mremap madvise "
	"clock_gettime clock_getres gettimeofday "
	"rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending "
	"rt_sigsuspend sigaltstack restart_syscall "
	"read readv pread64 write writev lseek fstat fcntl close "
	"dup dup2 dup3 recvmsg sendmsg poll ppoll "
	"futex set_robust_list rseq sched_yield "
	"getpid gettid getuid geteuid getgid getegid getresuid getresgid "
	"getrusage uname getrandom exit exit_group";

static const struct sandbox_rule common_limited[] = {
	{ "socket", { { 0, INT, AF_UNIX } } },
	{ "mmap", { { 2, PROT_EXEC, 0 } } },
	{ "mprotect", { { 2, PROT_EXEC, 0 } } },
	{ .name = NULL },
};

/* Sockets, the loop, pipes, threads, waiting for the opener. */
static const char main_allowed[] =
	"bind listen accept accept4 connect shutdown socketpair "
	"getsockname getpeername getsockopt setsockopt "
	"recvfrom recvmmsg sendto sendmmsg splice tee pipe pipe2 "
	"epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait "
	"epoll_pwait2 eventfd2 signalfd4 select pselect6 "
	"timerfd_create timerfd_settime timerfd_gettime "
	"nanosleep clock_nanosleep membarrier set_tid_address getcpu "
	"sched_getaffinity sched_setaffinity sched_getparam "
	"sched_getscheduler mlock munlock sysinfo capget close_range "
	"wait4 waitid";

static const struct sandbox_rule main_limited[] = {
	{ "socket", { { 0, INT, AF_INET } } },
	{ "socket", { { 0, INT, AF_INET6 } } },
	/* getifaddrs(3) */
	{ "socket", { { 0, INT, AF_NETLINK }, { 2, INT, NETLINK_ROUTE } } },
	/* Threads, not processes. */
	{ "clone", { { 0, CLONE_THREAD, CLONE_THREAD } } },
	/* fstat(3), not stat(3) */
	{ "newfstatat", { { 3, AT_EMPTY_PATH, AT_EMPTY_PATH } } },
	{ "ioctl", { { 1, INT, FIONREAD } } },
	{ "ioctl", { { 1, INT, FIONBIO } } },
	{ "ioctl", { { 1, INT, SIOCOUTQ } } },
	{ "ioctl", { { 1, INT, SIOCGIFNAME } } },
	{ "ioctl", { { 1, INT, SIOCGIFINDEX } } },
	{ "prctl", { { 0, INT, PR_SET_NAME } } },
	{ "prctl", { { 0, INT, PR_GET_NAME } } },
	{ "prctl", { { 0, INT, PR_GET_DUMPABLE } } },
	{ "prctl", { { 0, INT, PR_GET_SECCOMP } } },
	{ "prctl", { { 0, INT, PR_GET_NO_NEW_PRIVS } } },
	{ .name = NULL },
};

/* Files by directory and name, and making sockets of them. */
static const char opener_allowed[] =
	"openat openat2 newfstatat statx readlink readlinkat "
	"mkdirat unlinkat renameat renameat2 fchmodat fchmodat2 fchownat "
	"bind listen connect";

static const struct sandbox_rule opener_limited[] = {
	{ .name = NULL },
};

static const struct sandbox_rules rules[] = {
	[SANDBOX_MAIN] = { deadly,
			   absent,
			   { common, main_allowed },
			   { common_limited, main_limited } },
	[SANDBOX_OPENER] = { deadly,
			     absent,
			     { common, opener_allowed },
			     { common_limited, opener_limited } },
};
static_assert(ARRAY_LEN(rules) == SANDBOX_PROFILE_COUNT,
	      "a profile has no rules");

const struct sandbox_rules *
sandbox_rules_of(enum sandbox_profile profile)
{
	return &rules[profile];
}
