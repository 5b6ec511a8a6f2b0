/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_SETUP_H
#define CTL_SETUP_H

/*
 * setup - the steps by which a cluster on this machine comes up.
 *
 * Each does what is missing and waits until it works, with a deadline.
 *
 * Threading: one thread.
 */

#include "ctl/kubesync.h"
#include "ctl/state.h"
#include "ctl/tools.h"

#define SETUP_WAIT_MS 120000U /* for one thing to become ready */

/* Whether machines run on KVM. */
enum setup_kvm {
	SETUP_KVM_AUTO, /* where a vCPU was seen to run on it */
	SETUP_KVM_YES,  /* the cluster does not come up without */
	SETUP_KVM_NO,   /* it is not even tried */
};

struct setup {
	struct state *state;
	const char *bin_dir; /* NULL: beside ferryctl */
	enum setup_kvm kvm;
	bool uses_kvm; /* what came of it; after setup_probe() */
	char *tools[TOOL_COUNT];
	struct kubesync *kube;
};

struct setup_step {
	const char *text; /* what a person is told */
	int (*run)(struct setup *setup, struct err *err);
};

/* In order; the last one has no text. */
extern const struct setup_step setup_steps[];

void setup_done(struct setup *setup);

/* setup_nodes.c: the steps that are about nodes. */
int setup_images(struct setup *setup, struct err *err);
/*
 * Whether machines are to run on KVM, if a vCPU runs on it and there is what
 * their networks ask for then: without it they would wait for ever. Fails where
 * it is wished for in any case and cannot be.
 */
int setup_choose_kvm(enum setup_kvm wish, bool runs, bool vhost_net,
		     bool *ret_uses, struct err *err);
/* What was found out the first time holds for as long as the cluster. */
int setup_probe(struct setup *setup, struct err *err);
int setup_kubelets(struct setup *setup, struct err *err);
int setup_handlers(struct setup *setup, struct err *err);
int setup_wait_nodes(struct setup *setup, struct err *err);

/* Writes a file that only its owner reads. */
int setup_write(const char *path, const char *text, struct err *err);
/* Starts a program unless it runs; argv is taken, without its first. */
int setup_start(struct setup *setup, enum tool tool, unsigned node,
		json_t *argv, struct err *err);
/*
 * Asks again and again until ready says so; 1: it is, 0: not yet, -1: it will
 * never be. Ends early when the program (NULL: none) has ended, with its last
 * words.
 */
int setup_wait(struct setup *setup, const char *what, enum tool tool,
	       unsigned node, int (*ready)(struct setup *setup, unsigned node),
	       struct err *err);

#endif
