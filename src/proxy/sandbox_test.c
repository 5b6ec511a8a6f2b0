/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/err.h"

#define USER "nobody" /* every Debian has it */

/* In a child: the first thing that is not so ends it. */
#define CHECK(what)                                                            \
	do {                                                                   \
		if (!(what)) {                                                 \
			(void)fprintf(stderr, "# line %d: %s: %m\n", __LINE__, \
				      #what);                                  \
			_exit(1);                                              \
		}                                                              \
	} while (0)

/* Runs fn in a process of its own, whose fate is returned. */
static int
run_child(void (*fn)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		fn();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
expect_survives(void (*fn)(void))
{
	int status = run_child(fn);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Where there is a filter, fn dies of it. */
static void
expect_killed(void (*fn)(void))
{
	int status = run_child(fn);

	if (!sandbox_has_seccomp())
		return;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSYS);
}

static struct sandbox
check_user(void)
{
	struct sandbox sandbox;
	struct err err;

	CHECK(sandbox_check_user(geteuid() == 0 ? USER : NULL, &sandbox,
				 &err) == 0);
	return sandbox;
}

static void
test_root_must_name_a_user_who_is_not_root(void **state)
{
	struct sandbox sandbox;
	struct err err;

	(void)state;
	assert_int_equal(sandbox_check_user("no-such-user-x", &sandbox, &err),
			 -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.text, "no-such-user-x"));
	assert_int_equal(sandbox_check_user("root", &sandbox, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.text, "--user"));
	if (geteuid() != 0) {
		assert_int_equal(sandbox_check_user(NULL, &sandbox, &err), 0);
		assert_int_equal(sandbox.uid, geteuid());
		assert_false(sandbox.change_user);
		return;
	}
	assert_int_equal(sandbox_check_user(NULL, &sandbox, &err), -1);
	assert_int_equal(err.kind, ERR_INVALID);
	assert_non_null(strstr(err.text, "--user"));
	assert_int_equal(sandbox_check_user(USER, &sandbox, &err), 0);
	assert_string_equal(sandbox.user, USER);
	assert_true(sandbox.uid != 0);
	assert_true(sandbox.change_user);
}

static void
become_other(void)
{
	struct sandbox sandbox = check_user();
	struct err err;
	uid_t uid[3];

	CHECK(sandbox_drop_user(&sandbox, &err) == 0);
	CHECK(getresuid(&uid[0], &uid[1], &uid[2]) == 0);
	for (int i = 0; i < 3; i++)
		CHECK(uid[i] == sandbox.uid && uid[i] != 0);
	if (sandbox.change_user)
		CHECK(getgroups(0, NULL) == 0);
	CHECK(setuid(0) == -1);
	CHECK(seteuid(0) == -1);
	CHECK(setresuid((uid_t)-1, 0, (uid_t)-1) == -1);
	CHECK(setgid(0) == -1);
	/* Whoever asks again is told that only root can become others. */
	CHECK(sandbox_check_user("daemon", &sandbox, &err) == -1);
	CHECK(err.kind == ERR_INVALID);
}

static void
test_the_way_back_to_root_is_closed(void **state)
{
	(void)state;
	expect_survives(become_other);
}

/* The value of a line of /proc/self/status. */
static uint64_t
status_value(const char *name, int base)
{
	FILE *f = fopen("/proc/self/status", "re");
	uint64_t value = UINT64_MAX;
	char line[256];

	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, name, strlen(name)) == 0)
			value = strtoull(line + strlen(name), NULL, base);
	}
	(void)fclose(f);
	return value;
}

static void
lose_capabilities(void)
{
	struct sandbox sandbox = check_user();
	struct rlimit limit;
	struct err err;
	bool was_root = geteuid() == 0;

	CHECK(sandbox_drop_user(&sandbox, &err) == 0);
	CHECK(sandbox_drop_capabilities(&sandbox, &err) == 0);
	CHECK(sandbox.capabilities_gone);
	CHECK(prctl(PR_GET_DUMPABLE) == 0);
	CHECK(getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_max == 0);
	CHECK(status_value("NoNewPrivs:", 10) == 1);
	CHECK(status_value("CapInh:", 16) == 0);
	CHECK(status_value("CapPrm:", 16) == 0);
	CHECK(status_value("CapEff:", 16) == 0);
	CHECK(status_value("CapAmb:", 16) == 0);
	CHECK(!was_root || status_value("CapBnd:", 16) == 0);
	CHECK(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, 1) == -1);
}

static void
test_no_capability_is_left_in_any_set(void **state)
{
	(void)state;
	expect_survives(lose_capabilities);
}

static void
keep_file_capabilities(void)
{
	uint64_t before = status_value("CapPrm:", 16);
	struct err err;

	CHECK(sandbox_keep_file_capabilities(&err) == 0);
	/* chown, dac_override, dac_read_search, fowner: bits 0 to 3. */
	CHECK(status_value("CapEff:", 16) == (before & 0xf));
	CHECK(status_value("CapPrm:", 16) == (before & 0xf));
	CHECK(status_value("NoNewPrivs:", 10) == 1);
	CHECK(setuid(geteuid() + 1) == -1);
}

