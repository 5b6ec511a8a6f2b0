/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/podnet.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/process.h"
#include "base/str.h"
#include "kubelet/attach.h"
#include "kubelet/cni.h"
#include "kubelet/network.h"
#include "kubelet/pod.h"
#include "kubelet/podrefs.h"

#define HELPER_TIMEOUT_MS (60U * 1000)
#define HOSTNAME_MAX 63
/* A plugin that fails to take a network down is asked so often. */
#define DOWN_TRIES 5
#define ARGS_MAX (POD_CONTAINERS_MAX + 8)

#define UP_FAILED "FailedCreatePodSandBox"
#define DOWN_FAILED "FailedKillPod"

static void
fail_up(struct pod *pod, const struct err *err)
{
	/* It may be another definition by then. */
	pod->prepared = false;
	pod_step_done(pod, err, UP_FAILED, "ContainerCreating");
}

/* The parts of a struct network_config that have to be freed. */
struct config_texts {
	char *dir, *netns, *args;
};

static void
texts_done(struct config_texts *texts)
{
	free(texts->dir);
	free(texts->netns);
	free(texts->args);
}

static struct network_config
make_config(const struct pod *pod, struct config_texts *texts)
{
	texts->dir = xasprintf("%s/network", pod->dir);
	texts->netns = xasprintf("%s/network", pod->ns_dir);
	texts->args = xasprintf("IgnoreUnknown=1;K8S_POD_NAMESPACE=%s;"
				"K8S_POD_NAME=%s;"
				"K8S_POD_INFRA_CONTAINER_ID=%s;K8S_POD_UID=%s",
				pod->ns, pod->name, pod->uid, pod->uid);
	return (struct network_config){
		.loop = pod->kubelet->loop,
		.dir = texts->dir,
		.bin_dir = pod->kubelet->settings->cni_bin_dir,
		.container_id = pod->uid,
		.netns = texts->netns,
		.args = texts->args,
	};
}

/* The plugins of a definition; those it only names are in the directory. */
static json_t *
list_of(const struct pod *pod, const json_t *definition, const char *name,
	struct err *err)
{
	const char *text = js_str_at(definition, "spec.config");
	AUTO(js_unref) json_t *config = NULL;

	if (*text == '\0')
		return cni_list_find(pod->kubelet->settings->cni_conf_dir, name,
				     err);
	if (strlen(text) > CNI_CONFIG_MAX) {
		(void)err_set(err, ERR_LIMIT, "network '%s' is too long", name);
		return NULL;
	}
	config = js_parse(text, strlen(text), err);
	return config == NULL ? NULL : cni_list(config, name, err);
}

static int
add_wanted(const struct pod *pod, json_t *all, const json_t *one,
	   struct err *err)
{
	const char *ns = js_str_at(one, "namespace");
	const char *name = js_str_at(one, "name");
	json_t *list =
		list_of(pod, podrefs_network(pod->have, ns, name), name, err);

	if (list == NULL)
		return err_prefix(err, "network '%s/%s'", ns, name);
	return json_array_append_new(
		all, json_pack("{s:s, s:o, s:b, s:s, s:o}", "ifname",
			       js_str_at(one, "ifname"), "network",
			       json_sprintf("%s/%s", ns, name), "default", 0,
			       "mac", js_str_at(one, "mac"), "list", list));
}

/* All networks, as network.h wants them. */
static json_t *
make_wanted(const struct pod *pod, struct err *err)
{
	AUTO(js_unref) json_t *all = json_array();
	AUTO(js_unref) json_t *wanted = attach_wanted(pod->object, err);
	json_t *own;
	const json_t *one;
	size_t i;

	if (wanted == NULL)
		return NULL;
	own = cni_list_load(pod->kubelet->settings->cni_conf_dir, err);
	if (own == NULL)
		return NULL;
	(void)json_array_append_new(
		all, json_pack("{s:s, s:s, s:b, s:s, s:o}", "ifname",
			       ATTACH_DEFAULT_IFNAME, "network",
			       js_str_at(own, "name"), "default", 1, "mac", "",
			       "list", own));
	json_array_foreach(wanted, i, one)
	{
		if (add_wanted(pod, all, one, err) == -1)
			return NULL;
	}
	return TAKE_PTR(all);
}

