/* SPDX-License-Identifier: Apache-2.0 */

/*
 * kubeload - load for an API server; what it measured is one line of JSON.
 *
 *	kubeload HOST PORT CA CERT KEY ops OP KIND CLIENTS SECONDS|COUNTx
 *	kubeload HOST PORT CA CERT KEY list PATH
 *	kubeload HOST PORT CA CERT KEY watch WATCHERS RATE SECONDS
 *
 * OP is create, update or get; KIND configmap, vmim or vmi. "10000x" means
 * that many operations in all instead of a time. Objects go into the namespace
 * bench, which must exist.
 */

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "../wire.h"
#include "conn.h"

#define CLIENTS_MAX 256
#define SAMPLES_MAX 2000000
#define WRITERS 16
#define NS_PER_S 1000000000ULL

enum op {
	OP_CREATE,
	OP_UPDATE,
	OP_GET,
};

struct run {
	struct conn_context *context;
	enum op op;
	const char *kind;
	uint64_t end_ns;  /* 0: by count */
	uint64_t count;   /* operations in all, when by count */
	uint64_t started; /* atomically */
	pthread_barrier_t ready, go;
};

struct client {
	struct run *run;
	unsigned number;
	pthread_t thread;
	uint64_t done, errors;
	uint32_t *samples; /* microseconds */
	size_t n_samples;
};

static double
to_number(const char *text)
{
	return strtod(text, NULL);
}

static const char *
collection(const char *kind)
{
	if (strcmp(kind, "configmap") == 0)
		return "/api/v1/namespaces/bench/configmaps";
	if (strcmp(kind, "vmim") == 0)
		return "/apis/kubevirt.io/v1/namespaces/bench/"
		       "virtualmachineinstancemigrations";
	if (strcmp(kind, "vmi") == 0)
		return "/apis/kubevirt.io/v1/namespaces/bench/"
		       "virtualmachineinstances";
	die("unknown kind %s", kind);
}

/* About 300 bytes. */
static void
write_configmap(char *out, size_t size, const char *name, uint64_t stamp,
		const char *rv)
{
	(void)snprintf(
		out, size,
		"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
		"\"name\":\"%s\",\"namespace\":\"bench\",\"labels\":{\"app\":"
		"\"bench\"}%s%s%s},\"data\":{\"stamp\":\"%" PRIu64
		"\",\"text\":\"This is some data of about the size that "
		"configuration usually has in a small map.\",\"more\":\"value "
		"of another key\"}}",
		name, *rv == '\0' ? "" : ",\"resourceVersion\":\"", rv,
		*rv == '\0' ? "" : "\"", stamp);
}

/* About 350 bytes. */
static void
write_vmim(char *out, size_t size, const char *name, uint64_t stamp,
	   const char *rv)
{
	(void)snprintf(
		out, size,
		"{\"apiVersion\":\"kubevirt.io/v1\",\"kind\":"
		"\"VirtualMachineInstanceMigration\",\"metadata\":{\"name\":"
		"\"%s\",\"namespace\":\"bench\",\"labels\":{"
		"\"kubevirt.io/vmi-name\":\"vm-%s\"},\"annotations\":{"
		"\"stamp\":\"%" PRIu64
		"\",\"kubevirt.io/latest-observed-api-version\":\"v1\"}%s%s%s},"
		"\"spec\":{\"vmiName\":\"vm-%s\"}}",
		name, name, stamp, *rv == '\0' ? "" : ",\"resourceVersion\":\"",
		rv, *rv == '\0' ? "" : "\"", name);
}

