/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/proto.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/test.h"
#include "meta/status.h"

/* What kubectl 1.32 sends, and what it would send as JSON, members sorted and
 * without the status of reviews. */
static const struct sample {
	const char *base64;
	const char *json;
} samples[] = {
	{
		"azhzAAoMCgJ2MRIGU2VjcmV0Eh8KEwoCczESABoBZCIAKgAyADgAQgASBgoB"
		"cBIBcRoAGgAiAA==",
		"{\"apiVersion\":\"v1\",\"data\":{\"p\":\"cQ==\"},\"kind\":"
		"\"Secret\",\"metadata\":{\"creationTimestamp\":null,"
		"\"name\":\"s1\",\"namespace\":\"d\"}}",
	},
	{
		"azhzAAoTCgJ2MRINUmVzb3VyY2VRdW90YRJKChMKAnExEgAaAWQiACoAMgA4"
		"AEIAEjEKCwoEcG9kcxIDCgEzChYKDHJlcXVlc3RzLmNwdRIGCgQ1MDBtEgpC"
		"ZXN0RWZmb3J0GgAaACIA",
		"{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\","
		"\"metadata\":{\"creationTimestamp\":null,\"name\":\"q1\","
		"\"namespace\":\"d\"},\"spec\":{\"hard\":{\"pods\":\"3\","
		"\"requests.cpu\":\"500m\"},\"scopes\":[\"BestEffort\"]},"
		"\"status\":{}}",
	},
	{
		"azhzAAogCglwb2xpY3kvdjESE1BvZERpc3J1cHRpb25CdWRnZXQSOgoVCgRw"
		"ZGIxEgAaAWQiACoAMgA4AEIAEhUKCQgBEAAaAzUwJRIICgYKAWESAWIaCggA"
		"GAAgACgAMAAaACIA",
		"{\"apiVersion\":\"policy/v1\",\"kind\":"
		"\"PodDisruptionBudget\",\"metadata\":{\"creationTimestamp\":"
		"null,\"name\":\"pdb1\",\"namespace\":\"d\"},\"spec\":"
		"{\"minAvailable\":\"50%\",\"selector\":{\"matchLabels\":"
		"{\"a\":\"b\"}}},\"status\":{\"currentHealthy\":0,"
		"\"desiredHealthy\":0,\"disruptionsAllowed\":0,"
		"\"expectedPods\":0}}",
	},
	{
		"azhzAAolChRzY2hlZHVsaW5nLms4cy5pby92MRINUHJpb3JpdHlDbGFzcxIv"
		"ChMKA3BjMRIAGgAiACoAMgA4AEIAEPv//////////wEYASIEdGV4dCoFTmV2"
		"ZXIaACIA",
		"{\"apiVersion\":\"scheduling.k8s.io/v1\",\"description\":"
		"\"text\",\"globalDefault\":true,\"kind\":\"PriorityClass\","
		"\"metadata\":{\"creationTimestamp\":null,\"name\":\"pc1\"},"
		"\"preemptionPolicy\":\"Never\",\"value\":-5}",
	},
	{
		"azhzAAoJCgJ2MRIDUG9kErkHCh0KAnAyEgAaAWQiACoAMgA4AEIAYggKA3gv"
		"eRIBehKFBwoJCgFlEgQSAgoACh0KAWMSGJoBFQoECgJjbRIJCgFhEgFiGKQD"
		"GAAgAAoKCgFzEgUyAwoBeAoPCgNwdmMSCFIGCgJjbBAACjMKAnByEi3SASoK"
		"CiIICgAQlxwaAXQKHBIaChgKAWwSEwoAEg9tZXRhZGF0YS5sYWJlbHMKTAoD"
		"ZXBoEkXqAUIKQAoQCgASABoAIgAqADIAOABCABIsCg1SZWFkV3JpdGVPbmNl"
		"EhISEAoHc3RvcmFnZRIFCgMxR2kaADIFQmxvY2sKDQoBaBIICgYKAi94EgAS"
		"ugIKAWMSAWoaAnNoGgAqADIKCgAQUBhQIgAqADoFCgFFEgA6EQoBRhIAGgoi"
		"CAoDCgFzEgFrQkMKDgoDY3B1EgcKBTE1MDBtCh4KF2RldmljZXMua3ViZXZp"
		"cnQuaW8va3ZtEgMKATESEQoGbWVtb3J5EgcKBTUxMk1pShMKAWUQABoCL2Ui"
		"ACoETm9uZTIAUiYKGhIYCgIvaBIJCAEQABoDd2ViGgAiBUhUVFBTEAAYACAD"
		"KAAwAFoZCg0aCwoHCAAQkD8aABIAEAAYACAAKAAwAGIHEgUKAwoBYWoUL2Rl"
		"di90ZXJtaW5hdGlvbi1sb2dyAHodChAKCU5FVF9BRE1JThIDQUxMEABKB0Rl"
		"ZmF1bHSAAQCIAQCQAQCaAQoKABIGCgQKAmNtogEAqgENCgNwdmMSBi9kZXYv"
		"eBImCgNkYmcSB2J1c3lib3gqAEIAagByAIABAIgBAJABAKIBBEZpbGUaBU5l"
		"dmVyIAAyDENsdXN0ZXJGaXJzdEIHZGVmYXVsdEoAUgBYAWAAaAByJxAAGAAg"
		"ASAAIP///////////wEoa1IQCg5SdW50aW1lRGVmYXVsdIIBAIoBAJIBTwoU"
		"ChIKEAoOCgR6b25lEgZFeGlzdHMaNxI1CAESMQoXCgYKAWsSAXYSDQoBcRIC"
		"SW4aATEaATIaFmt1YmVybmV0ZXMuaW8vaG9zdG5hbWWaAQCoAQCyATUKHG5v"
		"ZGUua3ViZXJuZXRlcy5pby9ub3QtcmVhZHkSBkV4aXN0cxoAIglOb0V4ZWN1"
		"dGUoAMIBAMgBAOIBJgoka3ViZXZpcnQuaW8vdmlydHVhbC1tYWNoaW5lLXVu"
		"cGF1c2Vk8AEAggINCgNjcHUSBgoEMjUwbYoCGQgBEgR6b25lGg1Eb05vdFNj"
		"aGVkdWxlKAAaEAoAGgAiACoAMgBKAFoAcgAaACIA",
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":"
		"{\"annotations\":{\"x/y\":\"z\"},\"creationTimestamp\":null,"
		"\"name\":\"p2\",\"namespace\":\"d\"},\"spec\":{\"affinity\":"
		"{\"nodeAffinity\":{\"requiredDuringSchedulingIgnoredDuringEx"
		"ecution\":{\"nodeSelectorTerms\":[{\"matchExpressions\":"
		"[{\"key\":\"zone\",\"operator\":\"Exists\"}]}]}},"
		"\"podAntiAffinity\":{\"preferredDuringSchedulingIgnoredDurin"
		"gExecution\":[{\"podAffinityTerm\":{\"labelSelector\":"
		"{\"matchExpressions\":[{\"key\":\"q\",\"operator\":\"In\","
		"\"values\":[\"1\",\"2\"]}],\"matchLabels\":{\"k\":\"v\"}},"
		"\"topologyKey\":\"kubernetes.io/hostname\"},\"weight\":"
		"1}]}},\"automountServiceAccountToken\":false,\"containers\":"
		"[{\"command\":[\"sh\",\"\"],\"env\":[{\"name\":\"E\"},"
		"{\"name\":\"F\",\"valueFrom\":{\"secretKeyRef\":{\"key\":"
		"\"k\",\"name\":\"s\"}}}],\"envFrom\":[{\"configMapRef\":"
		"{\"name\":\"cm\"}}],\"image\":\"j\",\"lifecycle\":"
		"{\"preStop\":{\"exec\":{\"command\":[\"a\"]}}},"
		"\"livenessProbe\":{\"httpGet\":{\"path\":\"/h\",\"port\":"
		"\"web\",\"scheme\":\"HTTPS\"},\"periodSeconds\":3},\"name\":"
		"\"c\",\"ports\":[{\"containerPort\":80,\"hostPort\":80}],"
		"\"readinessProbe\":{\"tcpSocket\":{\"port\":8080}},"
		"\"resources\":{\"limits\":{\"cpu\":\"1500m\","
		"\"devices.kubevirt.io/kvm\":\"1\"},\"requests\":{\"memory\":"
		"\"512Mi\"}},\"securityContext\":{\"capabilities\":{\"add\":"
		"[\"NET_ADMIN\"],\"drop\":[\"ALL\"]},\"privileged\":false,"
		"\"procMount\":\"Default\"},\"terminationMessagePath\":"
		"\"/dev/termination-log\",\"volumeDevices\":[{\"devicePath\":"
		"\"/dev/x\",\"name\":\"pvc\"}],\"volumeMounts\":"
		"[{\"mountPath\":\"/e\",\"mountPropagation\":\"None\","
		"\"name\":\"e\"}]},{\"image\":\"busybox\",\"name\":\"dbg\","
		"\"resources\":{},\"terminationMessagePolicy\":\"File\"}],"
		"\"dnsPolicy\":\"ClusterFirst\",\"enableServiceLinks\":false,"
		"\"hostNetwork\":true,\"overhead\":{\"cpu\":\"250m\"},"
		"\"priority\":0,\"readinessGates\":[{\"conditionType\":"
		"\"kubevirt.io/virtual-machine-unpaused\"}],"
		"\"restartPolicy\":\"Never\",\"securityContext\":"
		"{\"fsGroup\":107,\"runAsNonRoot\":false,\"runAsUser\":0,"
		"\"seccompProfile\":{\"type\":\"RuntimeDefault\"},"
		"\"supplementalGroups\":[1,0,-1]},\"serviceAccountName\":"
		"\"default\",\"terminationGracePeriodSeconds\":0,"
		"\"tolerations\":[{\"effect\":\"NoExecute\",\"key\":"
		"\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\","
		"\"tolerationSeconds\":0}],\"topologySpreadConstraints\":"
		"[{\"maxSkew\":1,\"minDomains\":0,\"topologyKey\":\"zone\","
		"\"whenUnsatisfiable\":\"DoNotSchedule\"}],\"volumes\":"
		"[{\"emptyDir\":{},\"name\":\"e\"},{\"configMap\":"
		"{\"defaultMode\":0,\"items\":[{\"key\":\"a\",\"mode\":420,"
		"\"path\":\"b\"}],\"name\":\"cm\",\"optional\":false},"
		"\"name\":\"c\"},{\"name\":\"s\",\"secret\":{\"secretName\":"
		"\"x\"}},{\"name\":\"pvc\",\"persistentVolumeClaim\":"
		"{\"claimName\":\"cl\"}},{\"name\":\"pr\",\"projected\":"
		"{\"sources\":[{\"serviceAccountToken\":"
		"{\"expirationSeconds\":3607,\"path\":\"t\"}},"
		"{\"downwardAPI\":{\"items\":[{\"fieldRef\":{\"fieldPath\":"
		"\"metadata.labels\"},\"path\":\"l\"}]}}]}},{\"ephemeral\":"
		"{\"volumeClaimTemplate\":{\"metadata\":"
		"{\"creationTimestamp\":null},\"spec\":{\"accessModes\":"
		"[\"ReadWriteOnce\"],\"resources\":{\"requests\":"
		"{\"storage\":\"1Gi\"}},\"volumeMode\":\"Block\"}}},\"name\":"
		"\"eph\"},{\"hostPath\":{\"path\":\"/x\",\"type\":\"\"},"
		"\"name\":\"h\"}]},\"status\":{}}",
	},
	{
		"azhzAAoyChdhdXRob3JpemF0aW9uLms4cy5pby92MRIXU2VsZlN1YmplY3RB"
		"Y2Nlc3NSZXZpZXcSLwoQCgASABoAIgAqADIAOABCABIREg8KCC9oZWFsdGh6"
		"EgNnZXQaCAgAEgAaACAAGgAiAA==",
		"{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":"
		"\"SelfSubjectAccessReview\",\"metadata\":"
		"{\"creationTimestamp\":null},\"spec\":"
		"{\"nonResourceAttributes\":{\"path\":\"/healthz\",\"verb\":"
		"\"get\"}}}",
	},
};

