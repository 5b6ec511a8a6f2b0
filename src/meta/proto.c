/* SPDX-License-Identifier: Apache-2.0 */
#include "meta/proto.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"
#include "meta/proto/admission.pb-c.h"
#include "meta/proto/authentication.pb-c.h"
#include "meta/proto/authorization.pb-c.h"
#include "meta/proto/autoscaling.pb-c.h"
#include "meta/proto/coordination.pb-c.h"
#include "meta/proto/core.pb-c.h"
#include "meta/proto/events.pb-c.h"
#include "meta/proto/networking.pb-c.h"
#include "meta/proto/pod.pb-c.h"
#include "meta/proto/policy.pb-c.h"
#include "meta/proto/rbac.pb-c.h"
#include "meta/proto/scheduling.pb-c.h"
#include "meta/proto/storage.pb-c.h"
#include "meta/proto_json.h"
#include "meta/status.h"

/* Where a kind has no such form, these are left. */
#define OTHER_TYPES "application/json, application/yaml"

static const uint8_t magic[] = { 'k', '8', 's', '\0' };

static const struct kind_row {
	const char *version; /* NULL: any */
	const char *kind;
	const ProtobufCMessageDescriptor *descriptor;
} kinds[] = {
	{ "v1", "Binding", &core__binding__descriptor },
	{ "v1", "ConfigMap", &core__config_map__descriptor },
	{ "v1", "Endpoints", &core__endpoints__descriptor },
	{ "v1", "Event", &core__event__descriptor },
	{ "v1", "LimitRange", &core__limit_range__descriptor },
	{ "v1", "Namespace", &core__namespace__descriptor },
	{ "v1", "Node", &core__node__descriptor },
	{ "v1", "PersistentVolume", &core__persistent_volume__descriptor },
	{ "v1", "PersistentVolumeClaim",
	  &core__persistent_volume_claim__descriptor },
	{ "v1", "Pod", &core__pod__descriptor },
	{ "v1", "ResourceQuota", &core__resource_quota__descriptor },
	{ "v1", "Secret", &core__secret__descriptor },
	{ "v1", "Service", &core__service__descriptor },
	{ "v1", "ServiceAccount", &core__service_account__descriptor },
	{ "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration",
	  &admission__mutating_webhook_configuration__descriptor },
	{ "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration",
	  &admission__validating_webhook_configuration__descriptor },
	{ "authentication.k8s.io/v1", "SelfSubjectReview",
	  &authentication__self_subject_review__descriptor },
	{ "authentication.k8s.io/v1alpha1", "SelfSubjectReview",
	  &authentication__self_subject_review__descriptor },
	{ "authentication.k8s.io/v1beta1", "SelfSubjectReview",
	  &authentication__self_subject_review__descriptor },
	{ "authentication.k8s.io/v1", "TokenRequest",
	  &authentication__token_request__descriptor },
	{ "authentication.k8s.io/v1", "TokenReview",
	  &authentication__token_review__descriptor },
	{ "authorization.k8s.io/v1", "LocalSubjectAccessReview",
	  &authorization__local_subject_access_review__descriptor },
	{ "authorization.k8s.io/v1", "SelfSubjectAccessReview",
	  &authorization__self_subject_access_review__descriptor },
	{ "authorization.k8s.io/v1", "SelfSubjectRulesReview",
	  &authorization__self_subject_rules_review__descriptor },
	{ "authorization.k8s.io/v1", "SubjectAccessReview",
	  &authorization__subject_access_review__descriptor },
	{ "autoscaling/v1", "Scale", &autoscaling__scale__descriptor },
	{ "coordination.k8s.io/v1", "Lease", &coordination__lease__descriptor },
	{ "events.k8s.io/v1", "Event", &events__event__descriptor },
	{ "networking.k8s.io/v1", "NetworkPolicy",
	  &networking__network_policy__descriptor },
	{ "policy/v1", "Eviction", &policy__eviction__descriptor },
	{ "policy/v1beta1", "Eviction", &policy__eviction__descriptor },
	{ "policy/v1", "PodDisruptionBudget",
	  &policy__pod_disruption_budget__descriptor },
	{ "policy/v1beta1", "PodDisruptionBudget",
	  &policy__pod_disruption_budget__descriptor },
	{ "rbac.authorization.k8s.io/v1", "ClusterRole",
	  &rbac__cluster_role__descriptor },
	{ "rbac.authorization.k8s.io/v1", "ClusterRoleBinding",
	  &rbac__cluster_role_binding__descriptor },
	{ "rbac.authorization.k8s.io/v1", "Role", &rbac__role__descriptor },
	{ "rbac.authorization.k8s.io/v1", "RoleBinding",
	  &rbac__role_binding__descriptor },
	{ "scheduling.k8s.io/v1", "PriorityClass",
	  &scheduling__priority_class__descriptor },
	{ "storage.k8s.io/v1", "StorageClass",
	  &storage__storage_class__descriptor },
	/* Clients send it in the version of whatever they delete. */
	{ NULL, "DeleteOptions", &meta__delete_options__descriptor },
};