/* 2,400 bytes, with a status as a running machine has it. */
static void
write_vmi(char *out, size_t size, const char *name, uint64_t stamp,
	  const char *rv)
{
	(void)snprintf(
		out, size,
		"{\"apiVersion\":\"kubevirt.io/v1\",\"kind\":"
		"\"VirtualMachineInstance\",\"metadata\":{\"name\":\"%s\","
		"\"namespace\":\"bench\",\"labels\":{\"app\":\"bench\","
		"\"kubevirt.io/domain\":\"%s\",\"kubevirt.io/nodeName\":"
		"\"node-17\"},\"annotations\":{\"stamp\":\"%" PRIu64 "\"}"
		"%s%s%s},\"spec\":{\"domain\":{\"cpu\":{\"cores\":2,"
		"\"sockets\":1,\"threads\":1,\"model\":\"host-model\"},"
		"\"memory\":{\"guest\":\"4Gi\"},\"machine\":{\"type\":\"q35\"},"
		"\"resources\":{\"requests\":{\"cpu\":\"500m\",\"memory\":"
		"\"4Gi\"}},\"firmware\":{\"uuid\":"
		"\"5d307ca9-b3ef-428c-8861-06e72d69f223\"},\"devices\":{"
		"\"disks\":[{\"name\":\"root\",\"disk\":{\"bus\":\"virtio\"},"
		"\"bootOrder\":1},{\"name\":\"data\",\"disk\":{\"bus\":"
		"\"virtio\"}},{\"name\":\"cloudinit\",\"disk\":{\"bus\":"
		"\"virtio\"}}],\"interfaces\":[{\"name\":\"default\","
		"\"masquerade\":{},\"model\":\"virtio\",\"macAddress\":"
		"\"02:00:00:00:00:01\"}],\"rng\":{}}},\"evictionStrategy\":"
		"\"LiveMigrate\",\"terminationGracePeriodSeconds\":180,"
		"\"networks\":[{\"name\":\"default\",\"pod\":{}}],\"volumes\":["
		"{\"name\":\"root\",\"persistentVolumeClaim\":{\"claimName\":"
		"\"%s-root\"}},{\"name\":\"data\",\"persistentVolumeClaim\":{"
		"\"claimName\":\"%s-data\"}},{\"name\":\"cloudinit\","
		"\"cloudInitNoCloud\":{\"userData\":\"#cloud-config\\nhostname:"
		" machine\\nssh_authorized_keys:\\n- ssh-ed25519 AAAAC3NzaC1lZD"
		"I1NTE5AAAAIExampleExampleExampleExampleExampleExampleEx "
		"operator@example\\npackages:\\n- qemu-guest-agent\\n- "
		"curl\\n- "
		"nginx\\nwrite_files:\\n- path: /etc/motd\\n  content: This "
		"machine belongs to the platform team. Ask them before you "
		"change anything on it.\\n- path: /etc/issue\\n  content: "
		"Authorized people only. All activity may be recorded.\\n"
		"runcmd:\\n- systemctl enable --now qemu-guest-agent\\n- "
		"systemctl enable --now nginx\\n- curl -fsS "
		"https://registry.example.org/"
		"announce?name=machine\\n\"}}]},\"status\":{\"phase\":"
		"\"Running\","
		"\"nodeName\":\"node-17\",\"migrationMethod\":"
		"\"LiveMigration\","
		"\"migrationTransport\":\"Unix\",\"qosClass\":\"Burstable\","
		"\"activePods\":{\"0f6d0f3c-93e8-4c2c-8d3f-51b1cbd3d9c4\":"
		"\"node-17\"},\"conditions\":[{\"type\":\"Ready\",\"status\":"
		"\"True\",\"lastProbeTime\":null,\"lastTransitionTime\":"
		"\"2026-11-01T10:00:00Z\"},{\"type\":\"LiveMigratable\","
		"\"status\":\"True\",\"lastProbeTime\":null,"
		"\"lastTransitionTime\":null}],\"interfaces\":[{\"ipAddress\":"
		"\"10.244.3.17\",\"ipAddresses\":[\"10.244.3.17\"],\"mac\":"
		"\"02:00:00:00:00:01\",\"name\":\"default\"}],\"guestOSInfo\":"
		"{\"id\":\"debian\",\"name\":\"Debian GNU/Linux\",\"version\":"
		"\"12\"}}}",
		name, name, stamp, *rv == '\0' ? "" : ",\"resourceVersion\":\"",
		rv, *rv == '\0' ? "" : "\"", name, name);
}

static void
write_body(char *out, size_t size, const char *kind, const char *name,
	   const char *rv)
{
	if (strcmp(kind, "configmap") == 0)
		write_configmap(out, size, name, clock_ns(), rv);
	else if (strcmp(kind, "vmim") == 0)
		write_vmim(out, size, name, clock_ns(), rv);
	else
		write_vmi(out, size, name, clock_ns(), rv);
}

