/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/remedies.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "ctl/remedies_proxy.h"
#include "ctl/remedies_steps.h"

/* clang-format off */
static const struct remedy remedies[] = {
	FOR(WAITING, "ClusterLimit", "limits",
	    "As many migrations as the cluster allows at a time are under "
	    "way.",
	    .check = { MIGRATIONS }, .fix = { WAIT, LIMITS, CANCEL }),
	FOR(WAITING, "SourceNodeLimit", "limits",
	    "As many machines as a node may send at a time are leaving it.",
	    .check = { MIGRATIONS }, .fix = { WAIT, LIMITS, CANCEL }),
	FOR(WAITING, "TargetNodeLimit", "limits",
	    "As many machines as a node may receive at a time are arriving.",
	    .check = { MIGRATIONS },
	    .fix = { WAIT,
		     { "change ferry.io/parallelInboundMigrationsPerNode",
		       "kubectl annotate kubevirt -n kubevirt kubevirt "
		       "--overwrite "
		       "ferry.io/parallelInboundMigrationsPerNode=0" },
		     CANCEL }),
	FOR(WAITING, "Backoff", "back-off",
	    BACKING_OFF,
	    .check = { WHY_THE_LAST_ONES, PREFLIGHT },
	    .fix = { MEND_CAUSE,
		     { "or end the loop: when nobody drains its node any more, "
		       "say that the machine may stay",
		       "ferryctl evacuate-cancel -n {ns} vmi {vm}" },
		     CANCEL_TRY, MOVE_NOW }),
	FOR(WAITING, REMEDY_BACKOFF_OF_UPDATE, "back-off",
	    BACKING_OFF " It is for an update: of its launcher, or of what "
	    "was changed in the machine.",
	    .check = { WHY_THE_LAST_ONES, PREFLIGHT },
	    .fix = { MEND_CAUSE,
		     { "or end the loop: take the change back, or let no "
		       "machine of the cluster be updated",
		       "kubectl patch kubevirt -n kubevirt kubevirt "
		       "--type merge -p '{\"spec\":{\"workloadUpdateStrategy\":"
		       "{\"workloadUpdateMethods\":[]}}}'" },
		     CANCEL_TRY, MOVE_NOW }),
	FOR(WAITING, "ResourceQuota", "quota",
	    "A quota of the namespace has no room for the target pod, which "
	    "needs as much as the source pod while both exist.",
	    .check = { { "which quota is full",
			 "kubectl describe resourcequota -n {ns}" } },
	    .fix = { { "raise it; the migration goes on by itself",
		       "kubectl edit resourcequota -n {ns}" },
		     { "or stop something of the namespace",
		       "kubectl get vm,pods -n {ns}" },
		     CANCEL }),
	FOR(WAITING, "TargetPodRefused", "pod-refused",
	    "The server does not accept the target pod, or it cannot be made "
	    "of the machine; the message has the words. It is tried again, "
	    "at least every five minutes.",
	    .check = { EVENTS,
		       { "who has a say in it besides quotas",
			 "kubectl get limitranges -n {ns}; kubectl get "
			 "validatingwebhookconfigurations,"
			 "mutatingwebhookconfigurations; kubectl get "
			 "namespace {ns} --show-labels" } },
	    .fix = { { "let what the message names allow it; the migration "
		       "goes on by itself",
		       NULL },
		     CANCEL }),
	FOR(WAITING, "UtilityVolumes", "others-first",
	    "Utility volumes are attached to the machine. It goes on when "
	    "they are detached, and fails after 150 seconds.",
	    .check = { { "which ones",
			 "kubectl get vmi -n {ns} {vm} "
			 "-o jsonpath='{.spec.utilityVolumes}'" } },
	    .fix = { { "detach them, or end what attached them", NULL },
		     CANCEL }),
	FOR(WAITING, "Backup", "others-first",
	    "A backup of the machine is in progress.",
	    .check = { { "what the machine says of it",
			 "kubectl get vmi -n {ns} {vm} "
			 "-o jsonpath='{.status.changedBlockTracking}'" } },
	    .fix = { WAIT, CANCEL }),
	FOR(WAITING, "OtherMigration", "others-first",
	    "Another migration of the machine is not over.",
	    .check = { { "which one",
			 "kubectl get vmim -n {ns} "
			 "-l kubevirt.io/vmi-name={vm}" } },
	    .fix = { WAIT,
		     { "or cancel the other one",
		       "ferryctl migrate-cancel -n {ns} {vm}" } }),
	FOR(WAITING, "PodsOfMachine", "others-first",
	    "A pod of an earlier migration of the machine has not ended yet.",
	    .check = { { "which pods there are, and on which nodes",
			 "kubectl get pods -n {ns} -o wide "
			 "-l vm.kubevirt.io/name={vm}" },
		       NODES },
	    .fix = { WAIT,
		     { "bring the node back on which it hangs, or delete the "
		       "Node if it is gone for good",
		       "kubectl get nodes" },
		     CANCEL }),
	FOR(WAITING, "SourcePod", "machine-not-running",
	    "The pod that the machine runs in is not there, or has ended.",
	    .check = { { "its pods",
			 "kubectl get pods -n {ns} -o wide "
			 "-l vm.kubevirt.io/name={vm}" } },
	    .fix = { WAIT, CANCEL }),
	FOR(WAITING, "MachineNotRunning", "machine-not-running",
	    "The machine does not run; only one that runs can move.",
	    .check = { MACHINE },
	    .fix = { { "start it, or wait until it has started",
		       "ferryctl start -n {ns} {vm}" },
		     CANCEL }),
	FOR(WAITING, "PodUnschedulable", "unschedulable",
	    "No node fits the target pod, as the scheduler says. It is given "
	    "up after 300 seconds.",
	    .check = { NODES, PREFLIGHT, POD_EVENTS },
	    .fix = { { "let a node take it again",
		       "kubectl uncordon NODE" },
		     { "or make room: stop or move something else",
		       "ferryctl top" },
		     CANCEL }),
	FOR(WAITING, "PodNotReady", "pod-not-ready",
	    "The target pod has a node and is not ready: image, volumes, "
	    "network or launcher. It is given up after 900 seconds.",
	    .check = { POD_EVENTS,
		       { "whether all networks of the machine exist",
			 "kubectl get network-attachment-definitions "
			 "-n {ns}" } },
	    .fix = { { "mend what the events name; it goes on by itself",
		       NULL },
		     CANCEL }),
	FOR(WAITING, "TargetNodePreparation", "node-silent",
	    "The target node prepares: its handler connects the launcher, "
	    "opens the proxy's ports and writes its address.",
	    .check = { HANDLER, PROXIES, EVENTS },
	    .fix = { WAIT,
		     { "restart handler or proxy of the target node if they "
		       "are not alive; machines are not touched by that",
		       NULL },
		     CANCEL }),
	FOR(WAITING, "SourceNodeStart", "node-silent",
	    "The target is ready; the source node has not begun.",
	    .check = { HANDLER, PROXIES, EVENTS },
	    .fix = { WAIT,
		     { "restart handler or proxy of the source node if they "
		       "are not alive; machines are not touched by that",
		       NULL },
		     CANCEL }),
	FOR(WAITING, "Transfer", "never-converges",
	    "The memory is being copied. As long as the guest writes faster "
	    "than the copy is made it does not end.",
	    .check = { { "rate, dirty rate and what is left",
			 "ferryctl top" },
		       PROXIES },
	    .fix = { WAIT,
		     { "allow post-copy or auto-converge for it by a "
		       "MigrationPolicy, for the next try",
		       "kubectl explain migrationpolicy.spec" },
		     CANCEL }),
	FOR(WAITING, "AbortAcknowledgement", "cancel-not-clean",
	    "It was canceled and the source node has not said that it "
	    "stopped. As long as no node answers the machine may be on "
	    "either of them, and nothing is taken away.",
	    .check = { HANDLER, EVENTS },
	    .fix = { { "bring the handlers of both nodes back", NULL },
		     { "or, if the target node is gone for good, take it out",
		       "kubectl delete node {target}" },
		     WAIT }),

	FOR(FAILURE, "MachineGone", "machine-not-running",
	    "The machine was deleted meanwhile.",
	    .check = { { "what is left of it",
			 "kubectl get vm,vmi,pods -n {ns}" } },
	    .fix = { { "nothing is to be done", NULL } }),
	FOR(FAILURE, "MachineEnded", "machine-not-running",
	    "The machine shut down or crashed meanwhile.",
	    .check = { MACHINE, EVENTS },
	    .fix = { { "start it if it shall run",
		       "ferryctl start -n {ns} {vm}" } }),
	FOR(FAILURE, "DecentralizedUnsupported", "not-migratable",
	    "Migrations between namespaces or clusters are not supported.",
	    .check = { { "what was asked for",
			 "kubectl get vmim -n {ns} {vmim} -o yaml" } },
	    .fix = { { "migrate within the cluster",
		       "ferryctl migrate -n {ns} {vm} --wait" } }),
	FOR(FAILURE, "Canceled", "cancel-not-clean",
	    "Somebody canceled it: the migration was deleted.",
	    .check = { EVENTS }, .fix = { AGAIN }),
	FOR(FAILURE, "TargetPodEnded", "target-node-dies",
	    "The target pod ended before the machine was in it. The machine "
	    "runs on where it was.",
	    .check = { NODES, GONE_POD_EVENTS, EVENTS },
	    .fix = { { "mend the node, or keep machines away from it",
		       "kubectl cordon {target}" },
		     AGAIN }),
	FOR(FAILURE, "TargetPodRemoved", "target-node-dies",
	    "The target pod was deleted before the machine was in it. The "
	    "machine runs on where it was.",
	    .check = { NODES, GONE_POD_EVENTS, EVENTS },
	    .fix = { { "keep machines away from a node that is not well",
		       "kubectl cordon {target}" },
		     AGAIN }),
	FOR(FAILURE, "MachineUnreadable", "state-changed",
	    "The machine is written in a way that nobody understands; the "
	    "message says which part. Its pods stay until that is mended.",
	    .check = { { "who else writes to machines",
			 "kubectl get vmi -n {ns} {vm} "
			 "--show-managed-fields -o yaml" } },
	    .fix = { { "mend what the message names", NULL }, AGAIN }),
	FOR(FAILURE, "StateCleared", "state-changed",
	    "The machine's migration state was removed by somebody else.",
	    .check = { { "who else writes to machines",
			 "kubectl get vmi -n {ns} {vm} "
			 "--show-managed-fields -o yaml" } },
	    .fix = { { "end what writes there", NULL }, AGAIN }),
	FOR(FAILURE, "StateTaken", "state-changed",
	    "Another migration has written its state to the machine.",
	    .check = { { "which one",
			 "kubectl get vmim -n {ns} "
			 "-l kubevirt.io/vmi-name={vm}" } },
	    .fix = { { "wait for the other one", NULL }, AGAIN }),
	FOR(FAILURE, "ReportedByNode", "node-failure",
	    "A node reported that it failed; its own code says why.",
	    .check = { EVENTS, PROXIES }, .fix = { AGAIN }),
	FOR(FAILURE, "AnotherMigration", "others-first",
	    "Another migration of the machine was there first.",
	    .check = { { "which one",
			 "kubectl get vmim -n {ns} "
			 "-l kubevirt.io/vmi-name={vm}" } },
	    .fix = { { "wait for it, or cancel it",
		       "ferryctl migrate-cancel -n {ns} {vm}" },
		     AGAIN }),
	FOR(FAILURE, "NotMigratable", "not-migratable",
	    "The machine cannot be migrated as it is; its condition "
	    "LiveMigratable has the reason.",
	    .check = { MACHINE, CLAIMS },
	    .fix = { { "mend what the reason names, then restart the machine",
		       "ferryctl restart -n {ns} {vm}" } }),
	FOR(FAILURE, "UtilityVolumesTimeout", "others-first",
	    "Utility volumes were attached for more than 150 seconds.",
	    .check = { { "whether they still are",
			 "kubectl get vmi -n {ns} {vm} "
			 "-o jsonpath='{.spec.utilityVolumes}'" } },
	    .fix = { { "detach them", NULL }, AGAIN }),
	FOR(FAILURE, "UnschedulableTimeout", "unschedulable",
	    "No node fitted the target pod for 300 seconds.",
	    .check = { NODES, PREFLIGHT },
	    .fix = { { "let a node take it again",
		       "kubectl uncordon NODE" },
		     { "or make room, or loosen selectors and affinity",
		       "ferryctl top" },
		     AGAIN }),
	FOR(FAILURE, "PendingPodTimeout", "pod-not-ready",
	    "The target pod was not ready within 900 seconds: image, volumes, "
	    "network or launcher.",
	    .check = { GONE_POD_EVENTS,
		       { "whether all networks of the machine exist",
			 "kubectl get network-attachment-definitions "
			 "-n {ns}" } },
	    .fix = { { "mend what the events name", NULL }, AGAIN }),
	FOR(FAILURE, "ScheduledTimeout", "limits",
	    "The target pod was ready, and it could not be handed off within "
	    "300 seconds: the target node received too many others.",
	    .check = { MIGRATIONS, NODES }, .fix = { AGAIN, LIMITS }),
	FOR(FAILURE, "PreparingTargetTimeout", "node-silent",
	    "The target node did not publish its address within 360 seconds.",
	    .check = { HANDLER, PROXIES, EVENTS },
	    .fix = { { "restart handler and proxy of the target node, and see "
		       "that its migration network is up",
		       NULL },
		     { "or keep machines away from it",
		       "kubectl cordon {target}" },
		     AGAIN }),
	FOR(FAILURE, "TargetReadyTimeout", "node-silent",
	    "The source node did not begin within 300 seconds.",
	    .check = { HANDLER, PROXIES, EVENTS },
	    .fix = { { "restart handler and proxy of the source node; "
		       "machines are not touched by that",
		       NULL },
		     AGAIN }),
	FOR(FAILURE, "RunningTimeout", "never-converges",
	    "The transfer took longer than it may and was aborted.",
	    .check = { PREFLIGHT, PROXIES },
	    .fix = { { "allow post-copy or auto-converge for it by a "
		       "MigrationPolicy",
		       "kubectl explain migrationpolicy.spec" },
		     AGAIN }),
	FOR(FAILURE, "TargetOnSourceNode", "unschedulable",
	    "The target pod was put on the node that the machine runs on, "
	    "against its anti-affinity.",
	    .check = { NODES, PREFLIGHT },
	    .fix = { { "see that the cluster's scheduler, or whoever bound "
		       "the pod, heeds anti-affinity",
		       NULL },
		     AGAIN }),

	FOR(NODE, "Canceled", "cancel-not-clean",
	    "It was aborted on request; the machine runs where it was.",
	    .check = { EVENTS }, .fix = { AGAIN }),
	FOR(NODE, "ProgressTimeout", "never-converges",
	    "What was left to copy did not get less for as long as "
	    "progressTimeout says.",
	    .check = { PROXIES, PREFLIGHT },
	    .fix = { { "allow post-copy or auto-converge for it by a "
		       "MigrationPolicy",
		       "kubectl explain migrationpolicy.spec" },
		     { "or let the guest do less meanwhile", NULL },
		     AGAIN }),
	FOR(NODE, "CompletionTimeout", "never-converges",
	    "It took longer than completionTimeoutPerGiB allows for the size "
	    "of its memory: the guest writes faster than can be copied, or "
	    "the network is slow.",
	    .check = { PROXIES, PREFLIGHT },
	    .fix = { { "allow post-copy or auto-converge for it by a "
		       "MigrationPolicy",
		       "kubectl explain migrationpolicy.spec" },
		     { "or allow more time or bandwidth in the KubeVirt "
		       "object",
		       "kubectl edit kubevirt -n kubevirt kubevirt" },
		     AGAIN }),
	FOR(NODE, "ConnectFailed", "no-connection",
	    "The source did not reach the target: a port is blocked, the "
	    "migration network is missing on one of the nodes, or the "
	    "certificates do not fit.",
	    .check = { PROXIES,
		       { "rules that drop on either node",
			 "nft list ruleset" } },
	    .fix = { { "open the ports between the nodes, mend the network, "
		       "or renew the certificate that doctor names",
		       NULL },
		     AGAIN }),
	FOR(NODE, "ConnectionLost", "no-connection",
	    "The connection between the nodes broke while memory was copied. "
	    "The machine runs on where it was.",
	    .check = { PROXIES, NODES,
		       { "rules that drop on either node",
			 "nft list ruleset" } },
	    .fix = { { "mend the network between the nodes", NULL },
		     AGAIN }),
	FOR(NODE, "Unconfirmed", "no-connection",
	    "The connection broke in the moment of the hand-over. The source "
	    "has stopped the guest until the target says who has it.",
	    .check = { PROXIES, HANDLER },
	    .fix = { { "mend the network between the nodes, or the target's "
		       "handler: it goes on by itself",
		       NULL } }),
	FOR(NODE, "TargetRefused", "node-failure",
	    "libvirt on the target node refused the machine; the sentence is "
	    "libvirt's.",
	    .check = { EVENTS, PREFLIGHT },
	    .fix = { { "choose another node",
		       "ferryctl migrate -n {ns} {vm} --addedNodeSelector "
		       "kubernetes.io/hostname=NODE --wait" } }),
	FOR(NODE, "TargetDisk", "disk-differs",
	    "A disk of the machine is missing on the target node, or differs.",
	    .check = { CLAIMS, GONE_POD_EVENTS },
	    .fix = { { "mount the same storage on both nodes", NULL },
		     AGAIN }),
	FOR(NODE, "TargetLost", "target-node-dies",
	    "QEMU on the target node ended. The machine runs on where it was.",
	    .check = { NODES, GONE_POD_EVENTS },
	    .fix = { { "keep machines away from a node that is not well",
		       "kubectl cordon {target}" },
		     AGAIN }),
	FOR(NODE, "PostCopyUnsupported", "post-copy-broken",
	    "Post-copy was asked for and a node cannot do it "
	    "(userfaultfd).",
	    .check = { { "whether unprivileged userfaultfd is allowed",
			 "sysctl vm.unprivileged_userfaultfd" } },
	    .fix = { { "do without it in the MigrationPolicy "
		       "(allowPostCopy: false)",
		       "kubectl get migrationpolicies" },
		     AGAIN }),
	FOR(NODE, "PostCopyFailed", "post-copy-broken",
	    "The source ended after the guest had moved, with memory that had "
	    "not come yet: the machine has ended with it.",
	    .check = { MACHINE, EVENTS, NODES },
	    .fix = { { "start it if it shall run",
		       "ferryctl start -n {ns} {vm}" } }),
	FOR(NODE, "MachineEnded", "machine-not-running",
	    "The guest shut down or crashed while it was copied.",
	    .check = { MACHINE, EVENTS },
	    .fix = { { "start it if it shall run",
		       "ferryctl start -n {ns} {vm}" } }),
	FOR(NODE, "LibvirtLost", "node-failure",
	    "libvirtd in the machine's pod ended while it was copied.",
	    .check = { EVENTS,
		       { "its log",
			 "kubectl logs -n {ns} -l vm.kubevirt.io/name={vm} "
			 "-c compute" } },
	    .fix = { AGAIN }),
	FOR(NODE, "NeverArrived", "node-failure",
	    "The copy on the target ended before it ran. The machine runs on "
	    "where it was.",
	    .check = { EVENTS, GONE_POD_EVENTS }, .fix = { AGAIN }),
	FOR(NODE, "Unsupported", "node-failure",
	    "The launcher was asked for something it cannot do.",
	    .check = { EVENTS,
		       { "which policies apply",
			 "kubectl get migrationpolicies -o yaml" } },
	    .fix = { { "change what the sentence names", NULL }, AGAIN }),
	FOR(NODE, "Internal", "node-failure",
	    "Something failed that nobody expected; the logs have it.",
	    .check = { EVENTS,
		       { "the launcher's log",
			 "kubectl logs -n {ns} -l vm.kubevirt.io/name={vm} "
			 "-c compute" } },
	    .fix = { AGAIN }),
	FOR(NODE, "SourcePodEnded", "machine-not-running",
	    "The pod that the machine ran in has ended.",
	    .check = { MACHINE, NODES },
	    .fix = { { "start it if it shall run",
		       "ferryctl start -n {ns} {vm}" } }),
	FOR(NODE, "TargetPodEnded", "target-node-dies",
	    "The target pod ended before the machine was in it. The machine "
	    "runs on where it was.",
	    .check = { NODES, GONE_POD_EVENTS },
	    .fix = { { "keep machines away from a node that is not well",
		       "kubectl cordon {target}" },
		     AGAIN }),
	FOR(NODE, "VersionSkew", "version-skew",
	    "The launcher in a pod and the handler of its node speak no "
	    "common version: one of them is too old.",
	    .check = { { "the images of the machine's pods",
			 "kubectl get pods -n {ns} "
			 "-l vm.kubevirt.io/name={vm} "
			 "-o jsonpath='{.items[*].spec.containers[*].image}'" },
		       { "machines whose launcher is outdated",
			 "kubectl get vmi --all-namespaces "
			 "-l kubevirt.io/outdatedLauncherImage" } },
	    .fix = { { "update the handlers of both nodes to one version",
		       NULL },
		     { "or restart the machine, which gets a new launcher",
		       "ferryctl restart -n {ns} {vm}" } }),

	FOR(MACHINE, "DisksNotLiveMigratable", "pvc-not-shared",
	    "A disk is on storage that only one node can use (not "
	    "ReadWriteMany), so the machine cannot be moved.",
	    .check = { CLAIMS,
		       { "classes that can be shared",
			 "kubectl get storageclass" } },
	    .fix = { { "put the disk on a claim with ReadWriteMany and "
		       "restart the machine",
		       "ferryctl restart -n {ns} {vm}" } }),
	FOR(MACHINE, "InterfaceNotLiveMigratable", "not-migratable",
	    "An interface is bridged to the pod's network, whose address is "
	    "another one on each node.",
	    .check = { { "its interfaces",
			 "kubectl get vm -n {ns} {vm} -o jsonpath="
			 "'{.spec.template.spec.domain.devices.interfaces}'" } },
	    .fix = { { "use masquerade for the pod's network, and restart it",
		       "ferryctl restart -n {ns} {vm}" },
		     { "or bridge it to a network that is the same everywhere "
		       "(multus)",
		       NULL } }),
	FOR(MACHINE, "CPUModeLiveMigratable", "not-migratable",
	    "The machine uses host-model and the node does not know the model "
	    "of its CPU.",
	    .check = { { "what the nodes know of their CPUs",
			 "kubectl get nodes --show-labels" } },
	    .fix = { { "name a CPU model that all nodes have, and restart it",
		       "ferryctl restart -n {ns} {vm}" } }),
	FOR(MACHINE, "HostDeviceNotLiveMigratable", "not-migratable",
	    "A device of the node was given to the machine; it cannot move.",
	    .check = { { "its devices",
			 "kubectl get vm -n {ns} {vm} -o jsonpath="
			 "'{.spec.template.spec.domain.devices}'" } },
	    .fix = { { "do without the device, and restart it",
		       "ferryctl restart -n {ns} {vm}" } }),
	FOR(MACHINE, "NotMigratable", "not-migratable",
	    "Something of the machine belongs to its node.",
	    .check = { MACHINE },
	    .fix = { { "mend what the message names, and restart it",
		       "ferryctl restart -n {ns} {vm}" } }),
	FOR(MACHINE, "VersionSkew", "version-skew",
	    "The launcher of the machine and the handler of its node speak no "
	    "common version. The machine runs; it cannot be changed or moved.",
	    .check = { { "the images of the machine's pods",
			 "kubectl get pods -n {ns} "
			 "-l vm.kubevirt.io/name={vm} "
			 "-o jsonpath='{.items[*].spec.containers[*].image}'" } },
	    .fix = { { "restart the machine, which gets a new launcher",
		       "ferryctl restart -n {ns} {vm}" } }),
	FOR(MACHINE, "ErrImagePull", "machine-not-starting",
	    "An image of the machine's pod cannot be had.",
	    .check = { OWN_POD }, .fix = { IMAGE }),
	FOR(MACHINE, "ImagePullBackOff", "machine-not-starting",
	    "An image of the machine's pod cannot be had; it is tried again, "
	    "later each time.",
	    .check = { OWN_POD }, .fix = { IMAGE }),
	FOR(MACHINE, "PodNotStarted", "machine-not-starting",
	    "The machine's pod has a node and does not start there: an image, "
	    "a volume or a network. It is tried again, later each time.",
	    .check = { OWN_POD, CLAIMS },
	    .fix = { { "mend what the message names: the machine starts by "
		       "itself",
		       NULL } }),
	FOR(MACHINE, "FailedPvcNotFound", "machine-not-starting",
	    "A claim that the machine names does not exist.",
	    .check = { CLAIMS },
	    .fix = { { "create the claim: the machine starts by itself",
		       NULL },
		     { "or take the volume out of the machine",
		       "kubectl edit vm -n {ns} {vm}" } }),
	FOR(MACHINE, "FailedCreate", "machine-not-starting",
	    "The instance or the pod of the machine could not be made; it is "
	    "tried again.",
	    .check = { { "quotas and limits of the namespace",
			 "kubectl describe resourcequota,limitrange -n {ns}" },
		       EVENTS },
	    .fix = { { "mend what the message names: the machine starts by "
		       "itself",
		       NULL } }),
	FOR(MACHINE, "PausedByUser", "machine-paused",
	    "Somebody has paused the machine.",
	    .check = { EVENTS },
	    .fix = { { "let it go on",
		       "ferryctl unpause -n {ns} vmi {vm}" } }),
	FOR(MACHINE, "PausedIOError", "machine-paused",
	    "A disk of the machine failed or is full, and the guest was "
	    "stopped so that it does not lose data.",
	    .check = { CLAIMS, EVENTS },
	    .fix = { { "mend the storage, then let it go on",
		       "ferryctl unpause -n {ns} vmi {vm}" } }),
	FOR(MACHINE, "PausedByMigrationMonitor", "machine-paused",
	    "The machine stands still so that its migration can end.",
	    .check = { { "how far its migration is",
			 "kubectl get vmim -n {ns} "
			 "-l kubevirt.io/vmi-name={vm}" },
		       PROXIES },
	    .fix = { { "wait: it goes on when the migration ends", NULL } }),
	FOR(MACHINE, "PostCopyFailed", "post-copy-broken", HALF_MOVED,
	    .check = { PROXIES, NODES }, .fix = { MEND_POST_COPY }),
	FOR(MACHINE, "Unschedulable", "unschedulable",
	    "No node fits the machine's pod. The message is the scheduler's.",
	    .check = { NODES,
		       { "what its pod asks for",
			 "kubectl describe pod -n {ns} "
			 "-l vm.kubevirt.io/name={vm}" } },
	    .fix = { { "let a node take it again", "kubectl uncordon NODE" },
		     { "or make room: stop or move something else",
		       "ferryctl top" } }),

	FOR(MACHINE, "NodeNotReady", "node-silent",
	    "The node that the machine is on does not answer. If it is down, "
	    "so is the machine; it starts elsewhere when the node's pods are "
	    "given up.",
	    .check = { NODES, HANDLER },
	    .fix = { { "bring the node back", NULL },
		     { "or delete it, if it is gone for good",
		       "kubectl delete node NODE" } }),
	FOR(MACHINE, "TargetNodeNotReady", "target-node-dies",
	    "The node that the machine was to go to does not answer. The "
	    "machine runs on where it is.",
	    .check = { NODES, HANDLER },
	    .fix = { { "keep machines away from it until it is well",
		       "kubectl cordon {target}" },
		     AGAIN }),

	FOR(EVENT, "NetworkStateRebuilt", "vif-cache",
	    "What its node remembers of the machine's network was lost, and "
	    "was made again. The guest has not noticed.",
	    .check = { { "whether it comes again",
			 "kubectl get events -n {ns} --field-selector "
			 "reason=NetworkStateRebuilt" } },
	    .fix = { { "nothing is to be done", NULL } }),
};
/* clang-format on */

