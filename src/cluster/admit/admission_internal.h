/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_ADMIT_ADMISSION_INTERNAL_H
#define CLUSTER_ADMIT_ADMISSION_INTERNAL_H

/*
 * admission_internal - what admission.c, mutate.c and validate.c share.
 *
 * A run is one request at one gate that cannot be answered at once. It is in
 * the list of its admission until it ends, by run_end() and only once.
 */

#include "cluster/admit/admission.h"

struct hook;
struct hooks;
struct hook_set;
struct hookcall;
struct plugins;
struct review_answer;
struct subscription;

struct run {
	struct admission *adm;
	struct admission_request *req;
	admission_done done;
	void *arg;
	/* Cancels what it waits for and frees it; its list and the callback
	 * are run_end()'s. */
	void (*release)(struct run *run);
	/* Looks whether a ServiceAccount that appeared ends the waiting; NULL
	 * for runs that wait for something else. */
	void (*look)(struct run *run);
	struct run *prev, *next;
};

struct admission {
	struct admission_config config;
	struct hooks *mutating;
	struct hooks *validating;
	struct plugins *plugins;
	struct quota *quota;
	struct subscription *on_account;
	struct run *runs;
};

/* Fills in what all runs have from from, and puts it in the list. */
void run_init(struct run *run, const struct run *from);
/* Takes it from the list, releases it and calls back. st is emptied. */
void run_end(struct run *run, int result, struct status *st);

/* Where requests go on to the webhooks: the last step of each gate. Both free
 * nothing of from, whose adm, req, done and arg they use. */
void mutate_start(const struct run *from);
void validate_start(const struct run *from);

/* Whether webhooks do not get to see the request: one about webhooks. */
bool run_is_exempt(const struct run *run);
/* Asks the hook about the request of the run. */
struct hookcall *run_ask(struct run *run, const struct hook *hook,
			 const struct kind_version *version,
			 void (*done)(struct hookcall *call,
				      struct review_answer *answer, void *arg));
/* -1 with 400 when the request is a dry run and the hook does not take it. */
int run_check_dry(const struct run *run, const struct hook *hook,
		  struct status *st);
/* What an answer means, patch apart: 0, or -1 with what the client gets.
 * Warnings are handed on. */
int run_judge(struct run *run, const struct hook *hook,
	      struct review_answer *answer, struct status *st);

#endif
