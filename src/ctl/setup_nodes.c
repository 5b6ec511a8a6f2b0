/* SPDX-License-Identifier: Apache-2.0 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/path.h"
#include "ctl/image.h"
#include "ctl/setup.h"
#include "kube/conditions.h"
#include "tls/pki.h"

#define LAUNCHER_IMAGE                                        \
	"ferry/launcher:latest" /* ferry-controller's default \
				 */
#define SCHEDULABLE "kubevirt.io/schedulable"
#define CERT_DAYS 3650
#define TOKEN_SECONDS (10L * 365 * 24 * 3600)
#define PEM_MAX (64UL * 1024)
#define HOST_FACTS_MAX (1024UL * 1024)
#define PROXY_USER "nobody"

int
setup_choose_kvm(enum setup_kvm wish, bool runs, bool vhost_net, bool *ret_uses,
		 struct err *err)
{
	bool uses = wish != SETUP_KVM_NO && runs && vhost_net;

	if (wish == SETUP_KVM_YES && !uses)
		return err_set(err, ERR_UNAVAILABLE,
			       runs ? "--kvm yes: there is no /dev/vhost-net"
				    : "--kvm yes: no vCPU was seen to run on "
				      "/dev/kvm");
	*ret_uses = uses;
	return 0;
}

static int
choose_kvm(struct setup *setup, const char *host_json, struct err *err)
{
	AUTO(free_ptr) char *text = NULL;
	AUTO(js_unref) json_t *facts = NULL;
	size_t len;

	if (path_read_file(host_json, HOST_FACTS_MAX, &text, &len, err) == -1)
		return -1;
	facts = js_parse(text, len, err);
	if (facts == NULL)
		return err_prefix(err, "'%s'", host_json);
	return setup_choose_kvm(setup->kvm, js_bool_at(facts, "kvm", false),
				access("/dev/vhost-net", F_OK) == 0,
				&setup->uses_kvm, err);
}

int
setup_probe(struct setup *setup, struct err *err)
{
	AUTO(free_ptr) char *dir = layout_path(&setup->state->layout, "host");
	AUTO(free_ptr)
	char *mark = layout_path(&setup->state->layout, "host/host.json");
	const char *const argv[] = {
		setup->tools[TOOL_LAUNCHER],
		"probe",
		"--output",
		dir,
		setup->kvm == SETUP_KVM_NO ? NULL : "--try-kvm",
		NULL,
	};

	if (access(mark, F_OK) == -1 && tool_run(argv, NULL, err) == -1)
		return -1;
	return choose_kvm(setup, mark, err);
}

/*
 * The launcher's image: this computer's own file system, with room of its own
 * where libvirt writes, and with users that libvirt insists on.
 */
int
setup_images(struct setup *setup, struct err *err)
{
	static const char passwd[] =
		"root:x:0:0:root:/root:/bin/sh\n"
		"qemu:x:107:107::/:/usr/sbin/nologin\n"
		"libvirt-qemu:x:64055:64055::/:/usr/sbin/nologin\n"
		"nobody:x:65534:65534::/:/usr/sbin/nologin\n";
	static const char group[] = "root:x:0:\nqemu:x:107:\nkvm:x:64056:\n"
				    "libvirt-qemu:x:64055:\nnogroup:x:65534:\n";
	const struct layout *l = &setup->state->layout;
	AUTO(free_ptr) char *images = layout_path(l, "images");
	AUTO(free_ptr) char *host = layout_path(l, "host");
	AUTO(free_ptr) char *passwd_path = layout_path(l, "host/passwd");
	AUTO(free_ptr) char *group_path = layout_path(l, "host/group");
	AUTO(js_unref) json_t *config = NULL;

	if (setup_write(passwd_path, passwd, err) == -1 ||
	    setup_write(group_path, group, err) == -1)
		return -1;
	config = json_pack(
		"{s:[s, s, s, s, s, s, s], s:[{s:s, s:s, s:b}, {s:s, s:s, "
		"s:b}, {s:s, s:s, s:b}, {s:s, s:s, s:b}], s:[s, s]}",
		"tmpfs", "/run", "/tmp", "/var/tmp", "/etc/libvirt",
		"/var/lib/libvirt", "/var/cache/libvirt", "/var/log/libvirt",
		"binds", "source", setup->tools[TOOL_LAUNCHER], "target",
		"/usr/bin/ferry-launcher", "readOnly", 1, "source", host,
		"target", "/var/lib/ferry/host", "readOnly", 1, "source",
		passwd_path, "target", "/etc/passwd", "readOnly", 1, "source",
		group_path, "target", "/etc/group", "readOnly", 1, "devices",
		"/dev/net/tun", "/dev/userfaultfd");
	return image_add_host(images, LAUNCHER_IMAGE,
			      setup->tools[TOOL_LAUNCHER], config, err);
}