static void
test_what_kubectl_sends_becomes_what_it_would_send_as_json(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		struct status st = STATUS_INIT;
		AUTO(js_unref) json_t *obj = NULL;
		AUTO(free_ptr) uint8_t *data = NULL;
		AUTO(free_ptr) char *text = NULL;
		struct err err;
		size_t len;

		assert_int_equal(base64_decode(BASE64_STD, samples[i].base64,
					       strlen(samples[i].base64), &data,
					       &len, &err),
				 0);
		assert_true(proto_is(data, len));
		assert_int_equal(proto_decode(data, len, &obj, &st), 0);
		text = js_text_sorted(obj, NULL);
		assert_string_equal(text, samples[i].json);
	}
}

/* A field whose value has a length; all are short enough for one byte. */
static void
put_field(struct buf *out, unsigned number, const void *data, size_t len)
{
	uint8_t head[2] = { (uint8_t)(number << 3 | 2), (uint8_t)len };

	assert_true(number < 16 && len < 128);
	(void)buf_append(out, head, sizeof(head));
	(void)buf_append(out, data, len);
}

static void
put_text(struct buf *out, unsigned number, const char *text)
{
	put_field(out, number, text, strlen(text));
}

/* The same for a length that takes four bytes. */
static void
put_long_head(struct buf *out, unsigned number, size_t len)
{
	uint8_t head[5] = { (uint8_t)(number << 3 | 2) };

	assert_true(len >= 1UL << 21 && len < 1UL << 28);
	for (unsigned i = 0; i < 4; i++)
		head[1 + i] =
			(uint8_t)((len >> (7 * i) & 0x7f) | (i < 3 ? 0x80 : 0));
	(void)buf_append(out, head, sizeof(head));
}

