/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manifests as people write them must pass with fieldValidation=Strict: no
 * unknown field, nothing wrong.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/test.h"
#include "cluster/kinds/kind.h"
#include "cluster/kinds/registry.h"
#include "cluster/kinds/schema.h"
#include "cluster/kinds/testkinds.h"
#include "meta/testyaml.h"

static const char *const manifests[] = {
	"apiVersion: v1\n"
	"kind: Pod\n"
	"metadata:\n"
	"  name: full\n"
	"  namespace: default\n"
	"  creationTimestamp: null\n"
	"  labels: {app: full}\n"
	"  annotations: {k8s.v1.cni.cncf.io/networks: br0}\n"
	"  ownerReferences:\n"
	"  - {apiVersion: kubevirt.io/v1, kind: VirtualMachineInstance,\n"
	"     name: vm1, uid: a-b, controller: true, blockOwnerDeletion: "
	"true}\n"
	"spec:\n"
	"  restartPolicy: Never\n"
	"  nodeSelector: {kubernetes.io/arch: amd64}\n"
	"  serviceAccountName: default\n"
	"  automountServiceAccountToken: false\n"
	"  priorityClassName: system-node-critical\n"
	"  hostNetwork: true\n"
	"  dnsPolicy: None\n"
	"  dnsConfig: {nameservers: [1.1.1.1], options: [{name: ndots, value: "
	"'2'}]}\n"
	"  imagePullSecrets: [{name: pull}]\n"
	"  securityContext: {runAsUser: 107, runAsNonRoot: true, fsGroup: "
	"107,\n"
	"    seccompProfile: {type: RuntimeDefault},\n"
	"    sysctls: [{name: net.ipv4.ip_forward, value: '1'}]}\n"
	"  tolerations:\n"
	"  - {key: node.kubernetes.io/not-ready, operator: Exists,\n"
	"     effect: NoExecute, tolerationSeconds: 300}\n"
	"  topologySpreadConstraints:\n"
	"  - {maxSkew: 1, topologyKey: kubernetes.io/hostname,\n"
	"     whenUnsatisfiable: ScheduleAnyway,\n"
	"     labelSelector: {matchLabels: {app: full}}}\n"
	"  affinity:\n"
	"    nodeAffinity:\n"
	"      requiredDuringSchedulingIgnoredDuringExecution:\n"
	"        nodeSelectorTerms:\n"
	"        - matchExpressions:\n"
	"          - {key: zone, operator: In, values: [a, b]}\n"
	"      preferredDuringSchedulingIgnoredDuringExecution:\n"
	"      - {weight: 1, preference: {matchExpressions: [{key: x, "
	"operator: "
	"Exists}]}}\n"
	"    podAntiAffinity:\n"
	"      preferredDuringSchedulingIgnoredDuringExecution:\n"
	"      - weight: 100\n"
	"        podAffinityTerm: {topologyKey: kubernetes.io/hostname,\n"
	"          labelSelector: {matchExpressions: [{key: app, operator: In, "
	"values: [full]}]}}\n"
	"  initContainers:\n"
	"  - {name: init, image: busybox, command: [sh, -c, 'true']}\n"
	"  containers:\n"
	"  - name: compute\n"
	"    image: registry.example.com/launcher:v1\n"
	"    imagePullPolicy: IfNotPresent\n"
	"    command: [/usr/bin/launcher]\n"
	"    args: [--name, full]\n"
	"    workingDir: /\n"
	"    ports: [{containerPort: 8080, name: http, protocol: TCP}]\n"
	"    env:\n"
	"    - {name: PLAIN, value: x}\n"
	"    - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.name}}}\n"
	"    - {name: MEM, valueFrom: {resourceFieldRef: {resource: "
	"limits.memory, divisor: '1'}}}\n"
	"    - {name: S, valueFrom: {secretKeyRef: {name: s, key: k, optional: "
	"true}}}\n"
	"    envFrom: [{configMapRef: {name: c}}, {secretRef: {name: s}}]\n"
	"    resources:\n"
	"      requests: {cpu: 100m, memory: 1Gi, devices.kubevirt.io/kvm: 1}\n"
	"      limits: {cpu: 2, memory: 2Gi, devices.kubevirt.io/kvm: '1'}\n"
	"    volumeMounts: [{name: private, mountPath: /var/run, "
	"mountPropagation: HostToContainer}]\n"
	"    volumeDevices: [{name: disk, devicePath: /dev/disk}]\n"
	"    livenessProbe: {httpGet: {path: /healthz, port: http, scheme: "
	"HTTPS}, initialDelaySeconds: 3}\n"
	"    readinessProbe: {exec: {command: [cat, /tmp/ready]}, "
	"failureThreshold: 5}\n"
	"    startupProbe: {tcpSocket: {port: 8080}}\n"
	"    lifecycle: {preStop: {exec: {command: [sleep, '5']}}}\n"
	"    securityContext: {privileged: false, allowPrivilegeEscalation: "
	"false,\n"
	"      capabilities: {add: [NET_BIND_SERVICE], drop: [ALL]}}\n"
	"    stdin: true\n"
	"    tty: true\n"
	"  volumes:\n"
	"  - {name: private, emptyDir: {medium: Memory, sizeLimit: 64Mi}}\n"
	"  - {name: disk, persistentVolumeClaim: {claimName: disk}}\n"
	"  - {name: host, hostPath: {path: /dev, type: Directory}}\n"
	"  - {name: sec, secret: {secretName: s, defaultMode: 256, items: "
	"[{key: "
	"a, path: b}]}}\n"
	"  - {name: cfg, configMap: {name: c}}\n"
	"  - {name: nfs, nfs: {server: nas, path: /x}}\n"
	"  - {name: csi, csi: {driver: d, volumeAttributes: {a: b}}}\n"
	"  - name: token\n"
	"    projected:\n"
	"      sources:\n"
	"      - serviceAccountToken: {path: token, expirationSeconds: 3607}\n"
	"      - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, "
	"path: "
	"ca.crt}]}\n"
	"      - downwardAPI: {items: [{path: ns, fieldRef: {apiVersion: v1, "
	"fieldPath: metadata.namespace}}]}\n"
	"status: {}\n",

	"apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {a: b}}\n"
	"spec: {taints: [{key: a, effect: NoSchedule}], unschedulable: true, "
	"podCIDR: 10.0.0.0/24}\n"
	"status:\n"
	"  capacity: {cpu: 8, memory: 32Gi, pods: '110'}\n"
	"  addresses: [{type: InternalIP, address: 10.0.0.1}]\n"
	"  conditions: [{type: Ready, status: 'True', lastHeartbeatTime: "
	"'2026-01-01T00:00:00Z'}]\n"
	"  nodeInfo: {machineID: '', systemUUID: '', bootID: '', "
	"kernelVersion: "
	"'', osImage: '',\n"
	"    containerRuntimeVersion: '', kubeletVersion: v1.30.0, "
	"kubeProxyVersion: '', operatingSystem: linux, architecture: amd64}\n"
	"  daemonEndpoints: {kubeletEndpoint: {Port: 10250}}\n",

	"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"
	"type: kubernetes.io/tls\ndata: {tls.crt: YQ==}\nstringData: {a: b}\n",

	"apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\n"
	"spec:\n  capacity: {storage: 10Gi}\n  accessModes: [ReadWriteMany]\n"
	"  persistentVolumeReclaimPolicy: Retain\n  storageClassName: local\n"
	"  local: {path: /mnt/disks/ssd1}\n  nodeAffinity: {required: "
	"{nodeSelectorTerms: [{matchExpressions: [{key: "
	"kubernetes.io/hostname, "
	"operator: In, values: [n1]}]}]}}\n",

	"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: c}\n"
	"spec: {accessModes: [ReadWriteMany], volumeMode: Block, resources: "
	"{requests: {storage: 10Gi}}, storageClassName: local}\n",

	"apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
	"spec: {selector: {a: b}, ports: [{name: x, port: 443, targetPort: "
	"https}], clusterIP: None}\n",

	"apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q}\n"
	"spec: {hard: {pods: 10, requests.cpu: '4', "
	"count/virtualmachineinstancemigrations.kubevirt.io: 5}, scopes: "
	"[NotTerminating]}\n",

	"apiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: default}\n"
	"involvedObject: {kind: Pod, name: a, namespace: default}\n"
	"reason: Killing\nmessage: stop\ntype: Normal\ncount: 1\n"
	"firstTimestamp: '2026-01-01T00:00:00Z'\nlastTimestamp: null\n"
	"source: {component: kubelet, host: n1}\neventTime: null\n"
	"reportingComponent: ''\nreportingInstance: ''\n",

	"apiVersion: events.k8s.io/v1\nkind: Event\nmetadata: {name: e, "
	"namespace: default}\neventTime: '2026-01-01T00:00:00.123456Z'\n"
	"regarding: {kind: Pod, name: a}\nreason: Killing\nnote: stop\n"
	"type: Normal\naction: Kill\nreportingController: k\n"
	"reportingInstance: k1\nseries: {count: 2, lastObservedTime: "
	"'2026-01-01T00:00:00.123456Z'}\n",

	"apiVersion: coordination.k8s.io/v1\nkind: Lease\n"
	"metadata: {name: n1, namespace: kube-node-lease}\n"
	"spec: {holderIdentity: n1, leaseDurationSeconds: 40, renewTime: "
	"'2026-01-01T00:00:00.123456Z'}\n",

	"apiVersion: policy/v1\nkind: PodDisruptionBudget\n"
	"metadata: {name: p}\nspec: {minAvailable: 50%, selector: "
	"{matchLabels: {a: b}}}\n",

	"apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\n"
	"metadata: {name: p}\nspec: {podSelector: {}, policyTypes: [Ingress], "
	"ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8, except: "
	"[10.1.0.0/16]}},"
	" {namespaceSelector: {}}], ports: [{port: 80}, {port: https, "
	"protocol: "
	"TCP}]}]}\n",

	"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n"
	"metadata: {name: r}\nrules: [{apiGroups: [''], resources: [pods, "
	"pods/log], verbs: [get], resourceNames: [a]}, {nonResourceURLs: "
	"[/healthz], verbs: [get]}]\naggregationRule: {clusterRoleSelectors: "
	"[{matchLabels: {a: b}}]}\n",

	"apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\n"
	"metadata: {name: r}\nsubjects: [{kind: ServiceAccount, name: d, "
	"namespace: w}, {kind: User, apiGroup: rbac.authorization.k8s.io, "
	"name: "
	"bob}]\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, "
	"name: "
	"r}\n",

	"apiVersion: admissionregistration.k8s.io/v1\n"
	"kind: ValidatingWebhookConfiguration\nmetadata: {name: w}\n"
	"webhooks:\n- name: a.example.com\n  admissionReviewVersions: [v1]\n"
	"  sideEffects: None\n  timeoutSeconds: 5\n  failurePolicy: Ignore\n"
	"  clientConfig: {service: {name: w, namespace: d, path: /v}, "
	"caBundle: "
	"YQ==}\n  rules: [{operations: [CREATE, UPDATE], apiGroups: "
	"[kubevirt.io], apiVersions: ['*'], resources: "
	"[virtualmachineinstances], scope: Namespaced}]\n"
	"  namespaceSelector: {matchExpressions: [{key: a, operator: "
	"DoesNotExist}]}\n",

	"apiVersion: apiregistration.k8s.io/v1\nkind: APIService\n"
	"metadata: {name: v1.subresources.kubevirt.io}\nspec: {group: "
	"subresources.kubevirt.io, version: v1, groupPriorityMinimum: 1000, "
	"versionPriority: 15, caBundle: YQ==, service: {name: virt-api, "
	"namespace: kubevirt, port: 443}}\n",

	"apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: "
	"local, annotations: {storageclass.kubernetes.io/is-default-class: "
	"'true'}}\nprovisioner: kubernetes.io/no-provisioner\n"
	"volumeBindingMode: WaitForFirstConsumer\nallowVolumeExpansion: true\n",

	"apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\n"
	"metadata: {name: high}\nvalue: 1000000\nglobalDefault: false\n"
	"description: for tests\n",

	"apiVersion: kubevirt.io/v1\nkind: VirtualMachine\n"
	"metadata: {name: testvm}\nspec:\n  runStrategy: Halted\n  template:\n"
	"    metadata: {labels: {kubevirt.io/size: small, kubevirt.io/domain: "
	"testvm}}\n    spec:\n      domain:\n        devices:\n"
	"          disks: [{name: containerdisk, disk: {bus: virtio}}, {name: "
	"cloudinitdisk, disk: {bus: virtio}}]\n"
	"          interfaces: [{name: default, masquerade: {}, ports: [{port: "
	"22}]}]\n        resources: {requests: {memory: 64M}}\n"
	"      networks: [{name: default, pod: {}}, {name: m, multus: "
	"{networkName: br0}}]\n      volumes:\n"
	"      - {name: containerdisk, containerDisk: {image: "
	"quay.io/kubevirt/cirros-container-disk-demo}}\n"
	"      - {name: cloudinitdisk, cloudInitNoCloud: {userDataBase64: "
	"YQ==}}\n",

	"apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstanceMigration\n"
	"metadata: {name: migration-job}\nspec: {vmiName: testvm}\n",

	"apiVersion: migrations.kubevirt.io/v1alpha1\nkind: MigrationPolicy\n"
	"metadata: {name: p}\nspec: {allowAutoConverge: true, "
	"bandwidthPerMigration: 217Ki, completionTimeoutPerGiB: 23, "
	"allowPostCopy: false, selectors: {namespaceSelector: "
	"{hpc-workloads: 'True'}, virtualMachineInstanceSelector: "
	"{workload-type: db}}}\n",

	"apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: "
	"kubevirt}\nspec: {configuration: {migrations: "
	"{parallelMigrationsPerCluster: 5, bandwidthPerMigration: 64Mi, "
	"disableTLS: false}, developerConfiguration: {featureGates: "
	"[LiveMigration], useEmulation: true}}, imagePullPolicy: "
	"IfNotPresent}\n",

	"apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\n"
	"metadata: {name: br0}\nspec: {config: '{\"cniVersion\":\"0.3.1\"}'}\n",
};

