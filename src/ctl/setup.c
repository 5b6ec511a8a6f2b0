/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/embed.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "ctl/fabric.h"
#include "ctl/netlock.h"
#include "ctl/spawn.h"
#include "meta/yaml.h"

#define KUBECONFIG_ARGS_MAX 16
#define POLL_NS (100L * 1000 * 1000)
#define ACCOUNT "system:serviceaccount:kubevirt:"
#define TEXT_PORT_SIZE 96

extern const struct embed_file ctl_files[];

int
setup_write(const char *path, const char *text, struct err *err)
{
	AUTO(free_ptr) char *dir = NULL;
	AUTO(close_fd) int fd = -1;
	const char *name;

	if (path_split(path, &dir, &name, err) == -1)
		return -1;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return err_errno(err, "cannot open '%s'", dir);
	return path_write_file_at(fd, name, text, strlen(text), 0600, err);
}

int
setup_start(struct setup *setup, enum tool tool, unsigned node, json_t *argv,
	    struct err *err)
{
	struct spawn_spec spec = {
		.name = tool_name(tool),
		.node = node,
		.argv = argv,
	};
	const json_t *program =
		state_program(setup->state, tool_name(tool), node);
	int result = 0;

	json_array_insert_new(argv, 0, json_string(setup->tools[tool]));
	if (program == NULL || state_running(program) == -1)
		result = spawn_start(setup->state, &spec, err);
	json_decref(argv);
	return result;
}

static bool
has_ended(const struct setup *setup, enum tool tool, unsigned node)
{
	const json_t *program =
		state_program(setup->state, tool_name(tool), node);

	return program == NULL || state_running(program) == -1;
}

int
setup_wait(struct setup *setup, const char *what, enum tool tool, unsigned node,
	   int (*ready)(struct setup *setup, unsigned node), struct err *err)
{
	const struct timespec pause = { .tv_nsec = POLL_NS };
	uint64_t until = loop_now_ms() + SETUP_WAIT_MS;

	while (ready(setup, node) != 1) {
		AUTO(free_ptr) char *log = NULL;
		bool ended = has_ended(setup, tool, node);

		if (!ended && loop_now_ms() < until) {
			(void)nanosleep(&pause, NULL);
			continue;
		}
		log = spawn_log_path(&setup->state->layout, tool_name(tool),
				     node);
		return err_set(err, ended ? ERR_UNAVAILABLE : ERR_TIMEOUT,
			       "%s: %s; see '%s'", what,
			       ended ? "the program has ended"
				     : "not within two minutes",
			       log);
	}
	return 0;
}

static int
find_tools(struct setup *setup, struct err *err)
{
	for (int i = 0; i < TOOL_COUNT; i++) {
		if (setup->tools[i] == NULL &&
		    tool_find((enum tool)i, setup->bin_dir, &setup->tools[i],
			      err) == -1)
			return -1;
	}
	return 0;
}

static int
make_dir(char *path, struct err *err)
{
	int result = 0;

	if (mkdir(path, 0755) == -1 && errno != EEXIST)
		result = err_errno(err, "cannot make '%s'", path);
	free(path);
	return result;
}

static int
make_dirs(struct setup *setup, struct err *err)
{
	static const char *const common[] = { "log",  "shared", "images",
					      "host", "api",    "pki" };
	static const char *const of_node[] = { "",        "/kubelet", "/run",
					       "/images", "/cni",     "/ipam",
					       "/volumes" };
	const struct layout *l = &setup->state->layout;

	for (size_t i = 0; i < ARRAY_LEN(common); i++) {
		if (make_dir(layout_path(l, "%s", common[i]), err) == -1)
			return -1;
	}
	for (unsigned node = 1; node <= l->nodes; node++) {
		for (size_t i = 0; i < ARRAY_LEN(of_node); i++) {
			if (make_dir(layout_path(l, "node%u%s", node,
						 of_node[i]),
				     err) == -1)
				return -1;
		}
	}
	return 0;
}

/* A cluster that was there before keeps its block. */
static int
choose_block(struct state *state, struct err *err)
{
	if (state_has_block(state))
		return fabric_check(&state->layout, err);
	if (fabric_choose(&state->layout, err) == -1)
		return -1;
	return state_keep_block(state, err);
}

/* Alone on this computer until others can see what was chosen. */
static int
network(struct setup *setup, struct err *err)
{
	AUTO(close_fd) int lock = -1;

	if (netlock_take(NETLOCK_PATH, SETUP_WAIT_MS, &lock, err) == -1 ||
	    choose_block(setup->state, err) == -1)
		return -1;
	return fabric_up(&setup->state->layout, err);
}