/* The envelope around raw bytes. */
static struct buf
wrap(const char *version, const char *kind, const void *raw, size_t len)
{
	struct buf out = BUF_INIT(BUF_UNLIMITED);
	struct buf type = BUF_INIT(BUF_UNLIMITED);

	put_text(&type, 1, version);
	put_text(&type, 2, kind);
	(void)buf_append(&out, "k8s\0", 4);
	put_field(&out, 1, type.data, type.len);
	if (len < 128)
		put_field(&out, 2, raw, len);
	else {
		put_long_head(&out, 2, len);
		(void)buf_append(&out, raw, len);
	}
	buf_done(&type);
	return out;
}

#define EXPECT(version, kind, raw, json) \
	expect_json(version, kind, raw, sizeof(raw) - 1, json)

static void
expect_json(const char *version, const char *kind, const char *raw, size_t len,
	    const char *json)
{
	AUTO(buf_done) struct buf data = wrap(version, kind, raw, len);
	AUTO(js_unref) json_t *obj = NULL;
	AUTO(free_ptr) char *text = NULL;
	struct status st = STATUS_INIT;

	if (proto_decode(data.data, data.len, &obj, &st) == -1)
		fail_msg("%s", st.message);
	text = js_text_sorted(obj, NULL);
	assert_string_equal(text, json);
}