/* The first one in the text; the answers are one object each. */
static void
read_rv(const char *body, char *out, size_t size)
{
	const char *at = strstr(body, "\"resourceVersion\":\"");

	*out = '\0';
	if (at != NULL)
		(void)snprintf(out, size, "%.*s", (int)strcspn(at + 19, "\""),
			       at + 19);
}

static bool
goes_on(struct run *run)
{
	if (run->end_ns != 0)
		return clock_ns() < run->end_ns;
	return __atomic_fetch_add(&run->started, 1, __ATOMIC_RELAXED) <
	       run->count;
}

static void
sample(struct client *client, uint64_t start)
{
	if (client->n_samples < SAMPLES_MAX / CLIENTS_MAX)
		client->samples[client->n_samples++] =
			(uint32_t)((clock_ns() - start) / 1000);
}

static void *
run_client(void *arg)
{
	struct client *client = arg;
	struct run *run = client->run;
	struct conn *conn = conn_open(run->context);
	char name[64], path[256], body[8192], rv[32] = "";
	const char *base = collection(run->kind);
	struct reply reply;

	(void)snprintf(name, sizeof(name), "own-%u-%d", client->number,
		       (int)getpid());
	(void)snprintf(path, sizeof(path), "%s/%s", base, name);
	if (run->op != OP_CREATE) {
		write_body(body, sizeof(body), run->kind, name, "");
		conn_request(conn, "POST", base, body, &reply);
		if (reply.code != 201)
			die("cannot create: %s", reply.body);
		read_rv(reply.body, rv, sizeof(rv));
	}
	pthread_barrier_wait(&run->ready);
	pthread_barrier_wait(&run->go);
	for (uint64_t i = 0; goes_on(run); i++) {
		uint64_t start = clock_ns();
		int want = 200;

		switch (run->op) {
		case OP_CREATE:
			(void)snprintf(name, sizeof(name), "o-%d-%u-%" PRIu64,
				       (int)getpid(), client->number, i);
			write_body(body, sizeof(body), run->kind, name, "");
			conn_request(conn, "POST", base, body, &reply);
			want = 201;
			break;
		case OP_UPDATE:
			write_body(body, sizeof(body), run->kind, name, rv);
			conn_request(conn, "PUT", path, body, &reply);
			read_rv(reply.body, rv, sizeof(rv));
			break;
		case OP_GET:
			conn_request(conn, "GET", path, NULL, &reply);
			break;
		}
		sample(client, start);
		client->done++;
		if (reply.code != want && client->errors++ == 0)
			(void)fprintf(stderr, "%d: %.300s\n", reply.code,
				      reply.body);
	}
	conn_close(conn);
	return NULL;
}

static int
compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static double
percentile_ms(const uint32_t *samples, size_t n, double p)
{
	return n == 0 ? 0 : samples[(size_t)((double)(n - 1) * p)] / 1000.0;
}

static void
report_ops(struct client *clients, unsigned n, double seconds)
{
	uint32_t *all = calloc(SAMPLES_MAX, sizeof(*all));
	uint64_t done = 0, errors = 0;
	size_t count = 0;

	if (all == NULL)
		die("out of memory");
	for (unsigned i = 0; i < n; i++) {
		done += clients[i].done;
		errors += clients[i].errors;
		memcpy(all + count, clients[i].samples,
		       clients[i].n_samples * sizeof(*all));
		count += clients[i].n_samples;
	}
	qsort(all, count, sizeof(*all), compare_u32);
	printf("{\"operations\": %" PRIu64 ", \"errors\": %" PRIu64
	       ", \"seconds\": %.3f, \"p50_ms\": %.3f, \"p99_ms\": %.3f}\n",
	       done, errors, seconds, percentile_ms(all, count, 0.5),
	       percentile_ms(all, count, 0.99));
	free(all);
}