static void
test_the_opener_keeps_what_files_take_and_no_more(void **state)
{
	(void)state;
	expect_survives(keep_file_capabilities);
}

static void
enter_landlock(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct sandbox sandbox = check_user();
	struct err err;

	CHECK(fd >= 0);
	CHECK(sandbox_landlock(&sandbox, &err) == 0);
	/* No Landlock is no error, and then nothing is denied. */
	if (sandbox.landlock_abi == 0) {
		CHECK(syscall(SYS_landlock_create_ruleset, NULL, 0, 1) == -1);
		return;
	}
	CHECK(open("/etc/passwd", O_RDONLY | O_CLOEXEC) == -1);
	CHECK(errno == EACCES);
	CHECK(open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC) == -1);
	CHECK(open("/tmp/ferry-x", O_CREAT | O_WRONLY | O_CLOEXEC, 0600) == -1);
	CHECK(mkdir("/tmp/ferry-x", 0700) == -1);
	CHECK(execl("/bin/true", "true", NULL) == -1);
	/* What was open goes on working. */
	CHECK(write(fd, "x", 1) == 1);
}

static void
test_landlock_denies_all_files(void **state)
{
	(void)state;
	expect_survives(enter_landlock);
}

/* All stages, as the proxy goes through them. */
static struct sandbox
enter_main(void)
{
	struct sandbox sandbox = check_user();
	struct err err;

	CHECK(sandbox_drop_user(&sandbox, &err) == 0);
	CHECK(sandbox_drop_capabilities(&sandbox, &err) == 0);
	CHECK(sandbox_landlock(&sandbox, &err) == 0);
	CHECK(sandbox_seccomp(&sandbox, SANDBOX_MAIN, &err) == 0);
	CHECK(sandbox.seccomp == sandbox_has_seccomp());
	return sandbox;
}

static void
main_executes(void)
{
	(void)enter_main();
	(void)execl("/bin/true", "true", NULL);
}

static void
main_mounts(void)
{
	(void)enter_main();
	(void)syscall(SYS_mount, NULL, NULL, NULL, 0, NULL);
}

static void
main_traces(void)
{
	(void)enter_main();
	(void)syscall(SYS_ptrace, 0, 0, 0, 0);
}

static void
main_loads_bpf(void)
{
	(void)enter_main();
	(void)syscall(SYS_bpf, 0, NULL, 0);
}

static void
test_what_only_an_intruder_does_ends_the_process(void **state)
{
	(void)state;
	expect_killed(main_executes);
	expect_killed(main_mounts);
	expect_killed(main_traces);
	expect_killed(main_loads_bpf);
}

static void
main_tries_the_rest(void)
{
	static const int families[] = { AF_PACKET, AF_VSOCK, AF_BLUETOOTH };
	void *page;

	(void)enter_main();
	if (!sandbox_has_seccomp())
		return;
	CHECK(syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY) == -1);
	CHECK(errno == EPERM);
	CHECK(syscall(SYS_fork) == -1 && errno == EPERM);
	CHECK(fork() == -1 && errno == EPERM);
	CHECK(kill(getppid(), 0) == -1 && errno == EPERM);
	CHECK(syscall(SYS_tgkill, getppid(), getppid(), 0) == -1);
	for (size_t i = 0; i < 3; i++)
		CHECK(socket(families[i], SOCK_STREAM, 0) == -1 &&
		      errno == EPERM);
	CHECK(socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER) == -1 &&
	      errno == EPERM);
	CHECK(mmap(NULL, 4096, PROT_READ | PROT_EXEC,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(page != MAP_FAILED);
	CHECK(mprotect(page, 4096, PROT_READ | PROT_EXEC) == -1);
	CHECK(prctl(PR_SET_DUMPABLE, 1) == -1);
	CHECK(setuid(0) == -1);
}

static void
test_what_a_relay_does_not_need_is_refused(void **state)
{
	(void)state;
	expect_survives(main_tries_the_rest);
}

static void *
add_one(void *arg)
{
	(void)prctl(PR_SET_NAME, "worker");
	*(int *)arg += 1;
	return NULL;
}

/* One byte from a TCP connection through a pipe. */
static void
relay_a_byte(int family, const void *addr, socklen_t len)
{
	struct sockaddr_storage own;
	socklen_t own_len = sizeof(own);
	int listener, from, to, ends[2];
	char c = 0;

	listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(bind(listener, addr, len) == 0 && listen(listener, 1) == 0);
	CHECK(getsockname(listener, (void *)&own, &own_len) == 0);
	from = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK(connect(from, (void *)&own, own_len) == 0);
	to = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	CHECK(to >= 0 && pipe2(ends, O_CLOEXEC) == 0);
	CHECK(write(from, "b", 1) == 1);
	CHECK(splice(to, NULL, ends[1], NULL, 1, SPLICE_F_MOVE) == 1);
	CHECK(read(ends[0], &c, 1) == 1 && c == 'b');
	CHECK(shutdown(from, SHUT_WR) == 0 && read(to, &c, 1) == 0);
}

static void
main_relays(void)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct epoll_event event = { .events = EPOLLIN };
	struct ifaddrs *list = NULL;
	pthread_t thread;
	int pair[2], loop, n = 0;
	char name[IF_NAMESIZE];
	struct stat st;
	void *memory;

	(void)enter_main();
	relay_a_byte(AF_INET, &v4, sizeof(v4));
	CHECK(getifaddrs(&list) == 0);
	freeifaddrs(list);
	CHECK(if_nametoindex("lo") == 1 && if_indextoname(1, name) != NULL);
	CHECK(pthread_create(&thread, NULL, add_one, &n) == 0);
	CHECK(pthread_join(thread, NULL) == 0 && n == 1);
	CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0);
	loop = epoll_create1(EPOLL_CLOEXEC);
	CHECK(epoll_ctl(loop, EPOLL_CTL_ADD, pair[0], &event) == 0);
	CHECK(write(pair[1], "x", 1) == 1);
	CHECK(epoll_wait(loop, &event, 1, -1) == 1);
	CHECK(fstat(pair[0], &st) == 0);
	CHECK(prctl(PR_GET_SECCOMP) == (sandbox_has_seccomp() ? 2 : 0));
	memory = malloc(16UL << 20);
	CHECK(memory != NULL);
	memset(memory, 1, 16UL << 20);
	free(memory);
}

