/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides from every combination of facts that can make a difference, and holds
 * each decision to the laws of testlaws.h, and to being the same when it is
 * made again, and done when it has been carried out.
 *
 * All facts with all others are 10^24 combinations. So the product is split:
 *
 * - Facts that are looked at together are combined fully (groups[]): what
 *   hinders a pod, who was first, what becomes of a pod, what nodes say of a
 *   transfer, what is left at the end.
 * - From what goes well in each phase each two facts are changed to each pair
 *   of values, for canceled ones and others, confirmed and not.
 * - Of all facts each three have all their values together somewhere, with the
 *   others at random.
 * - That facts of different groups need not be combined is tested: in a phase
 *   that does not look at a fact (read_in[]) nothing changes with it.
 */
#include <stdio.h>
#include <string.h>

#include "api/names.h"
#include "base/array.h"
#include "base/test.h"
#include "controller/migration/decide.h"
#include "controller/migration/ladder.h"
#include "controller/migration/steps.h"
#include "controller/migration/testeffect.h"
#include "controller/migration/testlaws.h"
#include "controller/migration/testspace.h"

/* How many turns there can be when nothing happens: a stamp, what the phase
 * calls for twice, the end, its three goes, and one to see that all is done. */
#define TURNS_MAX 8
#define UNREAD_ROWS 3000

static struct testfacts t;
static struct decision d, again;
static unsigned long long decisions, points;
static unsigned long long seed = 1;

static unsigned
dice(unsigned sides)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (unsigned)(seed >> 33) % sides;
}

/* Which rows of the tables were used, by all tests. */
static bool used_rungs[32], used_steps[16], used_waits[18];
static bool used_actions[ACTION_COUNT], used_codes[32];

static const char *const wait_reasons[] = {
	WAITING_CLUSTER_SLOT,    WAITING_SOURCE_SLOT,
	WAITING_TARGET_SLOT,     WAITING_BACKOFF,
	WAITING_QUOTA,           WAITING_REFUSED,
	WAITING_UTILITY_VOLUMES, WAITING_BACKUP,
	WAITING_OTHER,           WAITING_PODS,
	WAITING_SOURCE_POD,      WAITING_MACHINE,
	WAITING_SCHEDULING,      WAITING_POD_START,
	WAITING_SOURCE_START,    WAITING_TARGET_PREPARATION,
	WAITING_TRANSFER,        WAITING_ABORT,
};
_Static_assert(ARRAY_LEN(wait_reasons) == ARRAY_LEN(used_waits),
	       "each has its place");

static void
note_rows(void)
{
	size_t rungs, count;
	const struct rung *ladder = ladder_all(&rungs);
	const struct step *steps = steps_all(&count);

	for (size_t i = 0; i < rungs; i++)
		used_rungs[i] |= ladder[i].name == d.rule;
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < d.passed_count; k++)
			used_steps[i] |= steps[i].to == d.passed[k];
	}
	for (size_t i = 0; i < d.action_count; i++)
		used_actions[d.actions[i].kind] = true;
	for (size_t i = 0; i < d.cond_count; i++) {
		const struct decision_cond *cond = &d.conds[i];

		for (size_t k = 0; k < ARRAY_LEN(wait_reasons); k++)
			used_waits[k] |=
				strcmp(cond->type, COND_WAITING) == 0 &&
				strcmp(cond->reason, wait_reasons[k]) == 0;
		for (size_t k = 0; k < rungs; k++)
			used_codes[k] |=
				strcmp(cond->type, COND_FAILURE) == 0 &&
				strcmp(cond->reason, ladder[k].code) == 0;
	}
}

static void
broken(const struct point *p, unsigned turn, const char *law)
{
	space_print(p);
	print_error("turn %u, rule %s: %s -> %s: %s\n", turn, d.rule,
		    migration_phase_name(t.vmim.phase),
		    migration_phase_name(d.phase), law);
	for (size_t i = 0; i < d.action_count; i++)
		print_error("action %s\n", action_name(d.actions[i].kind));
	for (size_t i = 0; i < d.cond_count; i++)
		print_error("condition %s %s %s\n", d.conds[i].type,
			    d.conds[i].reason, d.conds[i].message);
	fail();
}

static bool
is_same_event(const struct decision_event *a, const struct decision_event *b)
{
	return a->on_vmi == b->on_vmi && a->warning == b->warning &&
	       a->reason == b->reason && strcmp(a->text, b->text) == 0;
}

