/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/sandbox.h"

#include <assert.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <pwd.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "proxy/sandbox_rules.h"

#ifdef __has_feature
#define HAS_FEATURE(f) __has_feature(f)
#else
#define HAS_FEATURE(f) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) ||       \
	HAS_FEATURE(address_sanitizer) || HAS_FEATURE(thread_sanitizer) || \
	HAS_FEATURE(memory_sanitizer)
#define WITH_SECCOMP false
#else
#define WITH_SECCOMP true
#endif

#define PASSWD_SIZE 16384 /* for one line of the user database */

/* Stage: whom to become. */

static int
find_user(const char *user, struct sandbox *ret, struct err *err)
{
	char buf[PASSWD_SIZE];
	struct passwd pwd, *found = NULL;

	errno = getpwnam_r(user, &pwd, buf, sizeof(buf), &found);
	if (found == NULL)
		return err_set(err, ERR_INVALID,
			       "--user: there is no user '%.64s'", user);
	if (pwd.pw_uid == 0)
		return err_set(err, ERR_INVALID,
			       "--user: '%.64s' is root under another name",
			       user);
	if (strlen(user) >= sizeof(ret->user))
		return err_set(err, ERR_INVALID, "--user: name is too long");
	*ret = (struct sandbox){ .uid = pwd.pw_uid, .gid = pwd.pw_gid };
	memcpy(ret->user, user, strlen(user));
	return 0;
}

static void
describe_self(struct sandbox *ret)
{
	char buf[PASSWD_SIZE];
	struct passwd pwd, *found = NULL;

	*ret = (struct sandbox){ .uid = geteuid(), .gid = getegid() };
	(void)getpwuid_r(ret->uid, &pwd, buf, sizeof(buf), &found);
	if (found != NULL && strlen(pwd.pw_name) < sizeof(ret->user))
		memcpy(ret->user, pwd.pw_name, strlen(pwd.pw_name));
	else
		(void)snprintf(ret->user, sizeof(ret->user), "%u", ret->uid);
}

int
sandbox_check_user(const char *user, struct sandbox *ret_sandbox,
		   struct err *err)
{
	bool root = geteuid() == 0 || getuid() == 0;
	struct sandbox sandbox;

	if (user == NULL && root)
		return err_set(err, ERR_INVALID,
			       "refusing to run as root: name the user to "
			       "become with --user");
	if (user == NULL) {
		describe_self(ret_sandbox);
		return 0;
	}
	if (find_user(user, &sandbox, err) == -1)
		return -1;
	if (!root && sandbox.uid != geteuid())
		return err_set(err, ERR_INVALID,
			       "--user: only root can become '%s'", user);
	sandbox.change_user = root;
	*ret_sandbox = sandbox;
	return 0;
}

/* Stages: the user, the capabilities. */

/*
 * Without CAP_SETPCAP, as in many containers, the set stays as it is; then
 * no_new_privs alone keeps execve(2) from giving anything back.
 */
static int
empty_bounding_set(struct err *err)
{
	for (unsigned long cap = 0;; cap++) {
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0)
			continue;
		/* EINVAL: the kernel's last capability is behind us. */
		if (errno == EPERM || (errno == EINVAL && cap > 0))
			return 0;
		return err_errno(err, "cannot empty the bounding set");
	}
}

/* The way back must be closed, whatever the kernel was told. */
static int
verify_user(const struct sandbox *sandbox, struct err *err)
{
	uid_t uid[3];
	gid_t gid[3];

	if (getresuid(&uid[0], &uid[1], &uid[2]) == -1 ||
	    getresgid(&gid[0], &gid[1], &gid[2]) == -1)
		return err_errno(err, "cannot read the user ids");
	for (int i = 0; i < 3; i++) {
		if (uid[i] != sandbox->uid || gid[i] != sandbox->gid)
			return err_set(err, ERR_INTERNAL, "still not user '%s'",
				       sandbox->user);
	}
	if (setresuid(0, 0, 0) == 0 || setuid(0) == 0 || seteuid(0) == 0)
		return err_set(err, ERR_INTERNAL,
			       "user '%s' can become root again",
			       sandbox->user);
	return 0;
}

