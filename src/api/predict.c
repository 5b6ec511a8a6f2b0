/* SPDX-License-Identifier: Apache-2.0 */
#include "api/predict.h"

#include "api/config.h"
#include "api/units.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

#define MS_PER_S 1000.0
/* A guest that writes almost as fast as is sent needs ever so many rounds. */
#define ROUNDS_MAX 10000U
#define TEXT_SIZE 32

/* QEMU's own, of migration parameters that nobody changes: the guest is slowed
 * down when more than half of what was sent was written to again, twice in a
 * row; by 20 percent, then by 10 more each time. */
#define THROTTLE_SHARE 2
#define THROTTLE_ROUNDS 2U
#define THROTTLE_FIRST 20U
#define THROTTLE_MORE 10U
#define THROTTLE_MAX 99U

static const struct {
	const char *name, *mode;
} verdicts[] = {
	[PREDICT_CONVERGES] = { "Converges", "PreCopy" },
	[PREDICT_THROTTLED] = { "ConvergesThrottled", "PreCopy" },
	[PREDICT_POST_COPY] = { "NeedsPostCopy", "PostCopy" },
	[PREDICT_PAUSED] = { "NeedsPause", "Paused" },
	[PREDICT_FAILS] = { "DoesNotConverge", "" },
	[PREDICT_UNKNOWN] = { "Unknown", "" },
};
_Static_assert(ARRAY_LEN(verdicts) == PREDICT_VERDICT_COUNT, "one each");

const char *
predict_verdict_name(enum predict_verdict verdict)
{
	return verdicts[verdict].name;
}

const char *
predict_mode(enum predict_verdict verdict)
{
	return verdicts[verdict].mode;
}

static uint64_t
not_negative(int64_t value)
{
	return value > 0 ? (uint64_t)value : 0;
}

void
predict_settings(struct predict_input *input,
		 const struct migration_config *config)
{
	input->limit_rate =
		quantity_sign(&config->bandwidth) > 0
			? not_negative(quantity_value(&config->bandwidth))
			: 0;
	input->max_downtime_ms = not_negative(config->max_downtime_ms);
	input->completion_s = not_negative(units_completion_timeout_s(
		config->completion_timeout_per_gib, input->timed_bytes));
	input->progress_s = not_negative(config->progress_timeout_s);
	input->auto_converge = config->allow_auto_converge;
	input->post_copy = config->allow_post_copy;
	input->disruption = config->allow_workload_disruption;
}

/* A transfer as it is played. Times are seconds, amounts bytes. */
struct play {
	const struct predict_input *in;
	double rate;
	double now;     /* since the start */
	double rest;    /* to be sent */
	double give_up; /* when the launcher does something; < 0: never */
	unsigned rounds, throttle, bad;
};

static uint64_t
to_ms(double seconds)
{
	return (uint64_t)(seconds * MS_PER_S + 0.5);
}

static bool
is_late(const struct play *p)
{
	return p->give_up >= 0 && p->now > p->give_up;
}

/* What was written to while something was sent for so long. */
static double
dirtied(const struct play *p, double seconds)
{
	double rate = (double)p->in->dirty_rate * (100 - p->throttle) / 100;
	double bytes = rate * seconds;
	double most = (double)p->in->memory_bytes;

	return bytes < most ? bytes : most;
}

static void
slow_down(struct play *p, double sent, double written)
{
	if (!p->in->auto_converge || written * THROTTLE_SHARE <= sent)
		return;
	if (++p->bad < THROTTLE_ROUNDS)
		return;
	p->bad = 0;
	p->throttle += p->throttle == 0 ? THROTTLE_FIRST : THROTTLE_MORE;
	if (p->throttle > THROTTLE_MAX)
		p->throttle = THROTTLE_MAX;
}

/* Returns whether the rest fits into the longest downtime. */
static bool
play_rounds(struct play *p)
{
	double last = (double)p->in->max_downtime_ms / MS_PER_S * p->rate;

	while (p->rounds < ROUNDS_MAX && !is_late(p)) {
		double took = p->rest / p->rate, sent = p->rest;

		if (p->rounds > 0 && p->rest <= last)
			return true;
		p->now += took;
		p->rounds++;
		p->rest = dirtied(p, took);
		slow_down(p, sent, p->rest);
		/* From here on a smaller rest is seen at most once more. */
		if (p->rounds == 1 && p->in->progress_s > 0 &&
		    (p->give_up < 0 ||
		     p->now + (double)p->in->progress_s < p->give_up))
			p->give_up = p->now + (double)p->in->progress_s;
	}
	return false;
}

static void
end_in_time(const struct play *p, struct prediction *ret)
{
	double last = p->rest / p->rate;

	ret->verdict = p->throttle > 0 ? PREDICT_THROTTLED : PREDICT_CONVERGES;
	ret->downtime_ms = to_ms(last) + PREDICT_SWITCH_MS;
	ret->copy_ms = to_ms(p->now) + ret->downtime_ms + PREDICT_BEGIN_MS;
}

