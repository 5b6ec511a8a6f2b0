/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_BINDPLAN_H
#define CLUSTER_CONTROL_BINDPLAN_H

/*
 * bindplan - what is the next step to bring a claim and a volume together.
 *
 * Pure: each step is written, its event changes the view, and the plan is made
 * anew. The steps of a binding are, in this order:
 *   the volume names the claim (spec.claimRef)
 *   the claim names the volume (spec.volumeName), and the volume is Bound
 *   the claim is Bound
 */

struct claim;
struct view;
struct volume;

enum claim_step {
	CLAIM_NOTHING,
	CLAIM_RESERVE,   /* write claimRef into *ret_volume */
	CLAIM_NAME,      /* write volumeName, of *ret_volume */
	CLAIM_BOUND,     /* phase Bound, with what *ret_volume has */
	CLAIM_LOST,      /* phase Lost: its volume is gone */
	CLAIM_MISBOUND,  /* phase Lost: its volume is somebody else's */
	CLAIM_WAITS,     /* for the first consumer */
	CLAIM_NO_VOLUME, /* none is there, and nobody makes any */
	CLAIM_NO_CLASS,  /* its class does not exist */
	CLAIM_PROVISION, /* somebody else has to make one */
};

enum claim_step bindplan_claim(const struct view *view,
			       const struct claim *claim,
			       const struct volume **ret_volume);

/* The phase the volume should have: "Available", "Bound" or "Released". */
const char *bindplan_volume_phase(const struct view *view,
				  const struct volume *volume);

#endif