static bool
is_same_action(const struct action *a, const struct action *b)
{
	return a->kind == b->kind && a->pod == b->pod &&
	       strcmp(a->text, b->text) == 0 &&
	       is_same_event(&a->event, &b->event) &&
	       a->failed_reason == b->failed_reason &&
	       a->failed_on_vmi == b->failed_on_vmi;
}

static bool
is_same_cond(const struct decision_cond *a, const struct decision_cond *b)
{
	return a->type == b->type && a->remove == b->remove &&
	       strcmp(a->reason, b->reason) == 0 &&
	       a->since_us == b->since_us &&
	       (a->remove || strcmp(a->message, b->message) == 0);
}

static bool
is_same(const struct decision *a, const struct decision *b)
{
	bool same = a->rule == b->rule && a->confirm == b->confirm &&
		    a->phase == b->phase &&
		    a->passed_count == b->passed_count &&
		    a->copy_state == b->copy_state &&
		    a->action_count == b->action_count &&
		    a->cond_count == b->cond_count &&
		    a->event_count == b->event_count &&
		    a->remove_finalizer == b->remove_finalizer &&
		    a->delete_migration == b->delete_migration &&
		    a->wants == b->wants && a->again_us == b->again_us;

	for (size_t i = 0; same && i < a->passed_count; i++)
		same = a->passed[i] == b->passed[i];
	for (size_t i = 0; same && i < a->action_count; i++)
		same = is_same_action(&a->actions[i], &b->actions[i]);
	for (size_t i = 0; same && i < a->cond_count; i++)
		same = is_same_cond(&a->conds[i], &b->conds[i]);
	for (size_t i = 0; same && i < a->event_count; i++)
		same = is_same_event(&a->events[i], &b->events[i]);
	return same;
}

/* Of the same facts the same comes about, whatever was in that memory. */
static void
check_same(const struct point *p, unsigned turn)
{
	memset(&again, 0xa5, sizeof(again));
	decide(&t.f, &again);
	decisions++;
	if (!is_same(&d, &again))
		broken(p, turn, "the same facts, another decision");
}

/* From a point on until there is nothing to do any more; nothing else happens
 * meanwhile, so that nothing may be done twice. */
static void
play(const struct point *p)
{
	unsigned done[ACTION_COUNT] = { 0 };

	space_facts(p, &t);
	points++;
	for (unsigned turn = 0;; turn++) {
		const char *law;

		decide(&t.f, &d);
		decisions++;
		note_rows();
		law = laws_broken(&t.f, &d);
		if (law != NULL)
			broken(p, turn, law);
		if (turn == 0)
			check_same(p, turn);
		for (size_t i = 0; i < d.action_count; i++) {
			if (done[d.actions[i].kind]++ != 0)
				broken(p, turn, "what is done is done again");
		}
		if (d.confirm)
			t.f.confirmed = true;
		else if (effect_is_any(&d))
			effect_of(&t, &d);
		else
			return;
		if (turn == TURNS_MAX)
			broken(p, turn, "it does not come to rest");
	}
}

static void
try(const struct point *p)
{
	if (space_is_possible(p))
		play(p);
}

/* Groups of facts that are combined fully. A fact has all its values, or those
 * of a mask. */

#define ALL (~0U)
#define BIT(i) (1U << (i))
#define DIMS_MAX 18

struct dim {
	enum fact fact;
	unsigned values;
};

struct group {
	const char *name;
	unsigned phases;
	struct dim dims[DIMS_MAX];
};

#define FINAL_PHASES (BIT(MIGRATION_SUCCEEDED) | BIT(MIGRATION_FAILED))
#define NEW_PHASES (BIT(MIGRATION_UNSET) | BIT(MIGRATION_PENDING))
#define POD_PHASES \
	(NEW_PHASES | BIT(MIGRATION_SCHEDULING) | BIT(MIGRATION_SCHEDULED))
#define NODE_PHASES                                                      \
	(BIT(MIGRATION_PREPARING_TARGET) | BIT(MIGRATION_TARGET_READY) | \
	 BIT(MIGRATION_RUNNING))