/* Certificate and key of the kubelet's server, of the cluster's authority. */
static int
make_serving_cert(const struct layout *l, unsigned node, struct err *err)
{
	AUTO(free_ptr) char *ca_cert = layout_path(l, "cluster/pki/ca.crt");
	AUTO(free_ptr) char *ca_key = layout_path(l, "cluster/pki/ca.key");
	AUTO(free_ptr) char *cert = layout_path(l, "node%u/tls.crt", node);
	AUTO(free_ptr) char *key = layout_path(l, "node%u/tls.key", node);
	AUTO(tls_pki_pem_done) struct tls_pki_pem ca = { 0 };
	AUTO(tls_pki_pem_done) struct tls_pki_pem pem = { 0 };
	char name[LAYOUT_TEXT_SIZE], address[LAYOUT_TEXT_SIZE];
	const char *const names[] = {
		layout_node(node, name),
		layout_address(l, NET_NODES, node, address), NULL
	};
	AUTO(free_ptr) char *user = xasprintf("system:node:%s", name);
	const char *const groups[] = { "system:nodes", NULL };
	struct tls_pki_subject subject = {
		.common_name = user,
		.organizations = groups,
		.names = names,
		.validity = tls_pki_days(CERT_DAYS),
		.usage = TLS_PKI_SERVER,
	};

	if (access(key, F_OK) == 0)
		return 0;
	if (path_read_file(ca_cert, PEM_MAX, &ca.cert, &ca.cert_len, err) ==
		    -1 ||
	    path_read_file(ca_key, PEM_MAX, &ca.key, &ca.key_len, err) == -1 ||
	    tls_pki_make_cert(&ca, &subject, &pem, err) == -1 ||
	    setup_write(cert, pem.cert, err) == -1)
		return -1;
	return setup_write(key, pem.key, err);
}

static int
write_cni(const struct layout *l, unsigned node, struct err *err)
{
	char subnet[LAYOUT_TEXT_SIZE];
	AUTO(free_ptr)
	char *path = layout_path(l, "node%u/cni/10-pods.conflist", node);
	AUTO(free_ptr) char *ipam = layout_path(l, "node%u/ipam", node);
	AUTO(js_unref)
	json_t *conf = json_pack(
		"{s:s, s:s, s:[{s:s, s:s, s:b, s:{s:s, s:s, s:[[{s:s}]], "
		"s:[{s:s}]}}]}",
		"cniVersion", "1.0.0", "name", "pods", "plugins", "type",
		"bridge", "bridge", "cni0", "isGateway", 1, "ipam", "type",
		"host-local", "dataDir", ipam, "ranges", "subnet",
		layout_pods(l, node, subnet), "routes", "dst", "0.0.0.0/0");
	AUTO(free_ptr) char *text = js_text(conf);

	return setup_write(path, text, err);
}

static int
start_kubelet(struct setup *setup, unsigned node, struct err *err)
{
	const struct layout *l = &setup->state->layout;
	const struct {
		const char *option, *path;
	} paths[] = {
		{ "--kubeconfig", "/kubeconfig" },
		{ "--root-dir", "/kubelet" },
		{ "--run-dir", "/run" },
		{ "--local-volume-dir", "/volumes" },
		{ "--cni-conf-dir", "/cni" },
		{ "--tls-cert", "/tls.crt" },
		{ "--tls-key", "/tls.key" },
	};
	char text[LAYOUT_TEXT_SIZE];
	json_t *argv = json_pack("[s, s]", "serve", "--node-name");
	AUTO(free_ptr) char *images = layout_path(l, "images");
	AUTO(free_ptr) char *shared = layout_path(l, "shared");
	AUTO(js_unref) json_t *more = NULL;

	json_array_append_new(argv, json_string(layout_node(node, text)));
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		AUTO(free_ptr)
		char *path = layout_path(l, "node%u%s", node, paths[i].path);

		json_array_append_new(argv, json_string(paths[i].option));
		json_array_append_new(argv, json_string(path));
	}
	/* What is in there is the cluster: its keys, all nodes' volumes. */
	more = json_pack("[s, s, s, s, s, s, s, s, s]", "--hide", l->dir,
			 "--image-dir", images, "--shared-volume-dir", shared,
			 "--cgroup-root", layout_cgroup(l, node, text),
			 "--node-ip");
	json_array_extend(argv, more);
	json_array_append_new(
		argv, json_string(layout_address(l, NET_NODES, node, text)));
	if (setup->uses_kvm)
		json_array_append_new(argv, json_string("--kvm"));
	return setup_start(setup, TOOL_KUBELET, node, argv, err);
}