static void
run_ops(struct conn_context *context, char **argv)
{
	static struct client clients[CLIENTS_MAX];
	struct run run = { .context = context, .kind = argv[1] };
	unsigned n = (unsigned)strtoul(argv[2], NULL, 10);
	uint64_t start;

	run.op = strcmp(argv[0], "create") == 0   ? OP_CREATE
		 : strcmp(argv[0], "update") == 0 ? OP_UPDATE
						  : OP_GET;
	if (n == 0 || n > CLIENTS_MAX)
		die("1 to %d clients", CLIENTS_MAX);
	pthread_barrier_init(&run.ready, NULL, n + 1);
	pthread_barrier_init(&run.go, NULL, n + 1);
	for (unsigned i = 0; i < n; i++) {
		clients[i] = (struct client){ .run = &run, .number = i };
		clients[i].samples = calloc(SAMPLES_MAX / CLIENTS_MAX,
					    sizeof(*clients[i].samples));
		if (pthread_create(&clients[i].thread, NULL, run_client,
				   &clients[i]) != 0)
			die("cannot start a thread");
	}
	/* All are connected; nobody looks at the end before they may go. */
	pthread_barrier_wait(&run.ready);
	if (argv[3][strlen(argv[3]) - 1] == 'x')
		run.count = strtoull(argv[3], NULL, 10);
	else
		run.end_ns = clock_ns() +
			     (uint64_t)(to_number(argv[3]) * (double)NS_PER_S);
	start = clock_ns();
	pthread_barrier_wait(&run.go);
	for (unsigned i = 0; i < n; i++)
		pthread_join(clients[i].thread, NULL);
	report_ops(clients, n, (double)(clock_ns() - start) / (double)NS_PER_S);
}

static void
run_list(struct conn_context *context, const char *path)
{
	struct conn *conn = conn_open(context);
	uint64_t start = clock_ns();
	int code;
	size_t len = conn_fetch(conn, path, &code);

	printf("{\"code\": %d, \"bytes\": %zu, \"seconds\": %.4f}\n", code, len,
	       (double)(clock_ns() - start) / (double)NS_PER_S);
	conn_close(conn);
}

struct watching {
	struct conn **conns;
	unsigned n;
	uint32_t *samples; /* microseconds */
	size_t n_samples;
	uint64_t events;
	bool closed;
	volatile bool stop;
};

static void
on_line(const char *line, void *arg)
{
	struct watching *watching = arg;
	const char *at = strstr(line, "\"stamp\":\"");
	uint64_t stamp;

	watching->events++;
	if (at == NULL || watching->n_samples == SAMPLES_MAX)
		return;
	stamp = strtoull(at + 9, NULL, 10);
	watching->samples[watching->n_samples++] =
		(uint32_t)((clock_ns() - stamp) / 1000);
}

static void *
run_watchers(void *arg)
{
	struct watching *watching = arg;
	int epoll = epoll_create1(0);
	struct epoll_event events[64];

	for (unsigned i = 0; i < watching->n; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };

		(void)epoll_ctl(epoll, EPOLL_CTL_ADD,
				conn_fd(watching->conns[i]), &event);
	}
	while (!watching->stop) {
		int n = epoll_wait(epoll, events, 64, 100);

		for (int i = 0; i < n; i++) {
			struct conn *conn = watching->conns[events[i].data.u32];

			if (conn_lines(conn, on_line, watching))
				continue;
			watching->closed = true;
			(void)epoll_ctl(epoll, EPOLL_CTL_DEL, conn_fd(conn),
					NULL);
		}
	}
	(void)close(epoll);
	return NULL;
}

struct writer {
	struct conn_context *context;
	unsigned number;
	double rate; /* of this one, per second */
	uint64_t end_ns;
	uint64_t done;
	pthread_t thread;
};

/* Updates one object at its rate, as far as the server keeps up. */
static void *
run_writer(void *arg)
{
	struct writer *writer = arg;
	struct conn *conn = conn_open(writer->context);
	char name[64], path[256], body[8192], rv[32];
	const char *base = collection("vmim");
	uint64_t step = (uint64_t)((double)NS_PER_S / writer->rate);
	uint64_t next = clock_ns() + step * writer->number / WRITERS;
	struct reply reply;

	(void)snprintf(name, sizeof(name), "w-%d-%u", (int)getpid(),
		       writer->number);
	(void)snprintf(path, sizeof(path), "%s/%s", base, name);
	write_vmim(body, sizeof(body), name, clock_ns(), "");
	conn_request(conn, "POST", base, body, &reply);
	read_rv(reply.body, rv, sizeof(rv));
	while (clock_ns() < writer->end_ns) {
		uint64_t now = clock_ns();

		if (now < next) {
			struct timespec pause = {
				.tv_nsec = (long)((next - now) % NS_PER_S)
			};

			(void)nanosleep(&pause, NULL);
		}
		next += step;
		write_vmim(body, sizeof(body), name, clock_ns(), rv);
		conn_request(conn, "PUT", path, body, &reply);
		if (reply.code != 200)
			die("%d: %.300s", reply.code, reply.body);
		read_rv(reply.body, rv, sizeof(rv));
		writer->done++;
	}
	conn_close(conn);
	return NULL;
}

