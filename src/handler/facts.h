/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_FACTS_H
#define HANDLER_FACTS_H

/*
 * facts - all that this node knows about one machine at one moment.
 *
 * A machine concerns the node if it runs here, is received here, or has a pod
 * here. Whoever fills it in borrows everything to it for as long as it is used.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/pod.h"
#include "api/vmi.h"
#include "base/js.h"
#include "launchrpc/request.h"
#include "launchrpc/status.h"

struct migratable;

/* The way to the launcher of the machine's pod on this node. */
enum launchlink_state {
	LINK_NONE,    /* there is no pod, or it has ended */
	LINK_WAITING, /* it does not answer yet, or not any more */
	LINK_REFUSED, /* no common protocol, or not who it should be */
	LINK_READY,   /* status is what it says */
};

/* What ferry-proxy has for this machine: the listener of a side, started for
 * this migration by whichever handler ran then. None while it does not
 * answer. */
struct facts_listener {
	const char *uid;     /* of the migration; "" for none, "?" unknown */
	const char *address; /* target only */
	const json_t *ports; /* target only: {"TCPPORT":CHANNEL} */
};

struct facts {
	int64_t now_us;
	const char *node;      /* this one */
	const struct vmi *vmi; /* NULL: gone */
	const json_t *object;  /* the same, whole; NULL: gone */
	const struct pod *pod; /* its launcher's on this node; NULL */
	enum launchlink_state link;
	const char *link_text;                  /* what is wrong with it; "" */
	const struct launch_status *status;     /* NULL unless LINK_READY */
	const struct launch_versions *versions; /* the same */
	/* status.interfaces for the machine, once its network is set up. */
	const json_t *interfaces;
	int64_t network_us; /* when that was made or looked at last */
	/* Whether it can be moved; NULL until that has been found out. */
	const struct migratable *migratable;
	const char *selinux_context; /* of its pod, "none" without SELinux */
	bool proxy_up;               /* ferry-proxy of this node answers */
	struct facts_listener source, target;
	/* `finalize` has been answered for this migration; "" for none. */
	const char *finalized;
	/* What ferry-proxy says about the failure of this migration, once it
	 * has been asked; else, or if it knows none, "". */
	const char *blame_uid, *blame_code, *blame_text;
	/* Sockets have been removed after this migration; "" for none. */
	const char *swept;
	/* When the guest was asked to shut down, by this handler; 0: not yet.
	 */
	int64_t shutdown_us;
	/* Why the request to pause or resume that the object has could not be
	 * carried out; "" when it was not tried, or could. */
	const char *pause_failure;
};

/* The machine is this node's: it runs here, or is about to. */
bool facts_is_owner(const struct facts *f);
/* Its migration state says that it leaves from here, or comes here, and that
 * is not over yet for this node. */
bool facts_is_source(const struct facts *f);
bool facts_is_target(const struct facts *f);
/* The launcher's record of the migration that the machine's state is about;
 * NULL when it has none for that side. */
const struct launch_record *facts_record(const struct facts *f,
					 enum launch_role role);
/* The launcher has a domain that uses memory and disks. */
bool facts_has_domain(const struct facts *f);
/* Controller or nodes have given it an end. */
bool facts_is_over(const struct facts *f);

#endif
