/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_SETTINGS_H
#define KUBELET_SETTINGS_H

/*
 * settings - what an operator says about a node; the same for all its life.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/opts.h"
#include "kube/config.h"

#define SETTINGS_ROOT_DIR "/var/lib/kubelet"
#define SETTINGS_RUN_DIR "/run/ferry-kubelet"
#define SETTINGS_IMAGE_DIR "/var/lib/ferry/images"
#define SETTINGS_LOCAL_DIR "/var/lib/ferry/volumes"
#define SETTINGS_CNI_CONF_DIR "/etc/cni/net.d"
#define SETTINGS_CNI_BIN_DIR "/usr/lib/cni"
#define SETTINGS_PORT 10250
#define SETTINGS_CGROUP "/ferry-kubelet"
#define SETTINGS_MAX_PODS 110

struct settings {
	struct kube_flags kube;
	const char *node_name;
	const char *node_ip; /* NULL: that of the interface that routes out */
	struct opts_list node_labels; /* KEY=VALUE */
	const char *root_dir;
	const char *run_dir;
	const char *image_dir;
	const char *local_dir;
	const char *shared_dir; /* NULL: there is none */
	const char *cni_conf_dir;
	const char *cni_bin_dir;
	const char *crun;
	const char *cgroup;
	const char *listen; /* NULL: all addresses, SETTINGS_PORT */
	const char *tls_cert;
	const char *tls_key;
	const char *client_ca; /* NULL: the kubeconfig's */
	uint64_t max_pods;
	uint64_t log_max_bytes; /* of each container, and as much again */
	uint64_t lease_ms;
	uint64_t backoff_ms;     /* the second restart waits so long */
	uint64_t backoff_max_ms; /* and no restart longer */
	uint64_t refresh_ms;     /* how old volumes of objects may be */
	struct opts_list hidden; /* from containers that see the host */
	bool kvm;                /* a vCPU was seen to run on it */
	const char *log_level;
	const char *log_format;
};

#endif
