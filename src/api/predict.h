/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_PREDICT_H
#define API_PREDICT_H

/*
 * predict - how a migration will go, of what is known before it does.
 *
 * Plays QEMU's rounds: what was written to while a round was sent is the next
 * one, until the rest fits into the longest downtime. Whoever gives up, and
 * when, is the launcher's rule (launcher/monitor.h). docs/prediction.md has the
 * formula and its limits.
 *
 * Threading: pure functions, any thread.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/js.h"

struct migration_config;

/* What a guest stands still for besides its last pages: state of devices,
 * the hand-over. */
#define PREDICT_SWITCH_MS 50U
/* From being asked for to the first byte of memory. */
#define PREDICT_BEGIN_MS 1000U

struct predict_input {
	uint64_t memory_bytes; /* that have to be sent at least once */
	uint64_t disk_bytes;   /* the same */
	uint64_t timed_bytes;  /* that the completion timeout counts */
	uint64_t path_rate;    /* bytes per second between the nodes */
	uint64_t limit_rate;   /* of the configuration; 0: none */
	uint64_t dirty_rate;   /* bytes per second */
	bool dirty_known;      /* else it is taken for 0 */
	uint64_t max_downtime_ms;
	uint64_t completion_s; /* 0: none */
	uint64_t progress_s;   /* 0: none */
	bool auto_converge, post_copy, disruption;
};

enum predict_verdict {
	PREDICT_CONVERGES,
	PREDICT_THROTTLED, /* because the guest is slowed down */
	PREDICT_POST_COPY, /* not by itself: it is switched */
	PREDICT_PAUSED,    /* not by itself: the guest is paused */
	PREDICT_FAILS,     /* not at all: it is given up */
	PREDICT_UNKNOWN,   /* there is no rate to reckon with */
	PREDICT_VERDICT_COUNT,
};

struct prediction {
	enum predict_verdict verdict;
	uint64_t rate;       /* that was reckoned with */
	unsigned iterations; /* rounds over the memory */
	uint64_t copy_ms;    /* from the start to the end, or to giving up */
	uint64_t downtime_ms;
	unsigned throttle; /* percent, at the end */
};

/* Settings of a migration into input; timed_bytes must be there. */
void predict_settings(struct predict_input *input,
		      const struct migration_config *config);
void predict(const struct predict_input *input, struct prediction *ret);

/* "Converges", ... */
const char *predict_verdict_name(enum predict_verdict verdict);
/* "PreCopy", "PostCopy", "Paused"; "" where it does not end. */
const char *predict_mode(enum predict_verdict verdict);
/* One sentence for people; to be freed. */
char *predict_sentence(const struct predict_input *input,
		       const struct prediction *prediction);
/* As it stands in status.migrationState.prediction; a new reference. */
json_t *predict_json(const struct predict_input *input,
		     const struct prediction *prediction);

#endif