static const struct group groups[] = {
	{ "what hinders the pod",
	  NEW_PHASES,
	  { { FACT_CONFIRMED, ALL },
	    { FACT_MACHINE, BIT(MACHINE_RUNS) | BIT(MACHINE_DELETED) | BIT(6) },
	    { FACT_MIGRATABLE, BIT(0) | BIT(2) },
	    { FACT_DISKS, ALL },
	    { FACT_UTILITY, BIT(0) | BIT(1) | BIT(2) },
	    { FACT_BACKUP, ALL },
	    { FACT_BACKOFF, BIT(0) | BIT(1) | BIT(2) },
	    { FACT_SOURCE, BIT(0) | BIT(1) | BIT(2) },
	    { FACT_LIVE, BIT(0) | BIT(2) },
	    { FACT_SLOT, ALL },
	    { FACT_QUOTA, ALL },
	    { FACT_REFUSED, ALL } } },
	{ "who was first",
	  BIT(MIGRATION_UNSET) | BIT(MIGRATION_PENDING) |
		  BIT(MIGRATION_SCHEDULED) | BIT(MIGRATION_RUNNING),
	  { { FACT_CONFIRMED, ALL },
	    { FACT_CANCELED, ALL },
	    { FACT_OTHER, ALL },
	    { FACT_BEGUN, ALL },
	    { FACT_OTHER_BEGUN, ALL },
	    { FACT_BACKOFF, BIT(0) | BIT(1) },
	    { FACT_STATE, ALL },
	    { FACT_START, ALL },
	    { FACT_CREATE_SENT, ALL },
	    { FACT_TARGET, BIT(TARGET_NONE) | BIT(TARGET_READY) } } },
	{ "what becomes of the pod",
	  POD_PHASES,
	  { { FACT_CONFIRMED, ALL },
	    { FACT_CANCELED, ALL },
	    { FACT_MACHINE, BIT(0) | BIT(1) | BIT(2) | BIT(3) | BIT(4) },
	    { FACT_MACHINE_NODE, BIT(NODE_SOURCE) | BIT(NODE_TARGET) },
	    { FACT_TARGET, ALL },
	    { FACT_POD_TIME, ALL },
	    { FACT_SOURCE, BIT(0) | BIT(1) | BIT(2) },
	    { FACT_CREATE_SENT, ALL },
	    { FACT_HANDOFF_SENT, ALL } } },
	{ "the hand-off",
	  BIT(MIGRATION_SCHEDULING) | BIT(MIGRATION_SCHEDULED),
	  { { FACT_CONFIRMED, ALL },
	    { FACT_CANCELED, ALL },
	    { FACT_MACHINE, BIT(0) | BIT(3) | BIT(6) },
	    { FACT_MACHINE_NODE, BIT(NODE_SOURCE) | BIT(NODE_TARGET) },
	    { FACT_OTHER, BIT(OTHER_NONE) | BIT(OTHER_RUNNING) },
	    { FACT_STATE, ALL },
	    { FACT_SOURCE, BIT(0) | BIT(1) | BIT(2) | BIT(4) },
	    { FACT_TARGET,
	      BIT(TARGET_PLACED) | BIT(TARGET_READY) | BIT(TARGET_ON_SOURCE) },
	    { FACT_HANDOFF_SENT, ALL },
	    { FACT_INBOUND, ALL },
	    { FACT_PHASE_TIME, BIT(TIME_BEFORE) | BIT(TIME_AT) } } },
	{ "what nodes say",
	  POD_PHASES | NODE_PHASES,
	  { { FACT_CANCELED, ALL },
	    { FACT_STATE, BIT(STATE_OWN) },
	    { FACT_ADDRESS, ALL },
	    { FACT_ABORT, ALL },
	    { FACT_START, ALL },
	    { FACT_READY, ALL },
	    { FACT_LEFT, BIT(LEFT_NOT) | BIT(LEFT_NOW) | BIT(LEFT_AT) },
	    { FACT_COMPLETED, ALL },
	    { FACT_FAILED, ALL },
	    { FACT_MODE, BIT(MODE_PRE_COPY) | BIT(MODE_POST_COPY) },
	    { FACT_PHASE_TIME, BIT(TIME_BEFORE) | BIT(TIME_AT) },
	    { FACT_SOURCE, BIT(SOURCE_THERE) | BIT(SOURCE_NONE) },
	    { FACT_TARGET,
	      BIT(TARGET_NONE) | BIT(TARGET_READY) | BIT(TARGET_DOWN) } } },
	{ "how a transfer stops",
	  NODE_PHASES,
	  { { FACT_CONFIRMED, ALL },
	    { FACT_CANCELED, ALL },
	    { FACT_MACHINE, BIT(0) | BIT(2) | BIT(4) },
	    { FACT_STATE, ALL },
	    { FACT_ABORT, ALL },
	    { FACT_START, ALL },
	    { FACT_LEFT, BIT(LEFT_NOT) | BIT(LEFT_LONG) },
	    { FACT_FAILED, ALL },
	    { FACT_REASON, BIT(0) | BIT(1) },
	    { FACT_PHASE_TIME, BIT(TIME_BEFORE) | BIT(TIME_AT) },
	    { FACT_ABORT_COND, ALL } } },
	{ "what is left",
	  FINAL_PHASES,
	  { { FACT_CONFIRMED, ALL },
	    { FACT_MACHINE, BIT(0) | BIT(1) | BIT(2) | BIT(4) },
	    { FACT_MACHINE_NODE, ALL },
	    { FACT_STATE, BIT(0) | BIT(1) | BIT(3) },
	    { FACT_READY, ALL },
	    { FACT_LEFT, BIT(LEFT_NOT) | BIT(LEFT_LONG) },
	    { FACT_COMPLETED, ALL },
	    { FACT_FAILED, ALL },
	    { FACT_SOURCE, BIT(0) | BIT(3) | BIT(5) },
	    { FACT_TARGET, BIT(TARGET_NONE) | BIT(TARGET_READY) |
				   BIT(TARGET_DOWN) | BIT(TARGET_DELETED) },
	    { FACT_CREATE_SENT, ALL },
	    { FACT_HANDOFF_SENT, ALL } } },
	{ "what is kept",
	  FINAL_PHASES,
	  { { FACT_CONFIRMED, ALL },
	    { FACT_CANCELED, ALL },
	    { FACT_STAMP, ALL },
	    { FACT_MACHINE, ALL },
	    { FACT_OTHER, ALL },
	    { FACT_KEPT, ALL },
	    { FACT_COPIED, ALL } } },
};