static void
end_late(const struct play *p, struct prediction *ret)
{
	double last = p->rest / p->rate;
	double at =
		p->give_up >= 0 && p->give_up < p->now ? p->give_up : p->now;

	ret->copy_ms = to_ms(at) + PREDICT_BEGIN_MS;
	ret->downtime_ms = 0;
	if (!p->in->disruption) {
		ret->verdict = PREDICT_FAILS;
		return;
	}
	ret->verdict = p->in->post_copy ? PREDICT_POST_COPY : PREDICT_PAUSED;
	ret->copy_ms += to_ms(last);
	ret->downtime_ms = PREDICT_SWITCH_MS;
	if (!p->in->post_copy)
		ret->downtime_ms += to_ms(last);
}

void
predict(const struct predict_input *in, struct prediction *ret)
{
	bool limited = in->limit_rate > 0 && in->limit_rate < in->path_rate;
	struct play p = {
		.in = in,
		.rate = (double)(limited ? in->limit_rate : in->path_rate),
		.rest = (double)in->memory_bytes + (double)in->disk_bytes,
		.give_up = in->completion_s > 0 ? (double)in->completion_s : -1,
	};

	*ret = (struct prediction){ .rate = (uint64_t)p.rate };
	if (in->path_rate == 0) {
		ret->verdict = PREDICT_UNKNOWN;
		return;
	}
	if (play_rounds(&p))
		end_in_time(&p, ret);
	else
		end_late(&p, ret);
	ret->iterations = p.rounds;
	ret->throttle = p.throttle;
}

static char *
seconds_text(uint64_t ms)
{
	return xasprintf("%.1f s", (double)ms / MS_PER_S);
}

/* What the reckoning stands on. */
static char *
basis_text(const struct predict_input *in, const struct prediction *p)
{
	char memory[TEXT_SIZE], rate[TEXT_SIZE], dirty[TEXT_SIZE];

	str_from_bytes(in->memory_bytes + in->disk_bytes, memory,
		       sizeof(memory));
	str_from_bytes(p->rate, rate, sizeof(rate));
	if (!in->dirty_known)
		return xasprintf("%s at %s/s, if the guest is idle: how fast "
				 "it writes to its memory is not known",
				 memory, rate);
	return xasprintf("%s at %s/s, of which the guest rewrites %s/s", memory,
			 rate,
			 str_from_bytes(in->dirty_rate, dirty, sizeof(dirty)));
}

char *
predict_sentence(const struct predict_input *in, const struct prediction *p)
{
	AUTO(free_ptr) char *basis = basis_text(in, p);
	AUTO(free_ptr) char *copy = seconds_text(p->copy_ms);

	switch (p->verdict) {
	case PREDICT_CONVERGES:
	case PREDICT_THROTTLED:
		return xasprintf("It moves in about %s (%s), in %u %s%s; the "
				 "guest stands still for about %llu ms.",
				 copy, basis, p->iterations,
				 p->iterations == 1 ? "round" : "rounds",
				 p->throttle > 0 ? ", by slowing the guest down"
						 : "",
				 (unsigned long long)p->downtime_ms);
	case PREDICT_POST_COPY:
		return xasprintf("It does not end by itself (%s): it is "
				 "switched to post-copy and has moved after "
				 "about %s.",
				 basis, copy);
	case PREDICT_PAUSED:
		return xasprintf("It does not end by itself (%s): the guest "
				 "is paused for about %llu ms and has moved "
				 "after about %s.",
				 basis, (unsigned long long)p->downtime_ms,
				 copy);
	case PREDICT_FAILS:
		return xasprintf("It does not end (%s), and is given up after "
				 "about %s: allow post-copy, auto-converge or "
				 "more bandwidth.",
				 basis, copy);
	case PREDICT_UNKNOWN:
	case PREDICT_VERDICT_COUNT:
		break;
	}
	return xstrdup("How it would go is not known: the way between the "
		       "nodes was not measured.");
}

json_t *
predict_json(const struct predict_input *in, const struct prediction *p)
{
	AUTO(free_ptr) char *sentence = predict_sentence(in, p);
	uint64_t bytes = in->memory_bytes + in->disk_bytes;
	json_t *json = json_pack(
		"{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "verdict",
		predict_verdict_name(p->verdict), "mode",
		predict_mode(p->verdict), "bytes", (json_int_t)bytes,
		"rateBytesPerSecond", (json_int_t)p->rate, "iterations",
		(json_int_t)p->iterations, "copyMs", (json_int_t)p->copy_ms,
		"downtimeMs", (json_int_t)p->downtime_ms, "throttlePercent",
		(json_int_t)p->throttle, "sentence", sentence);

	if (in->dirty_known)
		json_object_set_new(json, "dirtyRateBytesPerSecond",
				    json_integer((json_int_t)in->dirty_rate));
	return json;
}