static int
answers(struct setup *setup, unsigned node)
{
	struct kube_request request = { .verb = KUBE_GET, .path = "/readyz" };
	AUTO(free_ptr)
	char *kubeconfig =
		layout_path(&setup->state->layout, "cluster/admin.kubeconfig");
	struct kube_flags flags = { .kubeconfig = kubeconfig };
	struct err err;

	(void)node;
	if (setup->kube == NULL)
		setup->kube = kubesync_open(&flags, &err);
	return setup->kube != NULL &&
	       kubesync_send(setup->kube, &request, NULL, &err) == 0;
}

static int
start_cluster(struct setup *setup, struct err *err)
{
	const struct layout *l = &setup->state->layout;
	AUTO(free_ptr) char *dir = layout_path(l, "cluster");
	AUTO(free_ptr) char *mark = layout_path(l, "cluster/cluster.json");
	char address[LAYOUT_TEXT_SIZE];
	const char *const init[] = {
		setup->tools[TOOL_CLUSTER],
		"init",
		"--dir",
		dir,
		"--address",
		layout_address(l, NET_NODES, 0, address),
		"--name",
		l->name,
		NULL,
	};

	if (access(mark, F_OK) == -1 && tool_run(init, NULL, err) == -1)
		return -1;
	if (setup_start(setup, TOOL_CLUSTER, 0,
			json_pack("[s, s, s]", "serve", "--dir", dir),
			err) == -1)
		return -1;
	return setup_wait(setup, "the API server", TOOL_CLUSTER, 0, answers,
			  err);
}

/* Groups of those who have an account in the cluster. */
static const char *const account_groups[] = { "system:serviceaccounts",
					      "system:serviceaccounts:kubevirt",
					      NULL };
static const char *const node_groups[] = { "system:nodes", NULL };

/* A kubeconfig with a certificate; kept if it is there already. */
static int
make_kubeconfig(struct setup *setup, const char *path, const char *user,
		const char *const *groups, struct err *err)
{
	AUTO(free_ptr)
	char *dir = layout_path(&setup->state->layout, "cluster");
	AUTO(free_ptr) char *text = NULL;
	const char *argv[KUBECONFIG_ARGS_MAX] = {
		setup->tools[TOOL_CLUSTER],
		"kubeconfig",
		"--dir",
		dir,
		"--user",
		user,
	};
	size_t count = 6;

	if (access(path, F_OK) == 0)
		return 0;
	for (; *groups != NULL; groups++) {
		argv[count++] = "--group";
		argv[count++] = *groups;
	}
	if (tool_run(argv, &text, err) == -1)
		return -1;
	return setup_write(path, text, err);
}

/* What they may do is in the roles that they are deployed with elsewhere. */
static int
make_credentials(struct setup *setup, struct err *err)
{
	const struct layout *l = &setup->state->layout;
	AUTO(free_ptr) char *api = layout_path(l, "api/kubeconfig");
	AUTO(free_ptr)
	char *controller = layout_path(l, "controller.kubeconfig");

	if (make_kubeconfig(setup, api, ACCOUNT "kubevirt-api", account_groups,
			    err) == -1 ||
	    make_kubeconfig(setup, controller, ACCOUNT "kubevirt-controller",
			    account_groups, err) == -1)
		return -1;
	for (unsigned node = 1; node <= l->nodes; node++) {
		AUTO(free_ptr)
		char *path = layout_path(l, "node%u/kubeconfig", node);
		AUTO(free_ptr)
		char *user = xasprintf("system:node:node%u", node);

		if (make_kubeconfig(setup, path, user, node_groups, err) == -1)
			return -1;
	}
	return 0;
}

/* The file says how machines run without KVM. */
static void
set_kvm(json_t *object)
{
	json_t *developer =
		js_obj_at(object, "spec.configuration.developerConfiguration");

	(void)json_object_set_new(developer, "useEmulation", json_false());
}

static int
apply_file(struct setup *setup, const struct embed_file *file, struct err *err)
{
	AUTO(yaml_docs_unref)
	struct yaml_docs *docs = yaml_docs_new(file->data, file->len);
	int more;

	for (;;) {
		AUTO(js_unref) json_t *object = NULL;

		more = yaml_docs_next(docs, &object, err);
		if (more != 1)
			return more;
		if (json_is_null(object))
			continue;
		if (setup->uses_kvm &&
		    str_equal(js_str_at(object, "kind"), "KubeVirt"))
			set_kvm(object);
		if (kubesync_apply(setup->kube, object, err) == -1)
			return -1;
	}
}

static int
apply_objects(struct setup *setup, struct err *err)
{
	for (const struct embed_file *file = ctl_files; file->name != NULL;
	     file++) {
		if (apply_file(setup, file, err) == -1)
			return err_prefix(err, "%s", file->name);
	}
	return 0;
}