/* On to its next value; false: that is the first one again. */
static bool
advance(const struct dim *dim, struct point *p)
{
	unsigned size = space_size(dim->fact), i = p->at[dim->fact];

	do {
		i = (i + 1) % (size + 1);
	} while (i < size && (dim->values & BIT(i)) == 0);
	if (i == size)
		return false;
	p->at[dim->fact] = (unsigned char)i;
	return true;
}

static void
begin(const struct dim *dim, struct point *p)
{
	p->at[dim->fact] = 0;
	if ((dim->values & BIT(0)) == 0)
		(void)advance(dim, p);
}

static void
product(const struct group *group, unsigned phase)
{
	struct point p = space_base(phase);
	size_t i;

	for (i = 0; i < DIMS_MAX && group->dims[i].values != 0; i++)
		begin(&group->dims[i], &p);
	do {
		try(&p);
		for (i = 0; i < DIMS_MAX && group->dims[i].values != 0; i++) {
			if (advance(&group->dims[i], &p))
				break;
			begin(&group->dims[i], &p);
		}
	} while (i < DIMS_MAX && group->dims[i].values != 0);
}

static void
test_facts_that_are_looked_at_together_in_all_combinations(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
		unsigned long long before = points;

		for (unsigned phase = 0; phase < MIGRATION_PHASE_COUNT;
		     phase++) {
			if (groups[i].phases & BIT(phase))
				product(&groups[i], phase);
		}
		print_message("# %s: %llu\n", groups[i].name, points - before);
	}
}

/* Each two facts, from what goes well. */

static void
vary_second(struct point *p, enum fact first)
{
	for (enum fact k = first + 1; k < FACT_COUNT; k++) {
		unsigned char old = p->at[k];

		for (unsigned i = 0; i < space_size(k); i++) {
			p->at[k] = (unsigned char)i;
			if (i != old)
				try(p);
		}
		p->at[k] = old;
	}
}

static void
vary_two(const struct point *base)
{
	struct point p = *base;

	try(&p);
	for (enum fact i = FACT_CONFIRMED; i < FACT_COUNT; i++) {
		for (unsigned k = 0; k < space_size(i); k++) {
			p.at[i] = (unsigned char)k;
			if (k == base->at[i])
				continue;
			try(&p);
			vary_second(&p, i);
		}
		p.at[i] = base->at[i];
	}
}

static void
test_each_two_facts_that_are_other_than_what_goes_well(void **state)
{
	(void)state;
	for (unsigned phase = 0; phase < MIGRATION_PHASE_COUNT; phase++) {
		struct point p = space_base(phase);

		vary_two(&p);
		p.at[FACT_CANCELED] = 1;
		vary_two(&p);
	}
}

/* Each three facts, among others at random. */

static unsigned char seen[FACT_COUNT][FACT_COUNT][FACT_COUNT][256];