static void
on_up(const struct err *err, void *arg)
{
	struct pod *pod = arg;

	pod->network_op = NULL;
	if (err != NULL)
		fail_up(pod, err);
	else
		pod_step_done(pod, NULL, NULL, NULL);
}

static void
on_sandbox(const struct process_result *result, void *arg)
{
	struct pod *pod = arg;
	AUTO(texts_done) struct config_texts texts = { 0 };
	AUTO(js_unref) json_t *wanted = NULL;
	struct network_config config;
	struct err err;

	pod->process = NULL;
	if (result->err != NULL) {
		fail_up(pod, result->err);
		return;
	}
	if (js_bool_at(pod->object, "spec.hostNetwork", false)) {
		pod_step_done(pod, NULL, NULL, NULL);
		return;
	}
	wanted = make_wanted(pod, &err);
	if (wanted == NULL) {
		fail_up(pod, &err);
		return;
	}
	config = make_config(pod, &texts);
	pod->network_op = network_up(&config, wanted, on_up, pod);
}

static void
run_self(struct pod *pod, const char *const *argv, process_done_fn *done)
{
	pod->process = process_start(
		pod->kubelet->loop,
		&(struct process_spec){ .argv = argv,
					.timeout_ms = HELPER_TIMEOUT_MS },
		done, pod);
}

static void
on_cleared(const struct process_result *result, void *arg)
{
	struct pod *pod = arg;
	const char *wanted = js_str_at(pod->object, "spec.hostname");
	AUTO(free_ptr)
	char *hostname =
		xstrndup(*wanted == '\0' ? pod->name : wanted, HOSTNAME_MAX);

	pod->process = NULL;
	if (result->err != NULL) {
		fail_up(pod, result->err);
		return;
	}
	run_self(pod,
		 (const char *const[]){ pod->kubelet->self, "sandbox",
					pod->ns_dir, hostname, NULL },
		 on_sandbox);
}

/* In new namespaces everything begins anew, init containers included. */
static void
clear(struct pod *pod)
{
	const char *argv[ARGS_MAX + 1] = { pod->kubelet->self, "remove",
					   pod->ns_dir };
	char *dirs[POD_CONTAINERS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < pod->count; i++) {
		if (!pod->containers[i].init)
			continue;
		dirs[n] = xasprintf("%s/containers/%s", pod->dir,
				    pod->containers[i].name);
		argv[3 + n] = dirs[n];
		n++;
	}
	argv[3 + n] = NULL;
	run_self(pod, argv, on_cleared);
	for (size_t i = 0; i < n; i++)
		free(dirs[i]);
}

static void
on_old_down(const struct err *err, void *arg)
{
	struct pod *pod = arg;

	pod->network_op = NULL;
	if (err != NULL)
		fail_up(pod, err);
	else
		clear(pod);
}

static void
take_down(struct pod *pod, network_done_fn *done)
{
	AUTO(texts_done) struct config_texts texts = { 0 };
	struct network_config config = make_config(pod, &texts);

	pod->network_op =
		network_down(&config, pod->failures >= DOWN_TRIES, done, pod);
}

void
podnet_up(struct pod *pod)
{
	take_down(pod, on_old_down);
}

static void
on_ns_removed(const struct process_result *result, void *arg)
{
	struct pod *pod = arg;

	pod->process = NULL;
	pod_step_done(pod, result->err, DOWN_FAILED, NULL);
}

static void
on_down(const struct err *err, void *arg)
{
	struct pod *pod = arg;

	pod->network_op = NULL;
	if (err != NULL) {
		pod_step_done(pod, err, DOWN_FAILED, NULL);
		return;
	}
	run_self(pod,
		 (const char *const[]){ pod->kubelet->self, "remove",
					pod->ns_dir, NULL },
		 on_ns_removed);
}

void
podnet_down(struct pod *pod)
{
	take_down(pod, on_down);
}