#define REFUSE(version, kind, raw, code, text) \
	expect_refusal(version, kind, raw, sizeof(raw) - 1, code, text)

static void
expect_refusal(const char *version, const char *kind, const char *raw,
	       size_t len, int code, const char *text)
{
	AUTO(buf_done) struct buf data = wrap(version, kind, raw, len);
	AUTO(status_done) struct status st = STATUS_INIT;
	json_t *obj = NULL;

	assert_int_equal(proto_decode(data.data, data.len, &obj, &st), -1);
	assert_null(obj);
	assert_int_equal(st.code, code);
	assert_non_null(strstr(st.message, text));
}

static void
test_times_are_written_as_text_and_null_when_they_were_never_set(void **state)
{
	(void)state;
	EXPECT("coordination.k8s.io/v1", "Lease",
	       "\x0a\x02\x42\x00"
	       "\x12\x0e\x0a\x01h\x22\x09\x08\x88\xfa\xe9\xd7\x06\x10\xc0\x0c",
	       "{\"apiVersion\":\"coordination.k8s.io/v1\",\"kind\":\"Lease\","
	       "\"metadata\":{\"creationTimestamp\":null},\"spec\":{"
	       "\"holderIdentity\":\"h\",\"renewTime\":"
	       "\"2026-11-16T03:48:24.000001Z\"}}");
	EXPECT("v1", "Namespace",
	       "\x0a\x0a\x42\x08\x08\x88\xfa\xe9\xd7\x06\x10\x01",
	       "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{"
	       "\"creationTimestamp\":\"2026-11-16T03:48:24Z\"}}");
	REFUSE("v1", "Namespace",
	       "\x0a\x0b\x42\x09\x08\xff\xff\xff\xff\xff\xff\xff\x7f", 400,
	       "time");
	REFUSE("v1", "Namespace", "\x0a\x08\x42\x06\x10\x80\x94\xeb\xdc\x03",
	       400, "time");
}