/* The values of three facts as a bit. Twelve is what a fact has at most. */
static bool
see_three(const struct point *p, const enum fact *f, bool mark)
{
	unsigned bit = (p->at[f[0]] * 12U + p->at[f[1]]) * 12U + p->at[f[2]];
	unsigned char *byte = &seen[f[0]][f[1]][f[2]][bit / 8];
	bool was = *byte & BIT(bit % 8);

	if (mark)
		*byte |= (unsigned char)BIT(bit % 8);
	return was;
}

static void
see_all_threes(const struct point *p)
{
	enum fact f[3];

	for (f[0] = 0; f[0] < FACT_COUNT; f[0]++) {
		for (f[1] = f[0] + 1; f[1] < FACT_COUNT; f[1]++) {
			for (f[2] = f[1] + 1; f[2] < FACT_COUNT; f[2]++)
				(void)see_three(p, f, true);
		}
	}
}

/* Mostly what goes well, since most that does not hides the rest. */
static struct point
random_point(unsigned phase)
{
	struct point p = space_base(phase);

	for (enum fact i = FACT_CONFIRMED; i < FACT_COUNT; i++) {
		if (dice(3) == 0)
			p.at[i] = (unsigned char)dice(space_size(i));
	}
	return p;
}

/* With the values that p has of three facts; false: there is none. */
static bool
complete(struct point *p, const enum fact *f)
{
	const struct point want = *p;

	for (unsigned tries = 0; tries < 32; tries++) {
		unsigned phase = f[0] == FACT_PHASE
					 ? want.at[FACT_PHASE]
					 : dice(MIGRATION_PHASE_COUNT);

		*p = random_point(phase);
		/* Then what goes together with the most. */
		if (tries >= 24) {
			*p = (struct point){ .at = { [FACT_CONFIRMED] = 1 } };
			p->at[FACT_CANCELED] = tries & 1;
			p->at[FACT_READY] = (tries & 2) != 0;
			p->at[FACT_LEFT] = tries & 2 ? LEFT_LONG : LEFT_NOT;
			p->at[FACT_PHASE] =
				tries & 4 ? MIGRATION_RUNNING : MIGRATION_UNSET;
		}
		for (unsigned i = 0; i < 3; i++)
			p->at[f[i]] = want.at[f[i]];
		if (space_is_possible(p))
			return true;
	}
	return false;
}

static unsigned
cover_three(const enum fact *f)
{
	unsigned size = space_size(f[0]) * space_size(f[1]) * space_size(f[2]);
	unsigned impossible = 0;

	for (unsigned i = 0; i < size; i++) {
		struct point p = { .at = { 0 } };

		p.at[f[0]] = (unsigned char)(i % space_size(f[0]));
		p.at[f[1]] = (unsigned char)(i / space_size(f[0]) %
					     space_size(f[1]));
		p.at[f[2]] = (unsigned char)(i / space_size(f[0]) /
					     space_size(f[1]));
		if (see_three(&p, f, false))
			continue;
		if (!complete(&p, f)) {
			impossible++;
			continue;
		}
		play(&p);
		see_all_threes(&p);
	}
	return impossible;
}

static void
test_each_three_facts_among_others_at_random(void **state)
{
	unsigned long long before = points;
	unsigned impossible = 0, all = 0;
	enum fact f[3];

	(void)state;
	for (f[0] = 0; f[0] < FACT_COUNT; f[0]++) {
		for (f[1] = f[0] + 1; f[1] < FACT_COUNT; f[1]++) {
			for (f[2] = f[1] + 1; f[2] < FACT_COUNT; f[2]++) {
				impossible += cover_three(f);
				all += space_size(f[0]) * space_size(f[1]) *
				       space_size(f[2]);
			}
		}
	}
	print_message("# each three: %llu for %u, of which %u cannot be\n",
		      points - before, all, impossible);
	assert_true(impossible < all / 20);
}

/* What a phase does not look at. */

#define BEFORE_END (~FINAL_PHASES)

