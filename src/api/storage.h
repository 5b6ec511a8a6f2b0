/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_STORAGE_H
#define API_STORAGE_H

/*
 * storage - claims, and whether a machine's disks can be reached from two nodes
 * at a time.
 *
 * Threading: as objmeta.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api/objmeta.h"

struct vmi;

enum access_mode {
	ACCESS_RWO = 1 << 0,
	ACCESS_ROX = 1 << 1,
	ACCESS_RWX = 1 << 2,
	ACCESS_RWOP = 1 << 3,
};

struct pvc {
	struct objmeta meta;
	unsigned access; /* ACCESS_...: the status's, or else the spec's */
	bool block;      /* volumeMode Block */
	bool bound;
	char *storage_class; /* "" for none */
	char *migration;     /* label kubevirt.io/migrationName */
	char *filling;       /* how far CDI is with its contents; "": not its */
	uint64_t size_bytes; /* capacity, or else the request */
};

struct pvc *pvc_decode(const json_t *object, struct err *err);
void pvc_free(struct pvc *pvc);
void pvc_unref(struct pvc **pointer);

/* What a machine's status.volumeStatus[].persistentVolumeClaimInfo says of it,
 * so that nodes need not read claims. A new reference. */
json_t *pvc_info_json(const struct pvc *pvc);

/* How a class of storage can be used: the best of its StorageProfile. */
struct storage_profile {
	struct objmeta meta;
	unsigned access_block, access_filesystem; /* ACCESS_... of all sets */
};

struct storage_profile *storage_profile_decode(const json_t *object,
					       struct err *err);
void storage_profile_free(struct storage_profile *profile);
void storage_profile_unref(struct storage_profile **pointer);

/* All nodes can write to it at once. */
bool pvc_is_shared(const struct pvc *pvc);
/* Nothing is being written to it that a machine is to start from. A claim that
 * is filled when its first pod comes counts as filled: the pod waits for it. */
bool pvc_is_filled(const struct pvc *pvc);

enum storage_verdict {
	STORAGE_SHARED,  /* nothing to copy */
	STORAGE_COPY,    /* moves with the disks that are not shared */
	STORAGE_BLOCKED, /* cannot move */
};

/*
 * For people: what the class of a claim that is not shared could do, and so
 * what would let its machine move. profile is the class's, NULL when it is not
 * known. Returns text.
 */
#define STORAGE_ADVICE_SIZE 384
const char *storage_advice(const struct pvc *pvc,
			   const struct storage_profile *profile,
			   char text[STORAGE_ADVICE_SIZE]);

/*
 * What the disks of a machine mean for its migration. get returns the claim of
 * a name or NULL, which counts as one that is not shared. text, when blocked,
 * is what KubeVirt says about the first volume that is in the way.
 */
enum storage_verdict storage_judge(const struct vmi *vmi,
				   const struct pvc *(*get)(void *arg,
							    const char *name),
				   void *arg, char *text, size_t text_size);

#endif
