/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/err.h"
#include "base/js.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/path.h"
#include "launcher/children.h"
#include "launcher/command.h"
#include "launcher/files.h"
#include "launcher/libvirtd.h"
#include "launcher/probe.h"
#include "launcher/virtworker.h"
#include "virt/caps.h"
#include "virt/conn.h"

#define DEFAULT_OUTPUT "/var/lib/ferry/host"
#define LIBVIRT_TIMEOUT_MS 120000U
#define CONNECT_PAUSE_US 50000U

struct probe {
	struct loop *loop;
	bool kvm;
	struct virt_caps caps;
	char libvirt[VIRT_VERSION_SIZE], qemu[VIRT_VERSION_SIZE];
	int rc;
	struct err err;
};

static int
ask(struct probe *probe, struct virt_conn *conn, struct err *err)
{
	AUTO(free_ptr) char *host = virt_conn_capabilities(conn, err);
	AUTO(free_ptr) char *domain = NULL;

	if (host == NULL)
		return -1;
	domain = virt_conn_domain_capabilities(
		conn, probe->kvm ? "kvm" : "qemu", err);
	if (domain == NULL)
		return -1;
	if (virt_conn_versions(conn, probe->libvirt, probe->qemu, err) == -1)
		return -1;
	return virt_caps_parse(host, domain, &probe->caps, err);
}

static void
ask_work(struct virtworker *worker, void *arg)
{
	struct probe *probe = arg;
	uint64_t deadline_ms = loop_now_ms() + LIBVIRT_TIMEOUT_MS;
	struct virt_conn *conn;

	while ((probe->rc = virtworker_conn(worker, &conn, &probe->err)) ==
		       -1 &&
	       loop_now_ms() < deadline_ms)
		(void)usleep(CONNECT_PAUSE_US);
	if (probe->rc == 0)
		probe->rc = ask(probe, conn, &probe->err);
}

static void
ask_done(void *arg)
{
	struct probe *probe = arg;

	loop_stop(probe->loop);
}

static json_t *
names(const struct virt_names *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		(void)json_array_append_new(array, json_string(list->items[i]));
	return array;
}

static char *
host_json(const struct probe *probe)
{
	const struct virt_caps *caps = &probe->caps;
	AUTO(js_unref)
	json_t *host = json_pack(
		"{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:b, s:s, s:s}", "arch",
		caps->arch, "cpuVendor", caps->vendor, "hostModel",
		caps->host_model, "hostModelFeatures",
		names(&caps->host_features), "cpuModels", names(&caps->models),
		"cpuFeatures", names(&caps->features), "machines",
		names(&caps->machines), "kvm", probe->kvm, "libvirt",
		probe->libvirt, "qemu", probe->qemu);

	return js_text_sorted(host, NULL);
}

/* host.json last: who sees it sees the rest. */
static int
write_all(const struct probe *probe, const char *output, struct err *err)
{
	AUTO(free_ptr) char *text = host_json(probe);
	AUTO(free_ptr) char *cache = libvirtd_cache_dir(false, "");
	AUTO(free_ptr) char *kept = xasprintf("%s/capabilities", output);
	AUTO(close_fd) int fd = -1;

	/* What libvirt found out about QEMU, for launchers to begin with. */
	if (files_copy_dir(cache, kept, err) == -1)
		return -1;
	fd = open(output, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return err_errno(err, "cannot open '%s'", output);
	return path_write_file_at(fd, "host.json", text, strlen(text), 0644,
				  err);
}

static int
run_libvirt(struct probe *probe, struct err *err)
{
	struct children *children = children_new(probe->loop);
	const struct libvirtd_config config = {
		.loop = probe->loop,
		.children = children,
		.seed_dir = "/nonexistent",
		.private_dir = "/run/ferry-probe",
	};
	struct libvirtd *libvirtd;
	struct virtworker *worker;

	if (libvirtd_start(&config, &libvirtd, err) == -1)
		return -1;
	worker = virtworker_new("probe", probe->loop, libvirtd_uri(false));
	virtworker_do(worker, ask_work, ask_done, probe);
	loop_run(probe->loop);
	virtworker_free(worker);
	libvirtd_stop(libvirtd);
	if (probe->rc == -1)
		*err = probe->err;
	return probe->rc;
}

static int
probe_host(struct probe *probe, const char *output, struct err *err)
{
	if (files_make_dir(output, err) == -1 ||
	    probe_enter(probe->kvm, err) == -1)
		return -1;
	virt_init();
	probe->loop = loop_new();
	if (run_libvirt(probe, err) == -1)
		return -1;
	return write_all(probe, output, err);
}

int
cmd_probe(int argc, char **argv)
{
	const char *output = DEFAULT_OUTPUT;
	bool try_kvm = false;
	const struct opt table[] = {
		{ "output", "DIR", "where to write (" DEFAULT_OUTPUT ")",
		  OPT_STR, &output, 0, 0 },
		{ "try-kvm", NULL, "see whether a vCPU runs on /dev/kvm",
		  OPT_FLAG, &try_kvm, 0, 0 },
	};
	const struct opts opts = {
		.program = "ferry-launcher probe",
		.summary = "Finds out what machines this node can run.",
		.table = table,
		.count = ARRAY_LEN(table),
	};
	struct probe probe = { 0 };
	struct err err;
	int first, status;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	log_init("ferry-launcher", LOG_LEVEL_WARNING, LOG_FORMAT_AUTO);
	probe.kvm = try_kvm && probe_kvm(PROBE_KVM_TIMEOUT_MS);
	if (probe_apart(&status, &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	if (status != -1)
		return status;
	if (probe_host(&probe, output, &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	virt_caps_done(&probe.caps);
	return 0;
}