static void
report_watch(struct watching *watching, uint64_t written, double seconds)
{
	qsort(watching->samples, watching->n_samples,
	      sizeof(*watching->samples), compare_u32);
	printf("{\"written\": %" PRIu64 ", \"seconds\": %.3f, \"events\": "
	       "%" PRIu64 ", \"expected\": %" PRIu64
	       ", \"closed\": %s, \"p50_ms\": %.3f, \"p99_ms\": %.3f}\n",
	       written, seconds, watching->events,
	       (written + WRITERS) * watching->n,
	       watching->closed ? "true" : "false",
	       percentile_ms(watching->samples, watching->n_samples, 0.5),
	       percentile_ms(watching->samples, watching->n_samples, 0.99));
}

static void
run_watch(struct conn_context *context, char **argv)
{
	struct writer writers[WRITERS];
	struct watching watching = { .n = (unsigned)strtoul(argv[0], NULL,
							    10) };
	double rate = to_number(argv[1]), seconds = to_number(argv[2]);
	uint64_t start, written = 0;
	char path[256], rv[32];
	struct reply reply;
	struct conn *conn = conn_open(context);
	pthread_t thread;

	(void)snprintf(path, sizeof(path), "%s?limit=1", collection("vmim"));
	conn_request(conn, "GET", path, NULL, &reply);
	read_rv(reply.body, rv, sizeof(rv));
	(void)snprintf(path, sizeof(path), "%s?watch=true&resourceVersion=%s",
		       collection("vmim"), rv);
	watching.conns = calloc(watching.n, sizeof(struct conn *));
	watching.samples = calloc(SAMPLES_MAX, sizeof(*watching.samples));
	for (unsigned i = 0; i < watching.n; i++) {
		watching.conns[i] = conn_open(context);
		conn_watch(watching.conns[i], path);
	}
	if (pthread_create(&thread, NULL, run_watchers, &watching) != 0)
		die("cannot start a thread");
	start = clock_ns();
	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){
			.context = context,
			.number = i,
			.rate = rate / WRITERS,
			.end_ns =
				start + (uint64_t)(seconds * (double)NS_PER_S),
		};
		if (pthread_create(&writers[i].thread, NULL, run_writer,
				   &writers[i]) != 0)
			die("cannot start a thread");
	}
	for (unsigned i = 0; i < WRITERS; i++) {
		pthread_join(writers[i].thread, NULL);
		written += writers[i].done;
	}
	seconds = (double)(clock_ns() - start) / (double)NS_PER_S;
	/* What is on its way; each look takes a tenth of a second. */
	for (int i = 0;
	     i < 100 && watching.events < (written + WRITERS) * watching.n; i++)
		(void)usleep(100000);
	watching.stop = true;
	pthread_join(thread, NULL);
	report_watch(&watching, written, seconds);
	conn_close(conn);
}

int
main(int argc, char **argv)
{
	struct conn_context *context;

	if (argc < 8)
		die("usage: kubeload HOST PORT CA CERT KEY "
		    "ops|list|watch ...");
	context = conn_context_new(argv[1], argv[2], argv[3], argv[4], argv[5]);
	if (strcmp(argv[6], "ops") == 0 && argc == 11)
		run_ops(context, argv + 7);
	else if (strcmp(argv[6], "list") == 0)
		run_list(context, argv[7]);
	else if (strcmp(argv[6], "watch") == 0 && argc == 10)
		run_watch(context, argv + 7);
	else
		die("unknown measure %s, or arguments are missing", argv[6]);
	return 0;
}
