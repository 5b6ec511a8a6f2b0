/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_RENDER_RENDER_H
#define CONTROLLER_RENDER_RENDER_H

/*
 * render - makes objects out of objects: an instance of a machine, the pod that
 * an instance runs in, the pod that a migration moves it to.
 *
 * Pure: what is made follows from what is given, and nothing is asked or
 * written. docs/rendering.md says what is in the pods and why; the files under
 * tests/data/render show it.
 *
 * All take objects as the API gives them, leave them as they are, and return a
 * new object that shares nothing with them; NULL with err filled when there is
 * none to be made. err's text begins with the path of the member that is wrong.
 *
 * Threading: any thread, with JSON of its own.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

struct err;
struct kubevirt_config;

#define RENDER_COMPUTE "compute" /* the container that the machine runs in */
#define RENDER_NONROOT_ID 107    /* user and group of machines */

/* What pods depend on besides their machine. All is borrowed. */
struct render_env {
	const struct kubevirt_config *config;
	/* spec.configuration of the KubeVirt object, for what only pods need;
	 * NULL for none. */
	const json_t *configuration;
	const char *launcher_image;
	const char *launcher_command; /* NULL: RENDER_LAUNCHER */
	/* Whether a claim is a block device; NULL: none is. */
	bool (*claim_is_block)(void *arg, const char *claim);
	void *arg;
	/* Any number. Spreads the time that launchers wait for their machine,
	 * so that those of many failed migrations do not end at once. */
	uint32_t random;
};

#define RENDER_LAUNCHER "/usr/bin/ferry-launcher"

/* The pod of an instance that starts. */
json_t *render_pod(const json_t *vmi, const struct render_env *env,
		   struct err *err);

/* The migration that a pod is made for. All is borrowed. */
struct render_migration {
	const char *uid;
	const char *name;
	const json_t *added_node_selector; /* NULL for none */
	const json_t *source_pod;
	/* Needed for its CPU; NULL when it is gone, which is an error for
	 * machines that depend on it. */
	const json_t *source_node;
};

/*
 * The pod that a migration moves the instance to. ERR_CONFLICT when the source
 * pod does not say, or not yet, what the target needs to be alike: digests of
 * images, the SELinux context, the CPU of its node.
 */
json_t *render_target_pod(const json_t *vmi, const struct render_env *env,
			  const struct render_migration *migration,
			  struct err *err);

/*
 * An instance of a machine. It has the machine's name, which makes sure that
 * there is only one, and carries the machine's generation so that later changes
 * to the machine can be told. Paused from the start when paused is true.
 */
json_t *render_vmi(const json_t *vm, bool paused, struct err *err);

/* A migration away from a node that is to be left; priority is one of
 * api/migration.h's names, "" for none. */
json_t *render_evacuation(const json_t *vmi, const char *node,
			  const char *priority);

#endif