/* Of those that are not here each may count in each phase. */
static const struct dim read_in[] = {
	{ FACT_HALF, BEFORE_END },
	{ FACT_PRIORITY, POD_PHASES },
	{ FACT_MIGRATABLE, NEW_PHASES },
	{ FACT_DISKS, NEW_PHASES },
	{ FACT_CHANGE, BEFORE_END },
	{ FACT_UTILITY, NEW_PHASES },
	{ FACT_BACKUP, NEW_PHASES },
	{ FACT_OTHER, POD_PHASES },
	{ FACT_BEGUN, BIT(MIGRATION_UNSET) },
	{ FACT_OTHER_BEGUN, BIT(MIGRATION_UNSET) },
	{ FACT_BACKOFF, POD_PHASES },
	{ FACT_KEPT, NEW_PHASES | FINAL_PHASES },
	{ FACT_ABORT, BEFORE_END | BIT(MIGRATION_FAILED) },
	{ FACT_REASON, BEFORE_END },
	{ FACT_NODE_WAITS, BEFORE_END },
	{ FACT_MARKED, BEFORE_END },
	{ FACT_POD_TIME, POD_PHASES },
	{ FACT_LIVE, NEW_PHASES },
	{ FACT_QUOTA, NEW_PHASES },
	{ FACT_REFUSED, NEW_PHASES },
	{ FACT_SLOT, NEW_PHASES },
	{ FACT_INBOUND, POD_PHASES },
	{ FACT_CPU, POD_PHASES },
	{ FACT_PHASE_TIME, BIT(MIGRATION_SCHEDULED) | NODE_PHASES },
	{ FACT_ABORT_COND, BEFORE_END },
	{ FACT_WAITING, BEFORE_END },
	{ FACT_OLD_CONDS, BEFORE_END },
};

static void
check_unread(const struct point *p, enum fact fact)
{
	struct point q = *p;

	for (unsigned i = 0; i < space_size(fact); i++) {
		q.at[fact] = (unsigned char)i;
		if (!space_is_possible(&q))
			continue;
		space_facts(&q, &t);
		decide(&t.f, &again);
		decisions++;
		if (!is_same(&d, &again)) {
			print_error("%s=%u counts\n", space_name(fact), i);
			broken(p, 0, "what is not looked at counts");
		}
	}
}

/* The state of another migration says nothing about this one. */
static bool
has_own_state(const struct point *p)
{
	return p->at[FACT_STATE] == STATE_OWN ||
	       p->at[FACT_STATE] == STATE_HALF;
}

static void
test_a_phase_does_not_look_at_what_it_does_not_need(void **state)
{
	(void)state;
	for (unsigned row = 0; row < UNREAD_ROWS; row++) {
		struct point p = random_point(row % MIGRATION_PHASE_COUNT);

		/* Utility volumes go by the age that this makes. */
		if (p.at[FACT_PHASE_TIME] == TIME_UNKNOWN)
			p.at[FACT_PHASE_TIME] = TIME_AFTER;
		if (!space_is_possible(&p))
			continue;
		space_facts(&p, &t);
		decide(&t.f, &d);
		for (size_t i = 0; i < ARRAY_LEN(read_in); i++) {
			if (!(read_in[i].values & BIT(p.at[FACT_PHASE])))
				check_unread(&p, read_in[i].fact);
		}
		for (enum fact f = FACT_ADDRESS; f <= FACT_NODE_WAITS; f++) {
			if (!has_own_state(&p))
				check_unread(&p, f);
		}
	}
}

/* A table with a row that nothing leads to has a mistake; and so has a test
 * that does not get there. */
static void
test_each_row_of_each_table_was_used(void **state)
{
	size_t rungs, count;
	const struct rung *ladder = ladder_all(&rungs);
	const struct step *steps = steps_all(&count);

	(void)state;
	for (size_t i = 0; i < rungs; i++) {
		if (!used_rungs[i] || !used_codes[i])
			fail_msg("never: %s", ladder[i].name);
	}
	for (size_t i = 0; i < count; i++) {
		if (!used_steps[i])
			fail_msg("never: %s", steps[i].name);
	}
	for (size_t i = 0; i < ARRAY_LEN(wait_reasons); i++) {
		if (!used_waits[i])
			fail_msg("never: %s", wait_reasons[i]);
	}
	for (unsigned i = 0; i < ACTION_COUNT; i++) {
		if (!used_actions[i])
			fail_msg("never: %s", action_name(i));
	}
	print_message("# %llu points, %llu decisions\n", points, decisions);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_facts_that_are_looked_at_together_in_all_combinations),
		cmocka_unit_test(
			test_each_two_facts_that_are_other_than_what_goes_well),
		cmocka_unit_test(test_each_three_facts_among_others_at_random),
		cmocka_unit_test(
			test_a_phase_does_not_look_at_what_it_does_not_need),
		cmocka_unit_test(test_each_row_of_each_table_was_used),
	};

	return cmocka_run_group_tests_name("exhaustive", tests, NULL, NULL);
}
