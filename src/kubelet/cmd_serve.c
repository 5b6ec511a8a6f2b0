/* SPDX-License-Identifier: Apache-2.0 */

/* The command `serve`. */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/err.h"
#include "base/fdlimit.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kubelet/command.h"
#include "kubelet/dirs.h"
#include "kubelet/kubelet.h"
#include "kubelet/logs.h"
#include "kubelet/node.h"
#include "kubelet/nodeinfo.h"
#include "kubelet/pods.h"
#include "kubelet/provision.h"
#include "kubelet/runspace.h"
#include "kubelet/settings.h"
#include "version.h"

#define CA_MAX (1024UL * 1024)
#define MS_PER_S 1000

struct service {
	struct kubelet kubelet;
	struct pods *pods;
	struct logs *logs;
	struct node *node;
	struct provision *provision;
	int lock_fd;
};

/* Absolute and without links, since paths below are opened without any. */
static int
settle_dir(const char **dir, struct err *err)
{
	char *real;

	if (dirs_make_all(*dir, 0755, err) == -1)
		return -1;
	real = realpath(*dir, NULL);
	if (real == NULL)
		return err_errno(err, "cannot resolve '%s'", *dir);
	*dir = real; /* for the life of the process */
	return 0;
}

/*
 * What is mounted and unmounted below must reach the monitors, which have mount
 * namespaces of their own: a volume or namespace that they still had would
 * outlive its pod.
 */
static int
share_dir(const char *dir, struct err *err)
{
	struct statx st;

	if (statx(AT_FDCWD, dir, 0, STATX_BASIC_STATS, &st) == -1)
		return err_errno(err, "cannot look at '%s'", dir);
	if ((st.stx_attributes & STATX_ATTR_MOUNT_ROOT) == 0 &&
	    runspace_mount(dir, dir, NULL, MS_BIND | MS_REC, NULL, err) == -1)
		return -1;
	return runspace_mount("none", dir, NULL, MS_SHARED | MS_REC, NULL, err);
}

/* One kubelet at a time has the directory. */
static int
lock_root(struct service *service, const char *root, struct err *err)
{
	AUTO(free_ptr) char *path = xasprintf("%s/kubelet.lock", root);

	service->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (service->lock_fd == -1)
		return err_errno(err, "cannot open '%s'", path);
	if (flock(service->lock_fd, LOCK_EX | LOCK_NB) == -1)
		return err_errno(err, "another kubelet has '%s'", root);
	return 0;
}

static int
prepare_dirs(struct service *service, struct settings *s, struct err *err)
{
	struct kubelet *k = &service->kubelet;

	if (settle_dir(&s->root_dir, err) == -1 ||
	    settle_dir(&s->run_dir, err) == -1 ||
	    settle_dir(&s->image_dir, err) == -1 ||
	    lock_root(service, s->root_dir, err) == -1 ||
	    share_dir(s->root_dir, err) == -1 ||
	    share_dir(s->run_dir, err) == -1)
		return -1;
	k->pods_dir = xasprintf("%s/pods", s->root_dir);
	k->ns_dir = xasprintf("%s/ns", s->run_dir);
	if (dirs_make_all(k->pods_dir, 0755, err) == -1 ||
	    dirs_make_all(k->ns_dir, 0755, err) == -1)
		return -1;
	k->self = realpath("/proc/self/exe", NULL);
	if (k->self == NULL)
		return err_errno(err, "cannot find this program");
	return 0;
}

static int
connect_api(struct service *service, const struct settings *s, struct err *err)
{
	struct kubelet *k = &service->kubelet;
	struct kube_config *config;

	if (kube_config_load(&s->kube, NULL, &config, err) == -1)
		return -1;
	if (s->node_ip != NULL)
		k->node_ip = xstrdup(s->node_ip);
	else if (nodeinfo_find_ip(config->server, &k->node_ip, err) == -1) {
		kube_config_free(config);
		return -1;
	}
	k->client = kube_client_new(&(struct kube_client_options){
		.loop = k->loop,
		.config = config,
		.user_agent = "ferry-kubelet/" FERRY_VERSION,
	});
	k->events = events_new_for(k->client, "kubelet");
	return 0;
}

/* Serves logs, where there is a certificate to do so with. */
static int
start_logs(struct service *service, const struct settings *s, uint16_t *port,
	   struct err *err)
{
	const struct kube_config *config =
		kube_client_config(service->kubelet.client);
	AUTO(free_ptr) char *ca = NULL;
	size_t len;

