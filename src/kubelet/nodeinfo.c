/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/nodeinfo.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "kube/conditions.h"
#include "kubelet/settings.h"
#include "meta/time.h"
#include "version.h"

/* How many pods may use a device that is not used up, as KubeVirt says. */
#define DEVICE_COUNT "1k"
/* Kept from pods for the node's own programs. */
#define RESERVED_BYTES (UINT64_C(256) * 1024 * 1024)
#define SMALL_FILE 4096
#define HUGEPAGES "/sys/kernel/mm/hugepages"

/* "HOST" and "PORT" of "https://HOST:PORT/..."; both to be freed. */
static int
split_url(const char *url, char **ret_host, char **ret_port)
{
	const char *from = strstr(url, "://");
	const char *end, *colon;

	if (from == NULL)
		return -1;
	from += 3;
	end = from + strcspn(from, "/");
	if (*from == '[') {
		const char *close = strchr(from, ']');

		if (close == NULL)
			return -1;
		*ret_host = xstrndup(from + 1, (size_t)(close - from - 1));
		colon = close[1] == ':' ? close + 1 : NULL;
	} else {
		colon = memchr(from, ':', (size_t)(end - from));
		*ret_host = xstrndup(
			from, (size_t)((colon == NULL ? end : colon) - from));
	}
	*ret_port = colon == NULL
			    ? xstrdup("443")
			    : xstrndup(colon + 1, (size_t)(end - colon - 1));
	return 0;
}

int
nodeinfo_find_ip(const char *server, char **ret_ip, struct err *err)
{
	AUTO(free_ptr) char *host = NULL;
	AUTO(free_ptr) char *port = NULL;
	AUTO(close_fd) int fd = -1;
	const struct addrinfo hints = { .ai_socktype = SOCK_DGRAM };
	struct addrinfo *found = NULL;
	struct sockaddr_storage own;
	socklen_t len = sizeof(own);
	char text[INET6_ADDRSTRLEN];
	int r;

	if (split_url(server, &host, &port) == -1)
		return err_set(err, ERR_INVALID, "server '%s' is no URL",
			       server);
	r = getaddrinfo(host, port, &hints, &found);
	if (r != 0)
		return err_set(err, ERR_UNAVAILABLE,
			       "cannot find the address of '%s': %s", host,
			       gai_strerror(r));
	fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	r = fd == -1 ? -1 : connect(fd, found->ai_addr, found->ai_addrlen);
	freeaddrinfo(found);
	if (r == -1 || getsockname(fd, (struct sockaddr *)&own, &len) == -1 ||
	    getnameinfo((struct sockaddr *)&own, len, text, sizeof(text), NULL,
			0, NI_NUMERICHOST) != 0)
		return err_errno(err, "no way to '%s' (give --node-ip)", host);
	*ret_ip = xstrdup(text);
	return 0;
}

static const char *
go_arch(const char *machine)
{
	static const struct {
		const char *machine, *arch;
	} names[] = {
		{ "x86_64", "amd64" },    { "aarch64", "arm64" },
		{ "s390x", "s390x" },     { "ppc64le", "ppc64le" },
		{ "riscv64", "riscv64" },
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		if (str_equal(machine, names[i].machine))
			return names[i].arch;
	}
	return machine;
}

json_t *
nodeinfo_labels(const struct settings *settings)
{
	struct utsname host;
	const char *arch;
	json_t *labels;

	(void)uname(&host);
	arch = go_arch(host.machine);
	labels =
		json_pack("{s:s, s:s, s:s, s:s, s:s}", "kubernetes.io/hostname",
			  settings->node_name, "kubernetes.io/os", "linux",
			  "kubernetes.io/arch", arch, "beta.kubernetes.io/os",
			  "linux", "beta.kubernetes.io/arch", arch);
	for (size_t i = 0; i < settings->node_labels.count; i++) {
		const char *label = settings->node_labels.value[i];
		const char *equal = strchr(label, '=');
		AUTO(free_ptr)
		char *key = equal == NULL
				    ? xstrdup(label)
				    : xstrndup(label, (size_t)(equal - label));

		(void)json_object_set_new(
			labels, key,
			json_string(equal == NULL ? "" : equal + 1));
	}
	return labels;
}

static uint64_t
read_number(const char *path)
{
	AUTO(free_ptr) char *text = NULL;
	struct err ignored;
	size_t len;

	if (path_read_file(path, SMALL_FILE, &text, &len, &ignored) == -1)
		return 0;
	return strtoull(text, NULL, 10);
}

static void
set_ki(json_t *list, const char *name, uint64_t bytes)
{
	(void)json_object_set_new(list, name,
				  json_sprintf("%" PRIu64 "Ki", bytes / 1024));
}

static void
add_hugepages(json_t *list)
{
	static const struct {
		const char *file, *name;
		uint64_t size;
	} sizes[] = {
		{ HUGEPAGES "/hugepages-2048kB/nr_hugepages", "hugepages-2Mi",
		  UINT64_C(2) << 20 },
		{ HUGEPAGES "/hugepages-1048576kB/nr_hugepages",
		  "hugepages-1Gi", UINT64_C(1) << 30 },
	};

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		if (access(sizes[i].file, F_OK) == 0)
			set_ki(list, sizes[i].name,
			       read_number(sizes[i].file) * sizes[i].size);
	}
}

static bool
opens(const char *path)
{
	AUTO(close_fd)
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd != -1;
}

