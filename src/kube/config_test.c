/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/js.h"
#include "base/mem.h"
#include "base/test.h"

static char dir[] = "/tmp/kube_config_XXXXXX";
static struct kube_config *config;
static struct err err;

#define FILES_MAX 32
static char *written[FILES_MAX];
static size_t written_count;

static char *
path_of(const char *name)
{
	return xasprintf("%s/%s", dir, name);
}

static void
put(const char *name, const char *text)
{
	AUTO(free_ptr) char *path = path_of(name);
	AUTO(free_ptr) char *temporary = xasprintf("%s.new", path);
	FILE *file = fopen(temporary, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(temporary, path), 0);
	for (size_t i = 0; i < written_count; i++) {
		if (strcmp(written[i], path) == 0)
			return;
	}
	assert_true(written_count < FILES_MAX);
	written[written_count++] = xstrdup(path);
}

static int
setup(void **state)
{
	(void)state;
	(void)memcpy(dir + strlen(dir) - 6, "XXXXXX", 6);
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int
teardown(void **state)
{
	(void)state;
	kube_config_free(config);
	config = NULL;
	for (size_t i = 0; i < written_count; i++) {
		(void)unlink(written[i]);
		free(written[i]);
	}
	written_count = 0;
	return rmdir(dir);
}

static int
load(const struct kube_flags *flags, const struct kube_places *places)
{
	static const struct kube_places nowhere;

	kube_config_free(config);
	config = NULL;
	return kube_config_load(flags, places != NULL ? places : &nowhere,
				&config, &err);
}

static int
load_file(const char *name)
{
	AUTO(free_ptr) char *path = path_of(name);
	struct kube_flags flags = { .kubeconfig = path };

	return load(&flags, NULL);
}

#define BASIC                                                  \
	"apiVersion: v1\nkind: Config\ncurrent-context: one\n" \
	"contexts:\n"                                          \
	"- name: one\n"                                        \
	"  context: {cluster: c1, user: u1, namespace: w}\n"   \
	"- name: two\n"                                        \
	"  context: {cluster: c2, user: u2}\n"                 \
	"clusters:\n"                                          \
	"- name: c1\n"                                         \
	"  cluster: {server: 'https://h:6443/', "              \
	"certificate-authority: ca.pem, tls-server-name: k}\n" \
	"- name: c2\n"                                         \
	"  cluster: {server: 'https://i', "                    \
	"insecure-skip-tls-verify: true}\n"                    \
	"users:\n"                                             \
	"- name: u1\n"                                         \
	"  user: {client-certificate-data: Q0VSVA==, "         \
	"client-key-data: S0VZ}\n"                             \
	"- name: u2\n"                                         \
	"  user: {token: secret}\n"

static void
test_the_current_context_says_where_and_who(void **state)
{
	(void)state;
	put("config", BASIC);
	put("ca.pem", "CA");
	assert_int_equal(load_file("config"), 0);
	assert_string_equal(config->server, "https://h:6443");
	assert_string_equal(config->ns, "w");
	assert_string_equal(config->context, "one");
	assert_string_equal(config->tls_name, "k");
	assert_string_equal(config->ca.text, "CA");
	assert_string_equal(config->cert.text, "CERT");
	assert_string_equal(config->key.text, "KEY");
	assert_null(config->token.text);
	assert_false(config->insecure);
}

static void
test_flags_override_the_file(void **state)
{
	AUTO(free_ptr) char *path = path_of("config");
	struct kube_flags flags = { .kubeconfig = path, .context = "two" };

	(void)state;
	put("config", BASIC);
	put("ca.pem", "CA");
	assert_int_equal(load(&flags, NULL), 0);
	assert_string_equal(config->server, "https://i");
	assert_string_equal(config->ns, "default");
	assert_string_equal(config->token.text, "secret");
	assert_true(config->insecure);
	flags = (struct kube_flags){ .kubeconfig = path,
				     .server = "http://127.0.0.1:8001",
				     .ns = "x",
				     .token = "t" };
	assert_int_equal(load(&flags, NULL), 0);
	assert_string_equal(config->server, "http://127.0.0.1:8001");
	assert_string_equal(config->ns, "x");
	assert_string_equal(config->token.text, "t");
	/* One is not two people. */
	assert_null(config->cert.text);
}

static void
test_of_several_files_the_first_with_a_name_wins(void **state)
{
	AUTO(free_ptr)
	char *list = xasprintf("%s/none:%s/first::%s/config", dir, dir, dir);
	struct kube_places places = { .kubeconfig_env = list };

	(void)state;
	put("config", BASIC);
	put("ca.pem", "CA");
	put("first", "current-context: two\n"
		     "users:\n- name: u2\n  user: {token: other}\n");
	assert_int_equal(load(NULL, &places), 0);
	assert_string_equal(config->server, "https://i");
	assert_string_equal(config->token.text, "other");
}

static void
test_contexts_of_all_files_are_listed_once(void **state)
{
	AUTO(free_ptr)
	char *list = xasprintf("%s/first:%s/none:%s/second", dir, dir, dir);
	struct kube_places places = { .kubeconfig_env = list };
	const struct kube_flags none = { 0 };
	AUTO(js_unref) json_t *names = NULL;
	AUTO(free_ptr) char *text = NULL;

	(void)state;
	put("first", "contexts:\n- name: b\n  context: {}\n- name: a\n");
	put("second", "contexts:\n- name: a\n- {}\n- name: c\n");
	assert_int_equal(kube_config_contexts(&none, &places, &names, &err), 0);
	text = js_text(names);
	assert_string_equal(text, "[\"b\",\"a\",\"c\"]");
}

static void
test_the_home_directory_is_looked_into(void **state)
{
	AUTO(free_ptr) char *kube = path_of(".kube");
	struct kube_places places = { .home = dir };

	(void)state;
	assert_int_equal(mkdir(kube, 0700), 0);
	put(".kube/config", BASIC);
	put(".kube/ca.pem", "CA");
	assert_int_equal(load(NULL, &places), 0);
	assert_string_equal(config->ca.text, "CA");
	for (size_t i = 0; i < written_count; i++) {
		(void)unlink(written[i]);
		free(written[i]);
	}
	written_count = 0;
	assert_int_equal(rmdir(kube), 0);
}

static void
refused(const char *text, enum err_kind kind, const char *why)
{
	put("bad", text);
	assert_int_equal(load_file("bad"), -1);
	if (strstr(err.text, why) == NULL)
		fail_msg("'%s' has no '%s'", err.text, why);
	assert_int_equal(err.kind, kind);
	assert_null(config);
}

#define ONE(cluster, user)                                        \
	"current-context: a\n"                                    \
	"contexts: [{name: a, context: {cluster: c, user: u}}]\n" \
	"clusters: [{name: c, cluster: {" cluster "}}]\n"         \
	"users: [{name: u, user: {" user "}}]\n"
#define AT "server: 'https://h'"

static void
test_what_ferry_does_not_do_is_refused_by_name(void **state)
{
	(void)state;
	refused(ONE(AT, "exec: {command: aws}"), ERR_INVALID,
		"user 'u' has 'exec', which Ferry does not support");
	refused(ONE(AT, "auth-provider: {name: oidc}"), ERR_INVALID,
		"auth-provider");
	refused(ONE(AT, "username: x, password: y"), ERR_INVALID, "username");
	refused(ONE(AT, "as: somebody"), ERR_INVALID, "'as'");
	refused(ONE(AT ", proxy-url: 'http://p'", ""), ERR_INVALID,
		"cluster 'c' has 'proxy-url'");
}

static void
test_what_is_wrong_is_named(void **state)
{
	(void)state;
	refused("a: [", ERR_INVALID, "bad");
	refused("- a\n", ERR_INVALID, "no mapping");
	refused("kind: Config\n", ERR_NOT_FOUND, "current-context");
	refused("current-context: x\n", ERR_NOT_FOUND, "context 'x'");
	refused(ONE("", ""), ERR_INVALID, "no server");
	refused(ONE("server: h", ""), ERR_INVALID, "'h' is no http");
	refused(ONE(AT, "token: 5"), ERR_INVALID, "token");
	refused(ONE(AT, "client-key-data: S0VZ"), ERR_INVALID, "not both");
	refused(ONE(AT, "client-certificate-data: '%'"), ERR_INVALID,
		"client-certificate-data");
	refused(ONE(AT, "client-certificate: nowhere, client-key: n"),
		ERR_NOT_FOUND, "client-certificate");
	refused(ONE(AT ", certificate-authority-data: Q0E=, "
		       "insecure-skip-tls-verify: true",
		    ""),
		ERR_INVALID, "one of them is wrong");
	assert_int_equal(load_file("missing"), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	assert_int_equal(load(NULL, NULL), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
}

static void
test_a_pod_has_its_service_account(void **state)
{
	struct kube_places places = { .host = "fd00::1",
				      .port = "443",
				      .service_account = dir };

	(void)state;
	assert_int_equal(load(NULL, &places), -1);
	assert_int_equal(err.kind, ERR_NOT_FOUND);
	put("token", " tok\n");
	put("ca.crt", "CA");
	put("namespace", "kubevirt\n");
	assert_int_equal(load(NULL, &places), 0);
	assert_string_equal(config->server, "https://[fd00::1]:443");
	assert_string_equal(config->token.text, "tok");
	assert_string_equal(config->ca.text, "CA");
	assert_string_equal(config->ns, "kubevirt");
	/* A kubeconfig that was asked for comes first. */
	put("bad", "x: 1\n");
	assert_int_equal(load_file("bad"), -1);
}

static void
test_files_that_change_are_read_again(void **state)
{
	struct kube_places places = { .host = "h",
				      .port = "1",
				      .service_account = dir };
	AUTO(free_ptr) char *token = path_of("token");

	(void)state;
	put("token", "one");
	put("ca.crt", "CA");
	assert_int_equal(load(NULL, &places), 0);
	assert_false(kube_config_refresh(config, 5000));
	put("token", "two");
	/* Not looked at so soon. */
	assert_false(kube_config_refresh(config, 5999));
	assert_true(kube_config_refresh(config, 6000));
	assert_string_equal(config->token.text, "two");
	assert_int_equal(config->version, 1);
	/* What is missing or empty for a moment changes nothing. */
	assert_int_equal(unlink(token), 0);
	assert_false(kube_config_refresh(config, 7000));
	put("token", "\n");
	assert_false(kube_config_refresh(config, 8000));
	assert_string_equal(config->token.text, "two");
	put("token", "three");
	assert_true(kube_config_refresh(config, 9000));
	assert_string_equal(config->token.text, "three");
}

static void
test_a_certificate_changes_together_with_its_key(void **state)
{
	AUTO(free_ptr) char *key = path_of("k");

	(void)state;
	put("config", ONE(AT, "client-certificate: c, client-key: k, "
			      "tokenFile: t"));
	put("c", "C1");
	put("k", "K1");
	put("t", "T1");
	assert_int_equal(load_file("config"), 0);
	assert_string_equal(config->token.text, "T1");
	assert_int_equal(unlink(key), 0);
	put("c", "C2");
	assert_false(kube_config_refresh(config, 1000));
	assert_string_equal(config->cert.text, "C1");
	put("k", "K2");
	assert_true(kube_config_refresh(config, 2000));
	assert_string_equal(config->cert.text, "C2");
	assert_string_equal(config->key.text, "K2");
	assert_false(kube_config_refresh(config, 3000));
}

static void
test_the_options_fill_the_flags(void **state)
{
	struct kube_flags flags = { 0 };
	const struct opt table[] = { KUBE_FLAGS_OPTS(&flags) };
	struct opts opts = { .program = "x",
			     .table = table,
			     .count = sizeof(table) / sizeof(table[0]) };
	char *argv[] = { (char[]){ "x" }, (char[]){ "--context=c" },
			 (char[]){ "--namespace=n" }, NULL };
	int first;

	(void)state;
	assert_int_equal(opts_parse(&opts, 3, argv, &first, &err), 0);
	assert_string_equal(flags.context, "c");
	assert_string_equal(flags.ns, "n");
	assert_null(flags.token);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_the_current_context_says_where_and_who),
		TEST(test_flags_override_the_file),
		TEST(test_of_several_files_the_first_with_a_name_wins),
		TEST(test_contexts_of_all_files_are_listed_once),
		TEST(test_the_home_directory_is_looked_into),
		TEST(test_what_ferry_does_not_do_is_refused_by_name),
		TEST(test_what_is_wrong_is_named),
		TEST(test_a_pod_has_its_service_account),
		TEST(test_files_that_change_are_read_again),
		TEST(test_a_certificate_changes_together_with_its_key),
		TEST(test_the_options_fill_the_flags),
	};

	js_init();
	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