static int
get_node(struct setup *setup, unsigned node, json_t **ret_node)
{
	char name[LAYOUT_TEXT_SIZE];
	struct kube_request request = {
		.verb = KUBE_GET,
		.resource = &kube_nodes,
		.name = layout_node(node, name),
	};
	struct err err;

	return kubesync_send(setup->kube, &request, ret_node, &err);
}

static int
is_registered(struct setup *setup, unsigned node)
{
	AUTO(js_unref) json_t *object = NULL;

	return get_node(setup, node, &object) == 0;
}

int
setup_kubelets(struct setup *setup, struct err *err)
{
	const struct layout *l = &setup->state->layout;

	for (unsigned node = 1; node <= l->nodes; node++) {
		if (make_serving_cert(l, node, err) == -1 ||
		    write_cni(l, node, err) == -1 ||
		    start_kubelet(setup, node, err) == -1)
			return -1;
	}
	for (unsigned node = 1; node <= l->nodes; node++) {
		if (setup_wait(setup, "the kubelet", TOOL_KUBELET, node,
			       is_registered, err) == -1)
			return -1;
	}
	return 0;
}

static int
make_proxy_keys(struct setup *setup, unsigned node, struct err *err)
{
	const struct layout *l = &setup->state->layout;
	AUTO(free_ptr) char *dir = layout_path(l, "pki");
	AUTO(free_ptr) char *ca = layout_path(l, "pki/ca.key");
	AUTO(free_ptr) char *key = layout_path(l, "pki/node%u.key", node);
	char name[LAYOUT_TEXT_SIZE];
	const char *const make_ca[] = { setup->tools[TOOL_PROXY], "pki", "ca",
					dir, NULL };
	const char *const make_node[] = {
		setup->tools[TOOL_PROXY], "pki", "node", dir,
		layout_node(node, name),  NULL
	};

	if (access(ca, F_OK) == -1 && tool_run(make_ca, NULL, err) == -1)
		return -1;
	if (access(key, F_OK) == 0)
		return 0;
	return tool_run(make_node, NULL, err);
}

static int
start_proxy(struct setup *setup, unsigned node, struct err *err)
{
	const struct layout *l = &setup->state->layout;
	AUTO(free_ptr)
	char *control = layout_path(l, "node%u/proxy.sock", node);
	AUTO(free_ptr) char *cert = layout_path(l, "pki/node%u.crt", node);
	AUTO(free_ptr) char *key = layout_path(l, "pki/node%u.key", node);
	AUTO(free_ptr) char *ca = layout_path(l, "pki/ca.crt");

	return setup_start(setup, TOOL_PROXY, node,
			   json_pack("[s, s, s, s, s, s, s, s, s, s, s, s, s]",
				     "serve", "--control", control, "--cert",
				     cert, "--key-file", key, "--ca", ca,
				     "--user", PROXY_USER, "--bind", "mig0"),
			   err);
}