	*port = SETTINGS_PORT;
	if (s->tls_cert == NULL)
		return 0;
	if (s->client_ca != NULL) {
		if (path_read_file(s->client_ca, CA_MAX, &ca, &len, err) == -1)
			return -1;
	} else if (config->ca.text != NULL) {
		ca = xstrdup(config->ca.text);
	} else {
		return err_set(err, ERR_INVALID,
			       "--client-ca is missing, and the kubeconfig has "
			       "no authority");
	}
	return logs_start(&service->kubelet, service->pods, ca, &service->logs,
			  port, err);
}

static int
start(struct service *service, struct settings *s, struct err *err)
{
	uint16_t port;

	cgroups_open(&service->kubelet.cgroups);
	if (prepare_dirs(service, s, err) == -1 ||
	    connect_api(service, s, err) == -1 ||
	    pods_start(&service->kubelet, &service->pods, err) == -1 ||
	    start_logs(service, s, &port, err) == -1)
		return -1;
	service->node = node_start(&service->kubelet, port);
	return provision_start(&service->kubelet, &service->provision, err);
}

static void
stop(struct service *service)
{
	struct kubelet *k = &service->kubelet;

	provision_free(service->provision);
	node_free(service->node);
	logs_free(service->logs);
	pods_free(service->pods);
	events_free(k->events);
	kube_client_free(k->client);
	cgroups_close(&k->cgroups);
	close_fd(&service->lock_fd);
	free(k->self);
	free(k->node_ip);
	free(k->pods_dir);
	free(k->ns_dir);
}

static void
on_signal(int signo, void *arg)
{
	log_info(NULL, "stopping: %s; containers run on", strsignal(signo));
	loop_stop(arg);
}

static int
serve(struct settings *s, struct err *err)
{
	struct service service = { .kubelet.settings = s, .lock_fd = -1 };
	struct loop *loop = loop_new();
	struct loop_signal *term = NULL, *intr = NULL;
	int r;

	fdlimit_raise();
	(void)signal(SIGPIPE, SIG_IGN);
	service.kubelet.loop = loop;
	r = start(&service, s, err);
	if (r == 0) {
		log_info(NULL, "node '%s' at %s", s->node_name,
			 service.kubelet.node_ip);
		term = loop_signal_new(loop, SIGTERM, on_signal, loop);
		intr = loop_signal_new(loop, SIGINT, on_signal, loop);
		loop_run(loop);
		loop_signal_free(term);
		loop_signal_free(intr);
	}
	stop(&service);
	/* Pods that went while it was stopping are posted to the loop. */
	loop_poll(loop);
	return r;
}

static int
check(struct settings *s, struct err *err)
{
	static char host[256];
	enum log_level level;
	enum log_format format;

	if (log_level_from_name(s->log_level, &level) == -1)
		return err_set(err, ERR_INVALID,
			       "--log-level: '%s' is none of debug, info, "
			       "warning, error",
			       s->log_level);
	if (log_format_from_name(s->log_format, &format) == -1)
		return err_set(err, ERR_INVALID,
			       "--log-format: '%s' is none of auto, json, "
			       "human",
			       s->log_format);
	if ((s->tls_cert == NULL) != (s->tls_key == NULL))
		return err_set(err, ERR_INVALID,
			       "--tls-cert and --tls-key go together");
	if (s->node_name == NULL) {
		if (gethostname(host, sizeof(host) - 1) == -1)
			return err_errno(err, "cannot get the host name");
		s->node_name = host;
	}
	log_init("ferry-kubelet", level, format);
	return 0;
}

/* What the options say; these are their defaults. */
static struct settings s = {
	.root_dir = SETTINGS_ROOT_DIR,
	.run_dir = SETTINGS_RUN_DIR,
	.image_dir = SETTINGS_IMAGE_DIR,
	.local_dir = SETTINGS_LOCAL_DIR,
	.cni_conf_dir = SETTINGS_CNI_CONF_DIR,
	.cni_bin_dir = SETTINGS_CNI_BIN_DIR,
	.crun = "crun",
	.cgroup = SETTINGS_CGROUP,
	.max_pods = SETTINGS_MAX_PODS,
	.log_max_bytes = UINT64_C(10) * 1024 * 1024,
	.lease_ms = 40 * MS_PER_S,
	.backoff_ms = 10 * MS_PER_S,
	.backoff_max_ms = 300 * MS_PER_S,
	.refresh_ms = 60 * MS_PER_S,
	.log_level = "info",
	.log_format = "auto",
};