static void
test_manifests_from_the_web_are_taken_strictly(void **state)
{
	struct registry *registry = testkinds_registry(true);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(manifests); i++) {
		AUTO(js_unref) json_t *obj = testyaml(manifests[i]);
		AUTO(free_ptr) char *type = NULL, *wrong = NULL;
		const char *api = js_str_at(obj, "apiVersion");
		const char *slash = strchr(api, '/');
		AUTO(free_ptr)
		char *group = xstrndup(api, slash ? (size_t)(slash - api) : 0);
		struct kind *kind = registry_by_kind(registry, group,
						     js_str_at(obj, "kind"));
		struct kind_version *version;

		assert_non_null(kind);
		version = kind_version_find(kind, slash ? slash + 1 : api);
		assert_non_null(version);
		if (kind->builtin)
			type = schema_check_types(version->schema, kind->kind,
						  obj);
		wrong = testkinds_check(version->schema, obj);
		if (type != NULL || *wrong != '\0')
			fail_msg("%s: %s %s", kind->kind,
				 type != NULL ? type : "", wrong);
	}
	registry_free(registry);
}

static void
test_typed_objects_get_defaults_and_canonical_quantities(void **state)
{
	struct registry *registry = testkinds_registry(false);
	struct kind_version *pods =
		testkinds_version(registry, "", "v1", "pods");
	AUTO(js_unref)
	json_t *pod = testyaml(
		"{metadata: {name: a, creationTimestamp: null, labels: {x: "
		"null}}, spec: "
		"{nodeName: null, containers: [{name: a, image: b, resources: "
		"{limits: {cpu: 0.5, memory: 1024Mi}}, ports: [{containerPort: "
		"1}]}]}}");
	AUTO(free_ptr) char *wrong = testkinds_check(pods->schema, pod);
	const json_t *container =
		json_array_get(js_arr_at(pod, "spec.containers"), 0);

	(void)state;
	assert_string_equal(wrong, "");
	assert_string_equal(js_str_at(pod, "spec.restartPolicy"), "Always");
	assert_int_equal(
		js_int_at(pod, "spec.terminationGracePeriodSeconds", 0), 30);
	assert_string_equal(js_str_at(container, "resources.limits.cpu"),
			    "500m");
	assert_string_equal(js_str_at(container, "resources.limits.memory"),
			    "1Gi");
	assert_string_equal(
		js_str_at(json_array_get(js_arr_at(container, "ports"), 0),
			  "protocol"),
		"TCP");
	assert_string_equal(json_string_value(json_object_get(
				    js_obj_at(pod, "metadata.labels"), "x")),
			    "");
	/* null is as good as absent, but for times that may be null */
	assert_null(json_object_get(js_obj_at(pod, "spec"), "nodeName"));
	assert_non_null(json_object_get(js_obj_at(pod, "metadata"),
					"creationTimestamp"));
	registry_free(registry);
}

