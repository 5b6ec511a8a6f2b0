/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/kinds/cell.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/test.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/registry.h"
#include "cluster/kinds/testkinds.h"
#include "meta/testyaml.h"

#define NOW_S 1767225600 /* 2026-01-01T00:00:00Z */
#define HEAD "metadata: {name: a, creationTimestamp: '2025-12-31T23:58:00Z'"

/* A resource, an object of it, and its row. */
static const struct {
	const char *group, *version, *plural, *object, *row;
} rows[] = {
	{ "", "v1", "namespaces", "{" HEAD "}, status: {phase: Active}}",
	  "Name=a Status=Active Age=2m" },
	{ "", "v1", "pods",
	  "{" HEAD "}, spec: {nodeName: n1, containers: [{name: a}, {name: b}],"
	  " readinessGates: [{conditionType: X}]}, status: {phase: Running, "
	  "podIP: 10.0.0.1, containerStatuses: [{name: a, ready: true, "
	  "restartCount: 2, state: {running: {}}, lastState: {terminated: "
	  "{finishedAt: '2025-12-31T23:59:00Z'}}}, {name: b, ready: false, "
	  "restartCount: 1, state: {waiting: {reason: CrashLoopBackOff}}}]}}",
	  "Name=a Ready=1/2 Status=CrashLoopBackOff Restarts=3 (60s ago) Age=2m"
	  " IP=10.0.0.1 Node=n1 Nominated Node=<none> Readiness Gates=0/1" },
	{ "", "v1", "pods",
	  "{" HEAD ", deletionTimestamp: x}, spec: {containers: [{}]}, status: "
	  "{phase: Pending}}",
	  "Name=a Ready=0/1 Status=Terminating Restarts=0 Age=2m IP=<none> "
	  "Node=<none> Nominated Node=<none> Readiness Gates=<none>" },
	{ "", "v1", "pods",
	  "{" HEAD "}, spec: {initContainers: [{name: i}, {name: k}], "
	  "containers: [{}]}, status: {phase: Pending, initContainerStatuses: "
	  "[{name: i, state: {terminated: {exitCode: 0}}}, {name: k, state: "
	  "{running: {}}}]}}",
	  "Name=a Ready=0/1 Status=Init:1/2 Restarts=0 Age=2m IP=<none> "
	  "Node=<none> Nominated Node=<none> Readiness Gates=<none>" },
	{ "", "v1", "pods",
	  "{" HEAD "}, spec: {containers: [{name: c}]}, status: {phase: Failed,"
	  " containerStatuses: [{name: c, state: {terminated: {exitCode: 3}}}]"
	  "}}",
	  "Name=a Ready=0/1 Status=ExitCode:3 Restarts=0 Age=2m IP=<none> "
	  "Node=<none> Nominated Node=<none> Readiness Gates=<none>" },
	{ "", "v1", "nodes",
	  "{" HEAD ", labels: {node-role.kubernetes.io/worker: '', "
	  "node-role.kubernetes.io/control-plane: ''}}, spec: {unschedulable: "
	  "true}, status: {conditions: [{type: Ready, status: 'True'}], "
	  "addresses: [{type: InternalIP, address: 10.0.0.2}], nodeInfo: "
	  "{kubeletVersion: v1.30.1}}}",
	  "Name=a Status=Ready,SchedulingDisabled Roles=control-plane,worker "
	  "Age=2m Version=v1.30.1 Internal-IP=10.0.0.2 External-IP=<none> "
	  "OS-Image=<unknown> Kernel-Version=<unknown> "
	  "Container-Runtime=<unknown>" },
	{ "", "v1", "nodes", "{" HEAD "}, status: {}}",
	  "Name=a Status=Unknown Roles=<none> Age=2m Version=null "
	  "Internal-IP=<none> External-IP=<none> OS-Image=<unknown> "
	  "Kernel-Version=<unknown> Container-Runtime=<unknown>" },
	{ "", "v1", "events",
	  "{" HEAD "}, involvedObject: {kind: Pod, name: p, fieldPath: f}, "
	  "type: Warning, reason: Bad, message: ' it broke\n', source: "
	  "{component: kubelet, host: n1}, count: 4, firstTimestamp: "
	  "'2025-12-31T22:00:00Z', lastTimestamp: '2025-12-31T23:59:50Z'}",
	  "Last Seen=10s Type=Warning Reason=Bad Object=pod/p Subobject=f "
	  "Source=kubelet, n1 Message=it broke First Seen=120m Count=4 "
	  "Name=a" },
	{ "events.k8s.io", "v1", "events",
	  "{" HEAD
	  "}, regarding: {kind: Pod, name: p}, type: Normal, reason: R,"
	  " note: n1, reportingController: c, reportingInstance: c-1, "
	  "eventTime: '2025-12-31T23:59:00.123456Z'}",
	  "Last Seen=59s Type=Normal Reason=R Object=pod/p Subobject=null "
	  "Source=c, c-1 Message=n1 First Seen=59s Count=1 Name=a" },
	{ "", "v1", "configmaps",
	  "{" HEAD "}, data: {a: b}, binaryData: {c: d}}",
	  "Name=a Data=2 Age=2m" },
	{ "", "v1", "services",
	  "{" HEAD "}, spec: {type: NodePort, clusterIP: 10.1.1.1, selector: "
	  "{a: b, c: d}, ports: [{port: 80, nodePort: 30080, protocol: TCP}, "
	  "{port: 53, protocol: UDP}]}}",
	  "Name=a Type=NodePort Cluster-IP=10.1.1.1 External-IP=<none> "
	  "Port(s)=80:30080/TCP,53/UDP Age=2m Selector=a=b,c=d" },
	{ "", "v1", "endpoints",
	  "{" HEAD "}, subsets: [{addresses: [{ip: 1.1.1.1}, {ip: 1.1.1.2}], "
	  "ports: [{port: 80}, {port: 81}]}]}",
	  "Name=a Endpoints=1.1.1.1:80,1.1.1.1:81,1.1.1.2:80 + 1 more... "
	  "Age=2m" },
	{ "", "v1", "persistentvolumes",
	  "{" HEAD "}, spec: {capacity: {storage: 1Gi}, accessModes: "
	  "[ReadWriteMany, ReadWriteOnce], persistentVolumeReclaimPolicy: "
	  "Retain, claimRef: {namespace: w, name: c}, volumeMode: Block}, "
	  "status: {phase: Bound}}",
	  "Name=a Capacity=1Gi Access Modes=RWO,RWX Reclaim Policy=Retain "
	  "Status=Bound Claim=w/c StorageClass=null Reason=null Age=2m "
	  "VolumeMode=Block" },
	{ "", "v1", "resourcequotas",
	  "{" HEAD "}, status: {hard: {pods: '5', limits.cpu: '2'}, used: "
	  "{pods: '1'}}}",
	  "Name=a Age=2m Request=pods: 1/5 Limit=limits.cpu: 0/2" },
	{ "policy", "v1", "poddisruptionbudgets",
	  "{" HEAD "}, spec: {minAvailable: 1}, status: {disruptionsAllowed: "
	  "0}}",
	  "Name=a Min Available=1 Max Unavailable=N/A Allowed Disruptions=0 "
	  "Age=2m" },
	{ "rbac.authorization.k8s.io", "v1", "rolebindings",
	  "{" HEAD "}, roleRef: {kind: Role, name: r}, subjects: [{kind: User, "
	  "name: u}, {kind: ServiceAccount, name: s, namespace: w}]}",
	  "Name=a Role=Role/r Age=2m Users=u Groups= ServiceAccounts=w/s" },
	{ "rbac.authorization.k8s.io", "v1", "clusterroles", "{" HEAD "}}",
	  "Name=a Created At=2025-12-31T23:58:00Z" },
	{ "apiregistration.k8s.io", "v1", "apiservices",
	  "{" HEAD "}, spec: {service: {namespace: k, name: v}}, status: "
	  "{conditions: [{type: Available, status: 'False', reason: "
	  "ServiceNotFound}]}}",
	  "Name=a Service=k/v Available=False (ServiceNotFound) Age=2m" },
	{ "networking.k8s.io", "v1", "networkpolicies",
	  "{" HEAD "}, spec: {podSelector: {matchLabels: {a: b}, "
	  "matchExpressions: [{key: c, operator: In, values: [d, e]}, {key: f, "
	  "operator: DoesNotExist}]}}}",
	  "Name=a Pod-Selector=a=b,c in (d,e),!f Age=2m" },
	{ "storage.k8s.io", "v1", "storageclasses",
	  "{" HEAD ", annotations: {storageclass.kubernetes.io/"
	  "is-default-class: 'true'}}, provisioner: p}",
	  "Name=a (default) Provisioner=p ReclaimPolicy=Delete "
	  "VolumeBindingMode=Immediate AllowVolumeExpansion=false Age=2m" },
	{ "kubevirt.io", "v1", "virtualmachineinstancemigrations",
	  "{" HEAD "}, spec: {vmiName: v}, status: {phase: Running}}",
	  "Name=a Phase=Running VMI=v" },
	{ "kubevirt.io", "v1", "virtualmachineinstances",
	  "{" HEAD "}, status: {phase: Running, nodeName: n1, interfaces: [{"
	  "ipAddress: 10.0.0.9}], conditions: [{type: Ready, status: "
	  "'True'}]}}",
	  "Name=a Age=2m Phase=Running IP=10.0.0.9 NodeName=n1 Ready=True "
	  "Live-Migratable=null Paused=null" },
};

