/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The client over HTTP/2, as Kubernetes' own server speaks it: nghttpx stands
 * in front of the test's server, and its log tells what came on which
 * connection.
 */

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/test.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/testapi.h"

#define REQUESTS 30
#define LOG_MAX (1024UL * 1024)
#define EVENT \
	"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\"}}}\n"

static struct testapi api;
static struct kube_client *client;
static char dir[] = "/tmp/kube_http2_XXXXXX";
static char *log_path;
static pid_t proxy;
static unsigned answered;
static unsigned events;

static char *
put(const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", dir, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	return path;
}

static void
run_proxy(int fd, unsigned port)
{
	AUTO(free_ptr) char *cert = put("cert.pem", api.cert.cert);
	AUTO(free_ptr) char *key = put("key.pem", api.cert.key);
	AUTO(free_ptr) char *accept = xasprintf("tcp,%d", fd);
	AUTO(free_ptr)
	char *front = xasprintf("--frontend=127.0.0.1,%u", port);
	AUTO(free_ptr)
	char *back = xasprintf("--backend=127.0.0.1,%u;;tls", api.port);
	AUTO(free_ptr) char *log = xasprintf("--accesslog-file=%s", log_path);

	proxy = fork();
	assert_true(proxy >= 0);
	if (proxy > 0)
		return;
	/* It takes the socket that is listening already. */
	(void)setenv("NGHTTPX_ACCEPT_1", accept, 1);
	(void)execlp("nghttpx", "nghttpx", front, back, log, "--insecure",
		     "--no-ocsp", "--workers=1", "--single-process",
		     "--conf=/dev/null", "--errorlog-file=/dev/null",
		     "--accesslog-format=$alpn $remote_port", key, cert,
		     (char *)NULL);
	_exit(127);
}

static int
setup(void **state)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	struct kube_client_options options = { .user_agent = "test/1" };
	socklen_t len = sizeof(addr);
	unsigned port;
	int fd;

	(void)state;
	testapi_start(&api);
	assert_non_null(mkdtemp(dir));
	log_path = xasprintf("%s/log", dir);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(fd, 64), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
	port = ntohs(addr.sin_port);
	run_proxy(fd, port);
	(void)close(fd);
	options.config = testapi_config(&api);
	free(options.config->server);
	options.config->server = xasprintf("https://127.0.0.1:%u", port);
	client = testapi_client(&api, &options);
	return 0;
}

static int
teardown(void **state)
{
	static const char *const names[] = { "log", "cert.pem", "key.pem" };

	(void)state;
	kube_client_free(client);
	testapi_stop(&api);
	assert_int_equal(kill(proxy, SIGKILL), 0);
	assert_int_equal(waitpid(proxy, NULL, 0), proxy);
	for (size_t i = 0; i < 3; i++) {
		AUTO(free_ptr) char *path = xasprintf("%s/%s", dir, names[i]);

		(void)unlink(path);
	}
	free(log_path);
	return rmdir(dir);
}

static void
on_done(const struct kube_result *result, void *arg)
{
	(void)arg;
	assert_int_equal(result->code, 200);
	answered++;
}

static void
on_event(const char *type, json_t *object, void *arg)
{
	(void)object;
	(void)arg;
	assert_string_equal(type, "ADDED");
	events++;
}

static void
on_end(const struct status *status, void *arg)
{
	(void)arg;
	fail_msg("the watch has ended: %s", status->message);
}

static bool
is_logged(void *arg)
{
	AUTO(free_ptr) char *text = NULL;
	unsigned lines = 0;
	struct err err;
	size_t len;

	(void)arg;
	if (path_read_file(log_path, LOG_MAX, &text, &len, &err) == -1)
		return false;
	for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
		lines++;
	return lines >= REQUESTS + 1;
}

static void
test_requests_and_watches_share_a_connection(void **state)
{
	struct kube_request get = { .resource = &kube_pods, .name = "a" };
	struct kube_watch_request watch = { .resource = &kube_pods,
					    .resource_version = "1",
					    .timeout_s = 300,
					    .event = on_event,
					    .ended = on_end };
	AUTO(free_ptr) char *text = NULL;
	struct kube_watch *open;
	struct err err;
	size_t first;
	size_t len;

	(void)state;
	testapi_say(&api, (struct testapi_step){ .kind = TESTAPI_STREAM,
						 .body = EVENT });
	open = kube_watch_start(client, &watch);
	testapi_until_count(&api, &events, 1);
	for (int i = 0; i < REQUESTS; i++) {
		testapi_say(&api, (struct testapi_step){ .body = "{}" });
		(void)kube_send(client, &get, on_done, NULL);
	}
	testapi_until_count(&api, &answered, REQUESTS);
	/* The watch is still there. */
	testapi_stream(&api, EVENT);
	testapi_until_count(&api, &events, 2);
	/* Which the server learns with the next request. */
	kube_watch_cancel(open);
	testapi_say(&api, (struct testapi_step){ .body = "{}" });
	(void)kube_send(client, &get, on_done, NULL);
	testapi_until_count(&api, &api.gone, 1);
	testapi_until_count(&api, &answered, REQUESTS + 1);
	/* A line for each request that is over, all with one port. */
	testapi_until(&api, is_logged, NULL);
	assert_int_equal(path_read_file(log_path, LOG_MAX, &text, &len, &err),
			 0);
	first = strcspn(text, "\n") + 1;
	assert_true(str_has_prefix(text, "h2 "));
	for (size_t at = first; at + first <= len; at += first)
		assert_memory_equal(text + at, text, first);
	assert_int_equal(len % first, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			test_requests_and_watches_share_a_connection, setup,
			teardown),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	js_init();
	return cmocka_run_group_tests_name("http2", tests, NULL, NULL);
}