static void
assert_undecodable(const struct kind_version *version, const char *text,
		   const char *wanted)
{
	AUTO(js_unref) json_t *obj = testyaml(text);
	AUTO(free_ptr)
	char *wrong =
		schema_check_types(version->schema, version->kind->kind, obj);

	assert_non_null(wrong);
	assert_string_equal(wrong, wanted);
}

static void
test_the_decoder_of_built_in_kinds_complains_as_gos_does(void **state)
{
	struct registry *registry = testkinds_registry(false);
	struct kind_version *maps =
		testkinds_version(registry, "", "v1", "configmaps");
	struct kind_version *pods =
		testkinds_version(registry, "", "v1", "pods");

	(void)state;
	assert_undecodable(maps, "{data: {a: 5}}",
			   "json: cannot unmarshal number into Go struct field "
			   "ConfigMap.data of type string");
	assert_undecodable(pods,
			   "{spec: {containers: [{name: a, image: "
			   "{}}]}}",
			   "json: cannot unmarshal object into Go struct field "
			   "Container.spec.containers.image of type string");
	assert_undecodable(pods, "{spec: {containers: x}}",
			   "json: cannot unmarshal string into Go struct field "
			   "PodSpec.spec.containers of type []v1.Container");
	assert_undecodable(pods, "{metadata: {labels: {a: true}}}",
			   "json: cannot unmarshal bool into Go struct field "
			   "ObjectMeta.metadata.labels of type string");
	assert_undecodable(pods,
			   "{spec: {containers: [{name: a, resources: {limits: "
			   "{cpu: 1x}}}]}}",
			   "quantities must match the regular expression "
			   "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
	registry_free(registry);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_manifests_from_the_web_are_taken_strictly),
		cmocka_unit_test(
			test_typed_objects_get_defaults_and_canonical_quantities),
		cmocka_unit_test(
			test_the_decoder_of_built_in_kinds_complains_as_gos_does),
	};

	js_init();
	return cmocka_run_group_tests_name("manifests", tests, NULL, NULL);
}
