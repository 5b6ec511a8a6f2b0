/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_REMEDIES_STEPS_H
#define CTL_REMEDIES_STEPS_H

/*
 * remedies_steps - what the tables of remedies are written with: steps that
 * many codes share.
 */

#include "ctl/remedies.h"

/* clang-format off */
#define POD_EVENTS \
	{ "what the kubelet says about the target pod", \
	  "kubectl describe pod -n {ns} {pod}" }
/* The pod itself is gone with the migration. */
#define GONE_POD_EVENTS \
	{ "what the kubelet said about the target pod", \
	  "kubectl get events -n {ns} --field-selector " \
	  "involvedObject.kind=Pod" }
#define NODES \
	{ "whether the nodes are Ready and may be scheduled to", \
	  "kubectl get nodes -L kubevirt.io/schedulable" }
#define PROXIES \
	{ "the proxies of both nodes: listeners, certificates, failures", \
	  "ferryctl doctor -n {ns} {vmim}" }
#define EVENTS \
	{ "what both nodes have said about the machine", \
	  "kubectl get events -n {ns} --field-selector " \
	  "involvedObject.name={vm}" }
#define MIGRATIONS \
	{ "the migrations that go on", \
	  "kubectl get vmim --all-namespaces" }
#define LIMITS \
	{ "raise the limit in spec.configuration.migrations", \
	  "kubectl edit kubevirt -n kubevirt kubevirt" }
#define WAIT \
	{ "wait: it goes on by itself", NULL }
#define CANCEL \
	{ "or give it up; the machine stays where it is", \
	  "ferryctl migrate-cancel -n {ns} {vm}" }
#define AGAIN \
	{ "then migrate again", "ferryctl migrate -n {ns} {vm} --wait" }
#define BACKING_OFF \
	"Earlier migrations of the machine have failed, so the next try is " \
	"later each time. The message says when it is."
#define WHY_THE_LAST_ONES \
	{ "why the last ones failed", "ferryctl explain -n {ns} {vm}" }
#define MEND_CAUSE \
	{ "mend that cause; the next try comes by itself", NULL }
#define CANCEL_TRY \
	{ "and cancel the try that waits", \
	  "ferryctl migrate-cancel -n {ns} {vm}" }
#define MOVE_NOW \
	{ "to move it after all: what a person asks for does not wait", \
	  "ferryctl migrate -n {ns} {vm} --wait" }
#define PREFLIGHT \
	{ "what stands in the way of the next one", \
	  "ferryctl preflight -n {ns} {vm}" }
#define MACHINE \
	{ "how the machine is", "ferryctl explain -n {ns} {vm}" }
#define HANDLER \
	{ "whether the agents of both nodes are alive", \
	  "kubectl get nodes -o custom-columns='NAME:.metadata.name," \
	  "HEARTBEAT:.metadata.annotations.kubevirt\\.io/heartbeat'" }
#define CLAIMS \
	{ "the access modes of its claims", "kubectl get pvc -n {ns}" }
#define OWN_POD \
	{ "what the kubelet says about its pod", \
	  "kubectl describe pod -n {ns} -l vm.kubevirt.io/name={vm}" }
#define IMAGE \
	{ "import the image on the nodes, or correct its name: it goes on by " \
	  "itself", NULL }
/* Of a machine, and of the migration that it is in. */
#define HALF_MOVED \
	"The connection broke after the guest had moved: its memory is on " \
	"two nodes and the machine stands still."
#define MEND_POST_COPY \
	{ "mend the network: it is recovered by itself", NULL }, \
	{ "if a node is lost, so is the guest's memory", \
	  "ferryctl restart -n {ns} {vm} --force --grace-period=0" }

#define FOR(of_, code_, entry_, meaning_, ...) \
	{ .of = REMEDY_##of_, .code = (code_), .entry = (entry_), \
	  .meaning = (meaning_), __VA_ARGS__ }
/* clang-format on */

#endif