/* A token that says which node its bearer is on; see docs/api.md. */
static int
make_handler_kubeconfig(struct setup *setup, unsigned node, struct err *err)
{
	const struct layout *l = &setup->state->layout;
	AUTO(free_ptr)
	char *path = layout_path(l, "node%u/handler.kubeconfig", node);
	AUTO(free_ptr) char *ca = layout_path(l, "cluster/pki/ca.crt");
	AUTO(js_unref) json_t *object = NULL;
	AUTO(js_unref) json_t *body = NULL;
	AUTO(js_unref) json_t *answer = NULL;
	AUTO(free_ptr) char *text = NULL;
	char name[LAYOUT_TEXT_SIZE], address[LAYOUT_TEXT_SIZE];
	struct kube_request request = {
		.verb = KUBE_CREATE,
		.path = "/api/v1/namespaces/kubevirt/serviceaccounts/"
			"kubevirt-handler/token",
	};

	if (access(path, F_OK) == 0)
		return 0;
	if (get_node(setup, node, &object) == -1)
		return err_set(err, ERR_NOT_FOUND, "%s is gone",
			       layout_node(node, name));
	body = json_pack("{s:s, s:s, s:{s:I, s:{s:s, s:s, s:s, s:s}}}",
			 "apiVersion", "authentication.k8s.io/v1", "kind",
			 "TokenRequest", "spec", "expirationSeconds",
			 (json_int_t)TOKEN_SECONDS, "boundObjectRef", "kind",
			 "Node", "apiVersion", "v1", "name",
			 layout_node(node, name), "uid",
			 js_str_at(object, "metadata.uid"));
	request.body = body;
	if (kubesync_send(setup->kube, &request, &answer, err) == -1)
		return err_prefix(err, "a token for the handler of %s", name);
	text = xasprintf("apiVersion: v1\nkind: Config\nclusters:\n- name: c\n"
			 "  cluster: {server: 'https://%s:%d', "
			 "certificate-authority: '%s'}\nusers:\n- name: u\n"
			 "  user: {token: '%s'}\ncontexts:\n- name: x\n"
			 "  context: {cluster: c, user: u}\n"
			 "current-context: x\n",
			 layout_address(l, NET_NODES, 0, address),
			 LAYOUT_API_PORT, ca,
			 js_str_at(answer, "status.token"));
	return setup_write(path, text, err);
}

static int
start_handler(struct setup *setup, unsigned node, struct err *err)
{
	const struct layout *l = &setup->state->layout;
	AUTO(free_ptr)
	char *kubeconfig = layout_path(l, "node%u/handler.kubeconfig", node);
	AUTO(free_ptr) char *kubelet = layout_path(l, "node%u/kubelet", node);
	AUTO(free_ptr)
	char *control = layout_path(l, "node%u/proxy.sock", node);
	AUTO(free_ptr) char *host = layout_path(l, "host");
	char name[LAYOUT_TEXT_SIZE], address[LAYOUT_TEXT_SIZE];
	char listen[LAYOUT_LISTEN_SIZE];

	(void)snprintf(listen, sizeof(listen), "%s:%d",
		       layout_address(l, NET_NODES, node, address),
		       LAYOUT_HANDLER_PORT);
	return setup_start(setup, TOOL_HANDLER, node,
			   json_pack("[s, s, s, s, s, s, s, s, s, s, s, s, s]",
				     "serve", "--kubeconfig", kubeconfig,
				     "--node-name", layout_node(node, name),
				     "--kubelet-root", kubelet,
				     "--proxy-control", control, "--host-dir",
				     host, "--listen", listen),
			   err);
}

int
setup_handlers(struct setup *setup, struct err *err)
{
	for (unsigned node = 1; node <= setup->state->layout.nodes; node++) {
		if (make_proxy_keys(setup, node, err) == -1 ||
		    start_proxy(setup, node, err) == -1 ||
		    make_handler_kubeconfig(setup, node, err) == -1 ||
		    start_handler(setup, node, err) == -1)
			return -1;
	}
	return 0;
}

static int
is_schedulable(struct setup *setup, unsigned node)
{
	AUTO(js_unref) json_t *object = NULL;
	const json_t *label;

	if (get_node(setup, node, &object) == -1)
		return 0;
	label = json_object_get(js_obj_at(object, "metadata.labels"),
				SCHEDULABLE);
	return label != NULL &&
	       condition_is_true(js_arr_at(object, "status.conditions"),
				 "Ready");
}

int
setup_wait_nodes(struct setup *setup, struct err *err)
{
	for (unsigned node = 1; node <= setup->state->layout.nodes; node++) {
		if (setup_wait(setup, "the node", TOOL_HANDLER, node,
			       is_schedulable, err) == -1)
			return -1;
	}
	return 0;
}