/* "Name=a Age=2m": what the columns of the object show; to be freed. */
static char *
show(const struct kind_version *version, const json_t *obj)
{
	struct buf out = BUF_INIT(65536);

	for (size_t i = 0; i < version->column_count; i++) {
		const struct column *column = &version->columns[i];
		AUTO(js_unref) json_t *cell = cell_value(column, obj, NOW_S);
		AUTO(free_ptr) char *text = NULL;

		text = json_is_string(cell) ? xstrdup(json_string_value(cell))
					    : json_dumps(cell, JSON_ENCODE_ANY);
		(void)buf_printf(&out, "%s%s=%s", i > 0 ? " " : "",
				 column->name, text);
	}
	return (char *)out.data;
}

static void
test_rows_look_as_people_know_them(void **state)
{
	struct registry *registry = testkinds_registry(true);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		AUTO(js_unref) json_t *obj = testyaml(rows[i].object);
		AUTO(free_ptr)
		char *row =
			show(testkinds_version(registry, rows[i].group,
					       rows[i].version, rows[i].plural),
			     obj);

		assert_string_equal(row, rows[i].row);
	}
	registry_free(registry);
}

static bool
show_nothing(struct kind *kind, void *arg)
{
	AUTO(js_unref) json_t *obj = testyaml(arg);

	for (size_t i = 0; i < kind->version_count; i++) {
		AUTO(free_ptr) char *row = show(&kind->versions[i], obj);

		if (row == NULL)
			fail_msg("%s", kind->kind);
	}
	return true;
}

static void
test_an_object_of_wrong_shape_has_a_row_too(void **state)
{
	struct registry *registry = testkinds_registry(true);
	char empty[] = "{}";
	char wrong[] = "{metadata: 1, spec: [], status: {conditions: {}, "
		       "containerStatuses: [1, {}], addresses: x}, subsets: "
		       "[1], subjects: [null], roleRef: 1}";

	(void)state;
	registry_each(registry, show_nothing, empty);
	registry_each(registry, show_nothing, wrong);
	registry_free(registry);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_look_as_people_know_them),
		cmocka_unit_test(test_an_object_of_wrong_shape_has_a_row_too),
	};

	js_init();
	return cmocka_run_group_tests_name("cell", tests, NULL, NULL);
}