static const ProtobufCMessageDescriptor *
find_kind(const char *version, const char *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (str_equal(kinds[i].kind, kind) &&
		    (kinds[i].version == NULL ||
		     str_equal(kinds[i].version, version)))
			return kinds[i].descriptor;
	}
	return NULL;
}

bool
proto_is(const uint8_t *data, size_t len)
{
	return len >= sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

/* What is left of PROTO_MAX_MEMORY; what is freed does not come back. */
struct budget {
	size_t left;
	bool exceeded;
};

static void *
budget_alloc(void *arg, size_t size)
{
	struct budget *budget = arg;

	if (size > budget->left) {
		budget->exceeded = true;
		return NULL;
	}
	budget->left -= size;
	return xmalloc0(size);
}

static void
budget_free(void *arg, void *p)
{
	(void)arg;
	free(p);
}

/*
 * The library's texts end at their first NUL. One that has a NUL inside would
 * be cut silently; it shows as a message that would be sent in fewer bytes.
 */
static bool
is_whole(const ProtobufCMessage *message, size_t len)
{
	return protobuf_c_message_get_packed_size(message) >= len;
}

/* Unpacks, and hands the message to convert before it is freed again. */
static int
unpack(const ProtobufCMessageDescriptor *descriptor,
       const ProtobufCBinaryData *data,
       int (*convert)(const ProtobufCMessage *, json_t **ret, struct status *),
       json_t **ret, struct status *st)
{
	struct budget budget = { .left = PROTO_MAX_MEMORY };
	ProtobufCAllocator allocator = { budget_alloc, budget_free, &budget };
	ProtobufCMessage *message = protobuf_c_message_unpack(
		descriptor, &allocator, data->len, data->data);
	int r;

	if (message == NULL && budget.exceeded)
		return status_bad_request(
			st, "the %s needs more than %u bytes of memory",
			descriptor->short_name, PROTO_MAX_MEMORY);
	if (message == NULL)
		return status_bad_request(st,
					  "the %s is not a valid protobuf "
					  "message",
					  descriptor->short_name);
	if (!is_whole(message, data->len)) {
		r = status_bad_request(
			st,
			"the %s has a text with a NUL in it, or a value that "
			"is not encoded in the shortest way",
			descriptor->short_name);
	} else {
		r = convert(message, ret, st);
	}
	protobuf_c_message_free_unpacked(message, &allocator);
	return r;
}

static int
convert_object(const ProtobufCMessage *message, json_t **ret, struct status *st)
{
	*ret = proto_json(message, st);
	return *ret == NULL ? -1 : 0;
}

static bool
is_empty(const char *s)
{
	return s == NULL || s[0] == '\0';
}

static int
convert_envelope(const ProtobufCMessage *message, json_t **ret,
		 struct status *st)
{
	const Meta__Envelope *envelope = (const Meta__Envelope *)message;
	const Meta__TypeMeta *type = envelope->typemeta;
	const ProtobufCMessageDescriptor *descriptor;
	AUTO(js_unref) json_t *obj = NULL;

	if (type == NULL || is_empty(type->kind))
		return status_bad_request(st, "Object 'Kind' is missing in the "
					      "protobuf message");
	if (is_empty(type->apiversion))
		return status_bad_request(st, "Object 'apiVersion' is missing "
					      "in the protobuf message");
	descriptor = find_kind(type->apiversion, type->kind);
	if (descriptor == NULL || !is_empty(envelope->contentencoding))
		return status_unsupported_media(st, OTHER_TYPES);

	if (unpack(descriptor, &envelope->raw, convert_object, &obj, st) == -1)
		return -1;
	(void)json_object_set_new(obj, "kind", json_string(type->kind));
	if (json_object_set_new(obj, "apiVersion",
				json_string(type->apiversion)) == -1)
		return status_bad_request(st, "the apiVersion is not UTF-8");
	*ret = TAKE_PTR(obj);
	return 0;
}

int
proto_decode(const uint8_t *data, size_t len, json_t **ret, struct status *st)
{
	ProtobufCBinaryData body;

	if (!proto_is(data, len))
		return status_bad_request(
			st, "provided data does not appear to be a protobuf "
			    "message, expected prefix [107 56 115 0]");
	body.data = (uint8_t *)(uintptr_t)data + sizeof(magic);
	body.len = len - sizeof(magic);
	return unpack(&meta__envelope__descriptor, &body, convert_envelope, ret,
		      st);
}