static void
test_members_of_an_inlined_message_stand_in_its_place(void **state)
{
	(void)state;
	EXPECT("v1", "PersistentVolume",
	       "\x12\x10\x12\x06\x1a\x04\x0a\x02/x\x2a\x00\x32\x04tail",
	       "{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolume\","
	       "\"spec\":{\"hostPath\":{\"path\":\"/x\"},"
	       "\"storageClassName\":\"tail\"}}");
}

static void
test_delete_options_may_come_in_any_version(void **state)
{
	(void)state;
	EXPECT("kubevirt.io/v1", "DeleteOptions",
	       "\x08\x00\x12\x03\x0a\x01u\x22\x0a"
	       "Foreground",
	       "{\"apiVersion\":\"kubevirt.io/v1\",\"gracePeriodSeconds\":0,"
	       "\"kind\":\"DeleteOptions\",\"preconditions\":{\"uid\":\"u\"},"
	       "\"propagationPolicy\":\"Foreground\"}");
}

static void
test_lists_inside_of_maps_lose_the_message_around_them(void **state)
{
	(void)state;
	EXPECT("authorization.k8s.io/v1", "SubjectAccessReview",
	       "\x12\x0e\x1a\x01u\x2a\x09\x0a\x01k\x12\x04\x0a\x02v1",
	       "{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":"
	       "\"SubjectAccessReview\",\"spec\":{\"extra\":{\"k\":[\"v1\"]},"
	       "\"user\":\"u\"}}");
}

static void
test_unknown_fields_are_skipped_and_missing_map_values_are_empty(void **state)
{
	(void)state;
	EXPECT("v1", "ConfigMap",
	       "\x12\x03\x0a\x01k\x12\x00\x7a\x01z\x1a\x05\x0a\x01"
	       "b\x12\x00",
	       "{\"apiVersion\":\"v1\",\"binaryData\":{\"b\":\"\"},"
	       "\"data\":{\"\":\"\",\"k\":\"\"},\"kind\":\"ConfigMap\"}");
}

static void
test_kinds_without_this_form_are_an_unsupported_media_type(void **state)
{
	(void)state;
	REFUSE("kubevirt.io/v1", "VirtualMachine", "\x0a\x00", 415,
	       "accepted media types include: application/json, "
	       "application/yaml");
	REFUSE("v2", "Pod", "", 415, "unknown format");
	REFUSE("v1", "Deployment", "", 415, "unknown format");
}