static const struct opt table[] = {
	KUBE_FLAGS_OPTS(&s.kube),
	{ "node-name", "NAME", "of the Node (default: the host name)", OPT_STR,
	  &s.node_name, 0, 0 },
	{ "node-ip", "ADDR",
	  "of the node (default: from where the server is reached)", OPT_STR,
	  &s.node_ip, 0, 0 },
	{ "node-label", "KEY=VALUE", "a further label of the Node", OPT_LIST,
	  &s.node_labels, 0, 0 },
	{ "root-dir", "DIR", "pods and their volumes", OPT_STR, &s.root_dir, 0,
	  0 },
	{ "run-dir", "DIR", "what does not outlive a reboot", OPT_STR,
	  &s.run_dir, 0, 0 },
	{ "image-dir", "DIR", "images, by name", OPT_STR, &s.image_dir, 0, 0 },
	{ "local-volume-dir", "DIR",
	  "volumes of the provisioner ferry.io/local", OPT_STR, &s.local_dir, 0,
	  0 },
	{ "shared-volume-dir", "DIR",
	  "volumes of ferry.io/shared, the same on all nodes "
	  "(default: none)",
	  OPT_STR, &s.shared_dir, 0, 0 },
	{ "cni-conf-dir", "DIR", "configuration of the pod network", OPT_STR,
	  &s.cni_conf_dir, 0, 0 },
	{ "cni-bin-dir", "DIR", "network plugins", OPT_STR, &s.cni_bin_dir, 0,
	  0 },
	{ "crun", "PROGRAM", "the container runtime", OPT_STR, &s.crun, 0, 0 },
	{ "cgroup-root", "PATH", "the cgroup of all pods", OPT_STR, &s.cgroup,
	  0, 0 },
	{ "listen", "ADDR:PORT", "for logs (default :10250)", OPT_STR,
	  &s.listen, 0, 0 },
	{ "tls-cert", "FILE",
	  "certificate of the cluster's authority; without it there "
	  "are no logs",
	  OPT_STR, &s.tls_cert, 0, 0 },
	{ "tls-key", "FILE", "its key", OPT_STR, &s.tls_key, 0, 0 },
	{ "client-ca", "FILE",
	  "authority of those who may read logs (default: the "
	  "kubeconfig's)",
	  OPT_STR, &s.client_ca, 0, 0 },
	{ "max-pods", "N", "pods on this node (default 110)", OPT_U64,
	  &s.max_pods, 1, 10000 },
	{ "log-max", "BYTES",
	  "of a container's log, and as much again (default 10Mi)", OPT_BYTES,
	  &s.log_max_bytes, 0, 0 },
	{ "lease", "TIME", "duration of the node's lease (default 40s)", OPT_MS,
	  &s.lease_ms, MS_PER_S, 0 },
	{ "restart-backoff", "TIME",
	  "pause before the second restart, then doubled (default "
	  "10s)",
	  OPT_MS, &s.backoff_ms, 1, 0 },
	{ "restart-backoff-max", "TIME", "no pause is longer (5m)", OPT_MS,
	  &s.backoff_max_ms, 1, 0 },
	{ "volume-refresh", "TIME",
	  "how old volumes of ConfigMaps, Secrets and tokens may be "
	  "(default 1m)",
	  OPT_MS, &s.refresh_ms, 1, 0 },
	{ "hide", "PATH",
	  "not to be seen by containers whose image is the host, besides what "
	  "never is",
	  OPT_LIST, &s.hidden, 0, 0 },
	{ "kvm", NULL, "a vCPU was seen to run: offer /dev/kvm to pods",
	  OPT_FLAG, &s.kvm, 0, 0 },
	{ "log-level", "LEVEL", "debug, info, warning or error", OPT_STR,
	  &s.log_level, 0, 0 },
	{ "log-format", "FORMAT", "auto, json or human", OPT_STR, &s.log_format,
	  0, 0 },
};

int
command_serve(int argc, char **argv)
{
	const struct opts opts = {
		.program = "ferry-kubelet serve",
		.summary = "Runs the pods that are bound to this node.",
		.table = table,
		.count = ARRAY_LEN(table),
	};
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	if (check(&s, &err) == -1)
		return command_error(&err, COMMAND_USAGE);
	if (serve(&s, &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	return 0;
}