int
sandbox_drop_user(struct sandbox *sandbox, struct err *err)
{
	if (!sandbox->change_user)
		return 0;
	if (empty_bounding_set(err) == -1)
		return -1;
	if (setgroups(0, NULL) == -1)
		return err_errno(err, "cannot leave all groups");
	if (setresgid(sandbox->gid, sandbox->gid, sandbox->gid) == -1)
		return err_errno(err, "cannot take group %u", sandbox->gid);
	if (setresuid(sandbox->uid, sandbox->uid, sandbox->uid) == -1)
		return err_errno(err, "cannot become '%s'", sandbox->user);
	return verify_user(sandbox, err);
}

/* Leaves permitted and effective what both they and mask have. */
static int
limit_capabilities(uint64_t mask, struct err *err)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == -1)
		return err_errno(err, "cannot clear ambient capabilities");
	if (syscall(SYS_capget, &header, data) == -1)
		return err_errno(err, "cannot read capabilities");
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(mask >> (32 * i));
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &header, data) == -1)
		return err_errno(err, "cannot set capabilities");
	return 0;
}

static int
have_capabilities(bool *ret_some, struct err *err)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) == -1)
		return err_errno(err, "cannot read capabilities");
	*ret_some = false;
	for (int i = 0; i < 2; i++) {
		if (data[i].permitted || data[i].effective ||
		    data[i].inheritable)
			*ret_some = true;
	}
	return 0;
}

/* Nothing to gain by execve(2), nothing to learn from a core file. */
static int
lock_process(struct err *err)
{
	struct rlimit none = { 0, 0 };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		return err_errno(err, "cannot set no_new_privs");
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == -1)
		return err_errno(err, "cannot forbid tracing");
	if (setrlimit(RLIMIT_CORE, &none) == -1)
		return err_errno(err, "cannot forbid core dumps");
	return 0;
}

int
sandbox_drop_capabilities(struct sandbox *sandbox, struct err *err)
{
	bool some = true;

	if (limit_capabilities(0, err) == -1 || lock_process(err) == -1 ||
	    have_capabilities(&some, err) == -1)
		return -1;
	if (some)
		return err_set(err, ERR_INTERNAL,
			       "capabilities are still there");
	sandbox->capabilities_gone = true;
	return 0;
}

int
sandbox_keep_file_capabilities(struct err *err)
{
	static const unsigned keep[] = { CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
					 CAP_CHOWN, CAP_FOWNER };
	uint64_t mask = 0;

	for (size_t i = 0; i < ARRAY_LEN(keep); i++)
		mask |= 1ULL << keep[i];
	if (empty_bounding_set(err) == -1 ||
	    limit_capabilities(mask, err) == -1)
		return -1;
	return lock_process(err);
}

/* Stage: Landlock. */

/* As the newest kernel knows it; older ones take it while the rest is 0. */
struct ruleset {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
};

/* All the kernel can deny about files, by the version that brought it. */
static const struct {
	int abi;
	uint64_t fs;
	uint64_t scoped;
} landlock_rights[] = {
	{ 1, (1ULL << 13) - 1, 0 }, /* execute ... make symbolic link */
	{ 2, 1ULL << 13, 0 },       /* link or rename across directories */
	{ 3, 1ULL << 14, 0 },       /* truncate */
	{ 5, 1ULL << 15, 0 },       /* ioctl(2) of devices */
	{ 6, 0, 3 },                /* abstract sockets, signals */
};

int
sandbox_landlock(struct sandbox *sandbox, struct err *err)
{
	struct ruleset rules = { 0 };
	AUTO(close_fd) int fd = -1;
	long abi;

	abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
		      LANDLOCK_CREATE_RULESET_VERSION);
	if (abi == -1 && (errno == ENOSYS || errno == EOPNOTSUPP))
		return 0;
	if (abi == -1)
		return err_errno(err, "cannot ask for Landlock");
	for (size_t i = 0; i < ARRAY_LEN(landlock_rights); i++) {
		if (landlock_rights[i].abi <= abi) {
			rules.fs |= landlock_rights[i].fs;
			rules.scoped |= landlock_rights[i].scoped;
		}
	}
	fd = (int)syscall(SYS_landlock_create_ruleset, &rules, sizeof(rules),
			  0);
	if (fd == -1)
		return err_errno(err, "cannot make Landlock rules");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    syscall(SYS_landlock_restrict_self, fd, 0) == -1)
		return err_errno(err, "cannot apply Landlock rules");
	sandbox->landlock_abi = (int)abi;
	return 0;
}

/* Stage: seccomp. The rules are in sandbox_rules.c. */

