/* SPDX-License-Identifier: Apache-2.0 */
#include "handler/migratable.h"

#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "base/str.h"

#define HOST_MODEL "host-model"

/* Only the pod's own network matters: its address is the pod's. */
static bool
network_hinders(const struct migratable_facts *f)
{
	switch (f->vmi->pod_binding) {
	case BINDING_NONE:
	case BINDING_MASQUERADE:
	case BINDING_PASST:
		return false;
	case BINDING_BRIDGE:
		return !f->vmi->allow_bridge;
	case BINDING_PLUGIN:
	case BINDING_OTHER:
		break;
	}
	return true;
}

static bool
cpu_hinders(const struct migratable_facts *f)
{
	return str_equal(f->vmi->cpu_model, HOST_MODEL) && !f->host_model_known;
}

static bool
devices_hinder(const struct migratable_facts *f)
{
	return f->vmi->host_devices;
}

static const struct {
	bool (*hinders)(const struct migratable_facts *f);
	const char *reason;
	const char *message;
} hindrances[] = {
	{ network_hinders, REASON_INTERFACE_NOT_MIGRATABLE,
	  "cannot migrate VMI which does not use masquerade or a migratable "
	  "plugin to connect to the pod network" },
	{ cpu_hinders, "CPUModeLiveMigratable",
	  "cannot migrate VMI with CPU mode host-model: the model of this "
	  "node's CPU is not known" },
	{ devices_hinder, "HostDeviceNotLiveMigratable",
	  "VMI uses a PCI host devices" },
};

static void
refuse(struct migratable *m, const char *reason, const char *message)
{
	if (m->reason == NULL) {
		m->reason = reason;
		(void)snprintf(m->message, sizeof(m->message), "%s", message);
	}
	m->ok = false;
}

void
migratable_judge(const struct migratable_facts *facts, struct migratable *ret)
{
	struct migratable *m = ret;
	enum storage_verdict verdict;
	char text[sizeof(m->message)] = "";
	size_t len = 0;

	memset(m, 0, sizeof(*m));
	m->ok = true;
	m->storage_ok = true;
	for (size_t i = 0; i < ARRAY_LEN(hindrances); i++) {
		const char *message = hindrances[i].message;
		int n;

		if (!hindrances[i].hinders(facts))
			continue;
		refuse(m, hindrances[i].reason, message);
		m->storage_ok = false;
		n = snprintf(m->storage_message + len,
			     sizeof(m->storage_message) - len, "%s%s",
			     len > 0 ? "; " : "", message);
		if (n > 0 && (size_t)n < sizeof(m->storage_message) - len)
			len += (size_t)n;
	}
	verdict = storage_judge(facts->vmi, facts->claim, facts->arg, text,
				sizeof(text));
	m->block = verdict == STORAGE_COPY;
	if (verdict == STORAGE_BLOCKED)
		refuse(m, REASON_DISKS_NOT_MIGRATABLE, text);
}
