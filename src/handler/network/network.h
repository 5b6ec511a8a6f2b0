/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_NETWORK_NETWORK_H
#define HANDLER_NETWORK_NETWORK_H

/*
 * network - the interfaces of a machine, inside the network namespace of its
 * pod.
 *
 * Each interface of the machine becomes a tap behind a bridge; docs/network.md
 * draws it and says what belongs to which binding:
 *
 *	eth0 -- k6t-eth0 -- tap0		the pod's own network
 *	podHASH -- k6t-HASH -- tapHASH		a network attachment definition
 *	net1 -- k6t-net1 -- tap1		the same, named as it used to be
 *
 * What is there is asked of the kernel each time, so that a handler may be
 * killed between any two steps: calling network_setup() again does what is
 * missing and disturbs nothing that works. The vif-cache files are written for
 * others to read; nothing is decided by what they say. A missing or damaged
 * one is written again.
 *
 * Threading: any thread, one call per pod at a time. A call takes some
 * milliseconds, or some ten where DHCP is to be served; each of its waits has
 * a deadline, which a pod that stops the server can make it wait for: call it
 * where nobody else has to wait (netjob.h). None of them changes the namespaces
 *of the calling thread.
 */

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/js.h"

struct err;

#define NETWORK_MAC_SIZE 18 /* "02:00:00:00:00:01" and its NUL */
#define NETWORK_DNSMASQ "/usr/sbin/dnsmasq"

/* A pod, by descriptors: none of them can come to mean another pod. */
struct network_pod {
	int netns_fd;
	int pidns_fd;
	int cgroup_fd; /* its directory in cgroup v2; -1 where there is none */
	int root_fd;   /* its root directory, hostile; -1 for none */
};

#define NETWORK_POD_INIT                        \
	((struct network_pod){ .netns_fd = -1,  \
			       .pidns_fd = -1,  \
			       .cgroup_fd = -1, \
			       .root_fd = -1 })

/*
 * Opens the pod of a process, as SO_PEERCRED tells it. ERR_DENIED when the
 * process shares the network or the PID namespace of the caller: then it is in
 * no pod. ERR_NOT_FOUND when it has ended. The caller closes *ret_pod with
 * network_pod_close().
 */
int network_pod_open(pid_t pid, struct network_pod *ret_pod, struct err *err);
/* For AUTO() too; what was never opened is fine. */
void network_pod_close(struct network_pod *pod);

struct network_request {
	const struct network_pod *pod;
	const char *pod_uid;
	const json_t *vmi; /* the whole object, defaulted */
	int cache_fd;      /* where vif-cache files go, hostile; -1: nowhere */
	uid_t tap_uid;     /* who may open the taps: QEMU's user */
	gid_t tap_gid;
	const char *dnsmasq; /* the program; NULL for NETWORK_DNSMASQ */
};

/* What the launcher is told of an interface. */
struct network_interface {
	char *name; /* of the interface in the machine's spec */
	char tap[IFNAMSIZ];
	char mac[NETWORK_MAC_SIZE]; /* the guest's */
	uint32_t mtu;
	uint32_t queues; /* of the tap; 1 without multiqueue */
};

struct network_result {
	struct network_interface *interfaces; /* as in the spec */
	size_t count;
	bool changed; /* something was missing and has been made */
	/*
	 * A sentence when something that had been there was damaged and has
	 * been mended, for an event on the machine: a vif-cache file, or a DHCP
	 * server that had ended. "" when nothing had to be.
	 */
	char mended[256];
};

#define NETWORK_EVENT_MENDED "NetworkStateRebuilt" /* the event's reason */

/*
 * Makes everything that the machine's interfaces need and is not there yet.
 *
 * The guest's MAC is the one of the spec; else the one that
 * status.interfaces[] tells, so that a machine that moves keeps it; else, for
 * the pod's network with bridge binding, the pod's; else one that is derived
 * from the machine's uid and the interface's name and thus is the same in each
 * of its pods. The caller writes it to status.interfaces[].mac.
 *
 * After a failure what has been made stays, for the next call to go on with.
 * ERR_INVALID and ERR_NOT_FOUND name what the machine asks for in vain;
 * ERR_CONFLICT says that something else is in the way. The caller frees
 * *ret_result.
 */
int network_setup(const struct network_request *request,
		  struct network_result **ret_result, struct err *err);
void network_result_free(struct network_result *result);
/* For AUTO(network_result_unref). */
void network_result_unref(struct network_result **result);

/* The list as the launcher's RPC takes it; a new reference:
 * [{"name","tap","mac","mtu","queues"}]. */
json_t *network_result_json(const struct network_result *result);

/*
 * Takes it all away again: DHCP server, rules, taps, bridges, vif-cache files.
 * The pod's interfaces get their MAC, IPv4 addresses and routes back. Not
 * needed for a pod that ends, whose namespaces take everything with them. Does
 * what can be done and reports the first failure. cache_fd may be -1.
 */
int network_teardown(const struct network_pod *pod, int cache_fd,
		     struct err *err);

#endif
