/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/peer.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/test.h"
#include "handler/network/network.h"

#define UID "0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0"
#define OTHER "ffffffff-4f50-6172-8394-a5b6c7d8e9f0"

static void
test_a_pod_is_known_by_the_cgroup_of_its_processes(void **state)
{
	static const char *const inside[] = {
		"0::/kubepods/burstable/pod" UID "/abc\n",
		"0::/../../kubepods/pod" UID "/abc\n",
		"2:memory:/kubepods.slice/kubepods-burstable.slice/"
		"kubepods-burstable-pod0b1c2d3e_4f50_6172_8394_a5b6c7d8e9f0."
		"slice/cri-abc.scope\n",
		"5:cpu:/\n0::/ferry-x-node1/" UID "/compute\n",
	};
	static const char *const outside[] = {
		"",
		"0::/\n",
		"0::/system.slice/sshd.service\n",
		"0::/kubepods/burstable/pod" OTHER "/abc\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(inside) / sizeof(inside[0]); i++)
		assert_true(peer_is_in_pod(inside[i], UID));
	for (size_t i = 0; i < sizeof(outside) / sizeof(outside[0]); i++)
		assert_false(peer_is_in_pod(outside[i], UID));
	/* What is no uid is in no pod. */
	assert_false(peer_is_in_pod("0::/kubepods/pod/abc\n", ""));
	assert_false(peer_is_in_pod("0::/kubepods/pod/abc\n", "pod"));
}

/* A socket that the process of *ret_pid listens on, which has ended unless
 * it is this one. A connection to it. */
static int
connect_to_listener(bool other, pid_t *ret_pid, int *ret_listener)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	socklen_t len = sizeof(sa_family_t); /* the kernel names it */
	int listener = socket(AF_UNIX, SOCK_STREAM, 0);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&addr, len), 0);
	len = sizeof(addr);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&addr, &len),
			 0);
	*ret_pid = other ? fork() : getpid();
	if (*ret_pid == 0)
		_exit(listen(listener, 1) == 0 ? 0 : 1);
	if (other)
		assert_int_equal(waitpid(*ret_pid, NULL, 0), *ret_pid);
	else
		assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, len), 0);
	*ret_listener = listener;
	return fd;
}

static void
expect_refused(int fd, enum err_kind kind)
{
	struct network_pod pod = NETWORK_POD_INIT;
	struct ucred peer;
	struct err err;

	assert_int_equal(peer_open(fd, UID, &peer, &pod, &err), -1);
	assert_int_equal(err.kind, kind);
	assert_int_equal(pod.netns_fd, -1);
}

static void
test_a_process_that_is_in_no_pod_is_no_launcher(void **state)
{
	int listener, fd;
	pid_t pid;

	(void)state;
	fd = connect_to_listener(false, &pid, &listener);
	expect_refused(fd, ERR_DENIED);
	close(fd);
	close(listener);
}

/* -1 where this process may not choose numbers. */
static pid_t
start_with_number(pid_t number)
{
	struct clone_args args = {
		.exit_signal = SIGCHLD,
		.set_tid = (uintptr_t)&number,
		.set_tid_size = 1,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid != 0)
		return pid;
	(void)pause();
	_exit(0);
}

static void
test_a_number_that_another_process_has_now_is_not_believed(void **state)
{
	int listener, fd;
	pid_t pid, heir;

	(void)state;
	fd = connect_to_listener(true, &pid, &listener);
	expect_refused(fd, ERR_NOT_FOUND);
	heir = start_with_number(pid);
	assert_true(heir == pid || errno == EPERM || errno == EEXIST);
	if (heir == pid) {
		expect_refused(fd, ERR_NOT_FOUND);
		assert_int_equal(kill(heir, SIGKILL), 0);
		assert_int_equal(waitpid(heir, NULL, 0), heir);
	}
	close(fd);
	close(listener);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_a_pod_is_known_by_the_cgroup_of_its_processes),
		cmocka_unit_test(
			test_a_process_that_is_in_no_pod_is_no_launcher),
		cmocka_unit_test(
			test_a_number_that_another_process_has_now_is_not_believed),
	};

	return cmocka_run_group_tests_name("peer", tests, NULL, NULL);
}