static const char *
api_url(const struct layout *l, char text[TEXT_PORT_SIZE])
{
	char address[LAYOUT_TEXT_SIZE];

	(void)snprintf(text, TEXT_PORT_SIZE, "https://%s:%d",
		       layout_address(l, NET_NODES, 0, address),
		       LAYOUT_WEBHOOK_PORT);
	return text;
}

/* A migration of nothing is refused by ferry-api alone. */
static int
admission_answers(struct setup *setup, unsigned node)
{
	static const struct kube_resource migrations = {
		"kubevirt.io", "v1", "virtualmachineinstancemigrations",
		"VirtualMachineInstanceMigration"
	};
	AUTO(js_unref)
	json_t *nothing =
		json_pack("{s:s, s:s, s:{s:s}, s:{s:s}}", "apiVersion",
			  "kubevirt.io/v1", "kind", migrations.kind, "metadata",
			  "name", "nothing", "spec", "vmiName", "nothing");
	struct kube_request request = {
		.verb = KUBE_CREATE,
		.resource = &migrations,
		.ns = "default",
		.body = nothing,
		.dry_run = true,
	};
	struct err err;

	(void)node;
	return kubesync_send(setup->kube, &request, NULL, &err) == -1 &&
	       strstr(err.text, "does not exist") != NULL;
}

static int
start_api(struct setup *setup, struct err *err)
{
	const struct layout *l = &setup->state->layout;
	AUTO(free_ptr) char *dir = layout_path(l, "api");
	AUTO(free_ptr) char *ca = layout_path(l, "api/ca.crt");
	AUTO(free_ptr) char *cert = layout_path(l, "api/tls.crt");
	AUTO(free_ptr) char *key = layout_path(l, "api/tls.key");
	AUTO(free_ptr) char *kubeconfig = layout_path(l, "api/kubeconfig");
	AUTO(free_ptr)
	char *server_ca = layout_path(l, "cluster/pki/front-proxy-ca.crt");
	AUTO(free_ptr) char *manifests = NULL;
	char address[LAYOUT_TEXT_SIZE], url[TEXT_PORT_SIZE];
	const char *const make[] = {
		setup->tools[TOOL_API],
		"certificate",
		"--name",
		layout_address(l, NET_NODES, 0, address),
		dir,
		NULL,
	};
	const char *const print[] = {
		setup->tools[TOOL_API],
		"manifests",
		"--url",
		api_url(l, url),
		"--ca",
		ca,
		NULL,
	};

	if (access(cert, F_OK) == -1 && tool_run(make, NULL, err) == -1)
		return -1;
	/* With its role, which it needs from the beginning. */
	if (tool_run(print, &manifests, err) == -1 ||
	    kubesync_apply_yaml(setup->kube, manifests, strlen(manifests),
				err) == -1 ||
	    setup_start(setup, TOOL_API, 0,
			json_pack("[s, s, s, s, s, s, s, s, s, s, s]", "serve",
				  "--kubeconfig", kubeconfig, "--listen",
				  url + strlen("https://"), "--cert", cert,
				  "--key", key, "--webhook-client-ca",
				  server_ca),
			err) == -1)
		return -1;
	return setup_wait(setup, "admission", TOOL_API, 0, admission_answers,
			  err);
}

static int
start_controller(struct setup *setup, struct err *err)
{
	const struct layout *l = &setup->state->layout;
	AUTO(free_ptr)
	char *kubeconfig = layout_path(l, "controller.kubeconfig");
	char address[LAYOUT_TEXT_SIZE], listen[LAYOUT_LISTEN_SIZE];

	(void)snprintf(listen, sizeof(listen), "%s:%d",
		       layout_address(l, NET_NODES, 0, address),
		       LAYOUT_CONTROLLER_PORT);
	return setup_start(setup, TOOL_CONTROLLER, 0,
			   json_pack("[s, s, s, s, s]", "serve", "--kubeconfig",
				     kubeconfig, "--listen", listen),
			   err);
}

/* The program lists every step; those of nodes are in setup_nodes.c. */
const struct setup_step setup_steps[] = {
	{ "programs", find_tools },
	{ "directories", make_dirs },
	{ "networks", network },
	{ "API server", start_cluster },
	{ "credentials", make_credentials },
	/* Before objects, which are admitted by it where it was once. */
	{ "admission and subresources", start_api },
	/* Before objects, which say how machines run. */
	{ "what machines this computer can run", setup_probe },
	{ "objects", apply_objects },
	{ "controllers", start_controller },
	{ "images", setup_images },
	{ "kubelets", setup_kubelets },
	{ "handlers and proxies", setup_handlers },
	{ "nodes", setup_wait_nodes },
	{ NULL, NULL },
};

void
setup_done(struct setup *setup)
{
	kubesync_free(setup->kube);
	for (size_t i = 0; i < TOOL_COUNT; i++)
		free(setup->tools[i]);
}