static int
add_name(scmp_filter_ctx ctx, uint32_t action, const char *name,
	 const struct scmp_arg_cmp *args, unsigned count)
{
	int nr = seccomp_syscall_resolve_name(name);

	/* What the library does not know, this program cannot need. */
	if (nr == __NR_SCMP_ERROR)
		return 0;
	return seccomp_rule_add_array(ctx, action, nr, count, args);
}

static int
add_names(scmp_filter_ctx ctx, uint32_t action, const char *names)
{
	char name[32];
	size_t len;
	int rc;

	for (; *names != '\0'; names += len) {
		len = strcspn(names, " ");
		assert(len > 0 && len < sizeof(name));
		memcpy(name, names, len);
		name[len] = '\0';
		rc = add_name(ctx, action, name, NULL, 0);
		if (rc < 0)
			return rc;
		len += strspn(names + len, " ");
	}
	return 0;
}

static int
add_rules(scmp_filter_ctx ctx, const struct sandbox_rule *rules)
{
	struct scmp_arg_cmp args[SANDBOX_RULE_ARGS];
	unsigned count;
	int rc;

	for (const struct sandbox_rule *r = rules; r->name != NULL; r++) {
		for (count = 0; count < SANDBOX_RULE_ARGS; count++) {
			if (r->args[count].mask == 0)
				break;
			args[count] = (struct scmp_arg_cmp){
				.arg = r->args[count].number,
				.op = SCMP_CMP_MASKED_EQ,
				.datum_a = r->args[count].mask,
				.datum_b = r->args[count].value,
			};
		}
		rc = add_name(ctx, SCMP_ACT_ALLOW, r->name, args, count);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* abort(3) and raise(3), not signals to others. */
static int
add_own_signals(scmp_filter_ctx ctx)
{
	struct scmp_arg_cmp own = { .arg = 0,
				    .op = SCMP_CMP_EQ,
				    .datum_a = (scmp_datum_t)getpid() };

	return add_name(ctx, SCMP_ACT_ALLOW, "tgkill", &own, 1);
}

static int
fill_filter(scmp_filter_ctx ctx, const struct sandbox_rules *rules)
{
	int rc;

	/* A tree instead of a list: calls are what a relay is made of. */
	rc = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (rc == 0)
		rc = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH,
				      SCMP_ACT_KILL_PROCESS);
	if (rc == 0)
		rc = add_names(ctx, SCMP_ACT_KILL_PROCESS, rules->deadly);
	if (rc == 0)
		rc = add_names(ctx, SCMP_ACT_ERRNO(ENOSYS), rules->absent);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(rules->allowed); i++)
		rc = add_names(ctx, SCMP_ACT_ALLOW, rules->allowed[i]);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(rules->limited); i++)
		rc = add_rules(ctx, rules->limited[i]);
	if (rc == 0)
		rc = add_own_signals(ctx);
	return rc;
}

bool
sandbox_has_seccomp(void)
{
	return WITH_SECCOMP;
}

int
sandbox_seccomp(struct sandbox *sandbox, enum sandbox_profile profile,
		struct err *err)
{
	scmp_filter_ctx ctx;
	int rc;

	if (!WITH_SECCOMP)
		return 0;
	ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (ctx == NULL)
		return err_set(err, ERR_INTERNAL,
			       "cannot make a system call filter");
	rc = fill_filter(ctx, sandbox_rules_of(profile));
	if (rc == 0)
		rc = seccomp_load(ctx);
	seccomp_release(ctx);
	if (rc < 0) {
		errno = -rc;
		return err_errno(err, "cannot apply the system call filter");
	}
	sandbox->seccomp = true;
	return 0;
}

json_t *
sandbox_describe(const struct sandbox *sandbox)
{
	json_t *obj = json_object();
	char landlock[16] = "off";
	const char *seccomp = "off";

	if (sandbox->seccomp)
		seccomp = "on";
	else if (!WITH_SECCOMP)
		seccomp = "off, built with a sanitizer";
	if (sandbox->landlock_abi > 0)
		(void)snprintf(landlock, sizeof(landlock), "abi %d",
			       sandbox->landlock_abi);
	(void)json_object_set_new(obj, "user", json_string(sandbox->user));
	(void)json_object_set_new(
		obj, "capabilities",
		json_string(sandbox->capabilities_gone ? "none" : "kept"));
	(void)json_object_set_new(obj, "seccomp", json_string(seccomp));
	(void)json_object_set_new(obj, "landlock", json_string(landlock));
	return obj;
}