const struct remedy *
remedy_at(size_t i)
{
	if (i < ARRAY_LEN(remedies))
		return &remedies[i];
	i -= ARRAY_LEN(remedies);
	return i < remedies_proxy_count ? &remedies_proxy[i] : NULL;
}

const struct remedy *
remedy_find(enum remedy_of of, const char *code)
{
	const struct remedy *remedy;

	for (size_t i = 0; (remedy = remedy_at(i)) != NULL; i++) {
		if (remedy->of == of && str_equal(remedy->code, code))
			return remedy;
	}
	return NULL;
}

/* What stands at text, which begins with a brace: its value and its length;
 * NULL when it is none of ours (jsonpath has braces, too). */
static const char *
value_at(const char *text, const struct remedy_names *names, size_t *ret_len)
{
	const struct {
		const char *name, *value, *otherwise;
	} known[] = {
		{ "{ns}", names->ns, "NAMESPACE" },
		{ "{vm}", names->vm, "VM" },
		{ "{vmim}", names->vmim, "MIGRATION" },
		{ "{source}", names->source, "SOURCE_NODE" },
		{ "{target}", names->target, "TARGET_NODE" },
		{ "{pod}", names->pod, "TARGET_POD" },
	};

	for (size_t i = 0; i < ARRAY_LEN(known); i++) {
		if (!str_has_prefix(text, known[i].name))
			continue;
		*ret_len = strlen(known[i].name);
		return known[i].value == NULL || known[i].value[0] == '\0'
			       ? known[i].otherwise
			       : known[i].value;
	}
	return NULL;
}

char *
remedy_fill(const char *text, const struct remedy_names *names)
{
	struct buf buf = BUF_INIT(BUF_UNLIMITED);

	while (*text != '\0') {
		size_t len = 1;
		const char *value =
			*text == '{' ? value_at(text, names, &len) : NULL;

		if (value != NULL)
			(void)buf_append_str(&buf, value);
		else
			(void)buf_append(&buf, text, len);
		text += len;
	}
	(void)buf_append(&buf, "", 1);
	return (char *)buf.data;
}

json_t *
remedy_steps_json(const struct remedy_step steps[REMEDY_STEPS],
		  const struct remedy_names *names)
{
	json_t *list = json_array();

	for (size_t i = 0; i < REMEDY_STEPS && steps[i].what != NULL; i++) {
		json_t *step = json_pack("{s:s}", "what", steps[i].what);

		if (steps[i].command != NULL) {
			AUTO(free_ptr)
			char *command = remedy_fill(steps[i].command, names);

			json_object_set_new(step, "command",
					    json_string(command));
		}
		json_array_append_new(list, step);
	}
	return list;
}