static void
add_devices(const struct settings *settings, json_t *list)
{
	if (opens("/dev/net/tun"))
		(void)json_object_set_new(list, "devices.kubevirt.io/tun",
					  json_string(DEVICE_COUNT));
	if (opens("/dev/vhost-net"))
		(void)json_object_set_new(list, "devices.kubevirt.io/vhost-net",
					  json_string(DEVICE_COUNT));
	/* That the file is there says nothing: never opened to find out. */
	if (settings->kvm)
		(void)json_object_set_new(list, "devices.kubevirt.io/kvm",
					  json_string(DEVICE_COUNT));
}

static json_t *
make_capacity(const struct settings *settings)
{
	json_t *list = json_object();
	struct sysinfo memory = { 0 };
	struct statvfs disk = { 0 };
	cpu_set_t cpus;
	int count = 1;

	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		count = CPU_COUNT(&cpus);
	(void)sysinfo(&memory);
	(void)statvfs(settings->root_dir, &disk);
	(void)json_object_set_new(list, "cpu", json_sprintf("%d", count));
	set_ki(list, "memory", (uint64_t)memory.totalram * memory.mem_unit);
	set_ki(list, "ephemeral-storage",
	       (uint64_t)disk.f_blocks * disk.f_frsize);
	(void)json_object_set_new(list, "pods",
				  json_sprintf("%" PRIu64, settings->max_pods));
	add_hugepages(list);
	add_devices(settings, list);
	return list;
}

static json_t *
make_allocatable(const json_t *capacity)
{
	json_t *list = json_deep_copy(capacity);
	uint64_t bytes =
		strtoull(js_str_at(capacity, "memory"), NULL, 10) * 1024;

	if (bytes > 2 * RESERVED_BYTES)
		set_ki(list, "memory", bytes - RESERVED_BYTES);
	return list;
}

static json_t *
make_conditions(const struct nodeinfo *info, const json_t *old)
{
	static const char *const pressures[][3] = {
		{ "MemoryPressure", "KubeletHasSufficientMemory",
		  "kubelet has sufficient memory available" },
		{ "DiskPressure", "KubeletHasNoDiskPressure",
		  "kubelet has no disk pressure" },
		{ "PIDPressure", "KubeletHasSufficientPID",
		  "kubelet has sufficient PID available" },
	};
	const char *problem = info->net_problem;
	const struct condition ready = {
		"Ready", problem == NULL ? "True" : "False",
		problem == NULL ? "KubeletReady" : "KubeletNotReady",
		problem == NULL ? "kubelet is posting ready status" : problem
	};
	json_t *list = json_array();
	char text[TIME_TEXT_SIZE];
	json_t *one;
	size_t i;

	json_array_foreach(js_arr_at(old, "conditions"), i, one)
	{
		(void)json_array_append_new(list, json_deep_copy(one));
	}
	for (i = 0; i < ARRAY_LEN(pressures); i++) {
		const struct condition condition = { pressures[i][0], "False",
						     pressures[i][1],
						     pressures[i][2] };

		(void)condition_set(list, &condition, info->now_us);
	}
	(void)condition_set(list, &ready, info->now_us);
	json_array_foreach(list, i, one)
	{
		(void)json_object_set_new(
			one, "lastHeartbeatTime",
			json_string(time_text(info->now_us, text)));
	}
	return list;
}

/* PRETTY_NAME of /etc/os-release; to be freed. */
static char *
os_image(void)
{
	AUTO(free_ptr) char *text = NULL;
	struct err ignored;
	char *from;
	size_t len;

	if (path_read_file("/etc/os-release", SMALL_FILE, &text, &len,
			   &ignored) == -1 ||
	    (from = strstr(text, "PRETTY_NAME=\"")) == NULL)
		return xstrdup("Linux");
	from += strlen("PRETTY_NAME=\"");
	return xstrndup(from, strcspn(from, "\"\n"));
}

static json_t *
make_info(void)
{
	struct utsname host;
	AUTO(free_ptr) char *machine = NULL;
	AUTO(free_ptr) char *boot = NULL;
	AUTO(free_ptr) char *image = os_image();
	struct err ignored;
	size_t len = 0;

	(void)uname(&host);
	if (path_read_file("/etc/machine-id", SMALL_FILE, &machine, &len,
			   &ignored) == 0)
		machine[strcspn(machine, "\n")] = '\0';
	if (path_read_file("/proc/sys/kernel/random/boot_id", SMALL_FILE, &boot,
			   &len, &ignored) == 0)
		boot[strcspn(boot, "\n")] = '\0';
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}",
			 "machineID", machine == NULL ? "" : machine,
			 "systemUUID", "", "bootID", boot == NULL ? "" : boot,
			 "kernelVersion", host.release, "osImage", image,
			 "containerRuntimeVersion", "crun://", "kubeletVersion",
			 "v" FERRY_VERSION, "kubeProxyVersion", "",
			 "operatingSystem", "linux", "architecture",
			 go_arch(host.machine));
}

json_t *
nodeinfo_status(const struct nodeinfo *info, const json_t *old)
{
	json_t *capacity = make_capacity(info->settings);
	json_t *allocatable = make_allocatable(capacity);

	return json_pack(
		"{s:o, s:o, s:o, s:o, s:[{s:s, s:s}, {s:s, s:s}], "
		"s:{s:{s:i}}}",
		"capacity", capacity, "allocatable", allocatable, "conditions",
		make_conditions(info, old), "nodeInfo", make_info(),
		"addresses", "type", "InternalIP", "address", info->node_ip,
		"type", "Hostname", "address", info->settings->node_name,
		"daemonEndpoints", "kubeletEndpoint", "Port", (int)info->port);
}