static void
test_damaged_objects_are_bad_requests(void **state)
{
	AUTO(status_done) struct status st = STATUS_INIT;
	json_t *obj = NULL;

	(void)state;
	REFUSE("v1", "Pod", "\x0a\x7f", 400, "not a valid protobuf message");
	REFUSE("v1", "Pod", "\xff", 400, "not a valid protobuf message");
	REFUSE("v1", "ConfigMap", "\x12\x06\x0a\x01k\x12\x01\xff", 400,
	       "the text of field 'value' is not UTF-8");
	REFUSE("v1", "ConfigMap", "\x12\x06\x0a\x01\xff\x12\x01v", 400,
	       "the text of field 'data' is not UTF-8");
	REFUSE("v1", "ResourceQuota",
	       "\x12\x09\x0a\x07\x0a\x01p\x12\x02\x08\x01", 400,
	       "not a valid protobuf message");
	REFUSE("v1", "ResourceQuota", "\x12\x05\x0a\x03\x0a\x01p", 400,
	       "an entry of a map has no value");
	REFUSE("", "Pod", "", 400, "'apiVersion' is missing");
	REFUSE("v1", "", "", 400, "'Kind' is missing");
	REFUSE("\xff", "DeleteOptions", "", 400, "apiVersion is not UTF-8");

	assert_int_equal(proto_decode((const uint8_t *)"k8s", 3, &obj, &st),
			 -1);
	assert_int_equal(st.code, 400);
	assert_int_equal(proto_decode((const uint8_t *)"k8s\0", 4, &obj, &st),
			 -1);
	assert_int_equal(st.code, 400);
	assert_int_equal(proto_decode((const uint8_t *)"k8s\0j", 5, &obj, &st),
			 -1);
	assert_string_equal(st.message,
			    "the Envelope is not a valid protobuf message");
	assert_int_equal(proto_decode(NULL, 0, &obj, &st), -1);
	assert_int_equal(st.code, 400);
}

/* The library would cut it there, and nobody would notice. */
static void
test_a_text_with_a_nul_inside_is_refused(void **state)
{
	(void)state;
	REFUSE("v1", "ConfigMap",
	       "\x12\x08\x0a\x01k\x12\x03"
	       "a\0b",
	       400, "has a text with a NUL in it");
}

/* Two bytes on the wire are a container, which is large in memory. */
static void
test_an_object_that_would_take_too_much_memory_is_refused(void **state)
{
	size_t count = 1024UL * 1024;
	AUTO(buf_done) struct buf raw = BUF_INIT(BUF_UNLIMITED);

	(void)state;
	put_long_head(&raw, 2, 2 * count);
	for (size_t i = 0; i < count; i++)
		(void)buf_append(&raw, "\x12\x00", 2);
	expect_refusal("v1", "Pod", (const char *)raw.data, raw.len, 400,
		       "more than 67108864 bytes of memory");
}

static void
test_every_cut_of_an_object_is_refused_or_whole(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		AUTO(free_ptr) uint8_t *data = NULL;
		struct err err;
		size_t len;

		assert_int_equal(base64_decode(BASE64_STD, samples[i].base64,
					       strlen(samples[i].base64), &data,
					       &len, &err),
				 0);
		for (size_t cut = 0; cut < len; cut++) {
			AUTO(status_done) struct status st = STATUS_INIT;
			AUTO(js_unref) json_t *obj = NULL;
			/* On the heap, for the sanitizer to see the end. */
			AUTO(free_ptr) uint8_t *part = xmalloc0(cut + 1);

			part = xrealloc(part, cut == 0 ? 1 : cut);
			memcpy(part, data, cut);
			if (proto_decode(part, cut, &obj, &st) == -1)
				assert_in_range(st.code, 400, 415);
			else
				assert_true(json_is_object(obj));
		}
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_what_kubectl_sends_becomes_what_it_would_send_as_json),
		cmocka_unit_test(
			test_times_are_written_as_text_and_null_when_they_were_never_set),
		cmocka_unit_test(
			test_members_of_an_inlined_message_stand_in_its_place),
		cmocka_unit_test(test_delete_options_may_come_in_any_version),
		cmocka_unit_test(
			test_lists_inside_of_maps_lose_the_message_around_them),
		cmocka_unit_test(
			test_unknown_fields_are_skipped_and_missing_map_values_are_empty),
		cmocka_unit_test(
			test_kinds_without_this_form_are_an_unsupported_media_type),
		cmocka_unit_test(test_damaged_objects_are_bad_requests),
		cmocka_unit_test(test_a_text_with_a_nul_inside_is_refused),
		cmocka_unit_test(
			test_an_object_that_would_take_too_much_memory_is_refused),
		cmocka_unit_test(
			test_every_cut_of_an_object_is_refused_or_whole),
	};

	return cmocka_run_group_tests_name("proto", tests, NULL, NULL);
}