static void
test_a_relay_finds_all_it_needs(void **state)
{
	(void)state;
	expect_survives(main_relays);
}

static void
main_aborts(void)
{
	(void)enter_main();
	abort();
}

static void
test_an_assertion_still_ends_the_process_as_such(void **state)
{
	int status = run_child(main_aborts);

	(void)state;
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void
opener_works(void)
{
	struct sandbox sandbox = { 0 };
	struct err err;
	int fd;

	CHECK(sandbox_keep_file_capabilities(&err) == 0);
	CHECK(sandbox_seccomp(&sandbox, SANDBOX_OPENER, &err) == 0);
	fd = open("/tmp", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0);
	if (!sandbox_has_seccomp())
		return;
	CHECK(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) == -1);
	CHECK(socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0) == -1);
	CHECK(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0) == -1);
	CHECK(fork() == -1 && errno == EPERM);
	CHECK(syscall(SYS_linkat, fd, "a", fd, "b", 0) == -1 && errno == EPERM);
}

static void
opener_executes(void)
{
	struct sandbox sandbox = { 0 };
	struct err err;

	CHECK(sandbox_seccomp(&sandbox, SANDBOX_OPENER, &err) == 0);
	(void)execl("/bin/true", "true", NULL);
}

static void
test_the_opener_has_files_and_no_network(void **state)
{
	(void)state;
	expect_survives(opener_works);
	expect_killed(opener_executes);
}

static void
describe(void)
{
	struct sandbox sandbox = enter_main();
	json_t *obj = sandbox_describe(&sandbox);
	const char *text;

	text = json_string_value(json_object_get(obj, "user"));
	CHECK(strcmp(text, sandbox.user) == 0 && text[0] != '\0');
	text = json_string_value(json_object_get(obj, "capabilities"));
	CHECK(strcmp(text, "none") == 0);
	text = json_string_value(json_object_get(obj, "seccomp"));
	CHECK(strcmp(text, sandbox_has_seccomp()
				   ? "on"
				   : "off, built with a sanitizer") == 0);
	text = json_string_value(json_object_get(obj, "landlock"));
	CHECK(sandbox.landlock_abi > 0 ? strncmp(text, "abi ", 4) == 0
				       : strcmp(text, "off") == 0);
	json_decref(obj);
}

static void
test_the_description_tells_what_is_so(void **state)
{
	(void)state;
	expect_survives(describe);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_root_must_name_a_user_who_is_not_root),
		cmocka_unit_test(test_the_way_back_to_root_is_closed),
		cmocka_unit_test(test_no_capability_is_left_in_any_set),
		cmocka_unit_test(
			test_the_opener_keeps_what_files_take_and_no_more),
		cmocka_unit_test(test_landlock_denies_all_files),
		cmocka_unit_test(
			test_what_only_an_intruder_does_ends_the_process),
		cmocka_unit_test(test_what_a_relay_does_not_need_is_refused),
		cmocka_unit_test(test_a_relay_finds_all_it_needs),
		cmocka_unit_test(
			test_an_assertion_still_ends_the_process_as_such),
		cmocka_unit_test(test_the_opener_has_files_and_no_network),
		cmocka_unit_test(test_the_description_tells_what_is_so),
	};

	return cmocka_run_group_tests_name("proxy/sandbox", tests, NULL, NULL);
}
