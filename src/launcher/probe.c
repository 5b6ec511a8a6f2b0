/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/kvm.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"

/* Memory of the guest: tables of pages at these addresses, then its code. */
#define GUEST_BYTES (2UL * 1024 * 1024)
#define PML4_AT 0x1000U
#define PDPT_AT 0x2000U
#define PD_AT 0x3000U
#define CODE_AT 0x4000U
#define ENTRY_PRESENT 0x3U /* and writable */
#define ENTRY_LARGE 0x80U
/* Registers of a CPU in 64-bit mode. */
#define CR0_64 0x80050033U
#define CR4_64 0x20U
#define EFER_64 0x500U
#define CODE_SEGMENT 11
#define DATA_SEGMENT 3
#define CPU_SECONDS 1 /* for a loop that takes hundredths of one */
#define WAIT_US 2000U
#define HOST_FACTS_MAX (1024UL * 1024)

static const char passwd[] = "root:x:0:0:root:/root:/bin/sh\n"
			     "libvirt-qemu:x:64055:64055::/:/bin/false\n"
			     "qemu:x:107:107::/:/bin/false\n"
			     "nobody:x:65534:65534::/:/bin/false\n";
static const char group[] = "root:x:0:\nlibvirt-qemu:x:64055:\nkvm:x:64056:\n"
			    "qemu:x:107:\nnogroup:x:65534:\n";

/* Directories that libvirt writes to. Those that are not there are made in
 * /run and /var as the host has them. */
static const char *const private_dirs[] = {
	"/run/libvirt",       "/etc/libvirt",     "/var/lib/libvirt",
	"/var/cache/libvirt", "/var/log/libvirt",
};

static const char *const devices[] = { "null",   "zero",    "full",
				       "random", "urandom", "tty" };

static int
mount_tmpfs(const char *path, struct err *err)
{
	(void)mkdir(path, 0755);
	if (mount("tmpfs", path, "tmpfs", MS_NOSUID, "mode=0755") == -1)
		return err_errno(err, "cannot mount on '%s'", path);
	return 0;
}

/* A device or a file, at another place. */
static int
bind_file(const char *from, const char *to, struct err *err)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd != -1)
		(void)close(fd);
	if (mount(from, to, NULL, MS_BIND, NULL) == -1)
		return err_errno(err, "cannot put '%s' at '%s'", from, to);
	return 0;
}

static int
bind_device(const char *name, const char *dir, struct err *err)
{
	AUTO(free_ptr) char *from = xasprintf("/dev/%s", name);
	AUTO(free_ptr) char *to = xasprintf("%s/%s", dir, name);

	return access(from, F_OK) == 0 ? bind_file(from, to, err) : 0;
}

/* Made beside, then moved over /dev. */
static int
make_dev(const char *dir, bool kvm, struct err *err)
{
	AUTO(free_ptr) char *shm = xasprintf("%s/shm", dir);

	if (mount_tmpfs(dir, err) == -1)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
		if (bind_device(devices[i], dir, err) == -1)
			return -1;
	}
	if (kvm && bind_device("kvm", dir, err) == -1)
		return -1;
	(void)mkdir(shm, 01777);
	if (mount(dir, "/dev", NULL, MS_MOVE, NULL) == -1)
		return err_errno(err, "cannot replace /dev");
	return 0;
}

static int
replace_file(const char *dir, const char *path, const char *text,
	     struct err *err)
{
	AUTO(free_ptr)
	char *copy = xasprintf("%s/%s", dir, strrchr(path, '/') + 1);
	AUTO(close_fd) int dir_fd = open(dir, O_PATH | O_CLOEXEC);

	if (path_write_file_at(dir_fd, strrchr(path, '/') + 1, text,
			       strlen(text), 0644, err) == -1)
		return -1;
	return bind_file(copy, path, err);
}

int
probe_apart(int *ret_status, struct err *err)
{
	pid_t pid;

	if (unshare(CLONE_NEWPID) == -1)
		return err_errno(err, "cannot have processes of our own");
	pid = fork();
	if (pid == -1)
		return err_errno(err, "cannot start a process");
	if (pid == 0) {
		/* The first process of the namespace: all others go with it. */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		*ret_status = -1;
		return 0;
	}
	while (waitpid(pid, ret_status, 0) == -1) {
		if (errno != EINTR)
			return err_errno(err, "cannot wait for a process");
	}
	*ret_status = WIFEXITED(*ret_status) ? WEXITSTATUS(*ret_status) : 1;
	return 0;
}

int
probe_enter(bool kvm, struct err *err)
{
	static const char work[] = "/run/libvirt/probe";

	if (unshare(CLONE_NEWNS) == -1 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		return err_errno(err, "cannot have mounts of our own");
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		  NULL) == -1)
		return err_errno(err, "cannot mount on '/proc'");
	for (size_t i = 0; i < ARRAY_LEN(private_dirs); i++) {
		if (mount_tmpfs(private_dirs[i], err) == -1)
			return -1;
	}
	if (mkdir(work, 0755) == -1)
		return err_errno(err, "cannot make '%s'", work);
	if (replace_file("/run/libvirt", "/etc/passwd", passwd, err) == -1 ||
	    replace_file("/run/libvirt", "/etc/group", group, err) == -1)
		return -1;
	return make_dev(work, kvm, err);
}

/*
 * Forty million instructions, then one that ends the run. There are KVMs that
 * execute an instruction and nevertheless cannot run a guest: those that look
 * at each one in the kernel take a microsecond for it.
 */
static const uint8_t guest_code[] = {
	0xb9, 0x00, 0x2d, 0x31, 0x01, /* mov $20000000, %ecx */
	0xff, 0xc9,                   /* dec %ecx */
	0x75, 0xfc,                   /* jnz to dec */
	0xf4,                         /* hlt */
};

static int
make_memory(int vm, struct err *err)
{
	struct kvm_userspace_memory_region region = { .memory_size =
							      GUEST_BYTES };
	uint8_t *memory = mmap(NULL, GUEST_BYTES, PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const uint64_t tables[][2] = {
		{ PML4_AT, PDPT_AT | ENTRY_PRESENT },
		{ PDPT_AT, PD_AT | ENTRY_PRESENT },
		{ PD_AT, ENTRY_LARGE | ENTRY_PRESENT },
	};

	if (memory == MAP_FAILED)
		return err_errno(err, "mmap");
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		memcpy(memory + tables[i][0], &tables[i][1],
		       sizeof(tables[i][1]));
	memcpy(memory + CODE_AT, guest_code, sizeof(guest_code));
	region.userspace_addr = (uintptr_t)memory;
	if (ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region) == -1)
		return err_errno(err, "KVM_SET_USER_MEMORY_REGION");
	return 0;
}

/* In 64-bit mode, as guests are nearly all of their time. */
static int
set_registers(int vcpu, struct err *err)
{
	static const struct kvm_segment code = {
		.limit = UINT32_MAX,
		.selector = 8,
		.present = 1,
		.type = CODE_SEGMENT,
		.s = 1,
		.l = 1,
		.g = 1,
	};
	struct kvm_segment data = code;
	struct kvm_regs regs = { .rip = CODE_AT, .rflags = 2 };
	struct kvm_sregs sregs;

	data.selector = 16;
	data.type = DATA_SEGMENT;
	data.l = 0;
	data.db = 1;
	if (ioctl(vcpu, KVM_GET_SREGS, &sregs) == -1)
		return err_errno(err, "KVM_GET_SREGS");
	sregs.cr0 = CR0_64;
	sregs.cr3 = PML4_AT;
	sregs.cr4 = CR4_64;
	sregs.efer = EFER_64;
	sregs.cs = code;
	sregs.ds = sregs.es = sregs.fs = sregs.gs = sregs.ss = data;
	if (ioctl(vcpu, KVM_SET_SREGS, &sregs) == -1 ||
	    ioctl(vcpu, KVM_SET_REGS, &regs) == -1)
		return err_errno(err, "KVM_SET_REGS");
	return 0;
}

/* So that it may be late on a busy computer, but not slow. */
static void
limit_cpu(void)
{
	const struct rlimit limit = { CPU_SECONDS, CPU_SECONDS };

	(void)setrlimit(RLIMIT_CPU, &limit);
}

static bool
vcpu_runs(void)
{
	int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int vm = kvm == -1 ? -1 : ioctl(kvm, KVM_CREATE_VM, 0);
	int vcpu = vm == -1 ? -1 : ioctl(vm, KVM_CREATE_VCPU, 0);
	int size = kvm == -1 ? -1 : ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	const struct kvm_run *run;
	struct err err;

	if (vcpu == -1 || size <= 0 || make_memory(vm, &err) == -1 ||
	    set_registers(vcpu, &err) == -1)
		return false;
	run = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, vcpu, 0);
	return run != MAP_FAILED && ioctl(vcpu, KVM_RUN, 0) == 0 &&
	       run->exit_reason == KVM_EXIT_HLT;
}

bool
probe_kvm(uint64_t timeout_ms)
{
	uint64_t deadline_ms = loop_now_ms() + timeout_ms;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		limit_cpu();
		_exit(vcpu_runs() ? 0 : 1);
	}
	while (pid > 0 && loop_now_ms() < deadline_ms) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return WIFEXITED(status) && WEXITSTATUS(status) == 0;
		(void)usleep(WAIT_US);
	}
	if (pid > 0) {
		/* One that hangs in the kernel is not waited for. */
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, &status, WNOHANG);
	}
	return false;
}

bool
probe_known_kvm(const char *host_dir, bool look)
{
	AUTO(free_ptr) char *path = xasprintf("%s/host.json", host_dir);
	AUTO(free_ptr) char *text = NULL;
	AUTO(js_unref) json_t *facts = NULL;
	struct err err;
	size_t len;

	if (access("/dev/kvm", R_OK | W_OK) == -1)
		return false;
	if (path_read_file(path, HOST_FACTS_MAX, &text, &len, &err) == -1)
		return look && probe_kvm(PROBE_KVM_TIMEOUT_MS);
	facts = js_parse(text, len, &err);
	return js_bool_at(facts, "kvm", false);
}
