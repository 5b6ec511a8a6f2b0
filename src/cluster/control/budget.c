/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/control/budget.h"

#include <stdlib.h>
#include <string.h>

#include "base/jsat.h"

static bool
is_percentage(const json_t *value)
{
	return json_is_string(value);
}

/* An IntOrString, of a total; 0 for what is neither. */
static int64_t
scaled(const json_t *value, int64_t total)
{
	long long percent;
	char *end;

	if (json_is_integer(value))
		return (int64_t)json_integer_value(value);
	if (!is_percentage(value))
		return 0;
	percent = strtoll(json_string_value(value), &end, 10);
	if (strcmp(end, "%") != 0 || percent < 0)
		return 0;
	return (int64_t)(((__int128)total * percent + 99) / 100);
}

bool
budget_needs_scale(const json_t *spec)
{
	return js_at(spec, "maxUnavailable") != NULL ||
	       is_percentage(js_at(spec, "minAvailable"));
}

struct budget_result
budget_compute(const json_t *spec, const struct budget_facts *facts)
{
	const json_t *max = js_at(spec, "maxUnavailable");
	const json_t *min = js_at(spec, "minAvailable");
	struct budget_result r = { 0 };

	r.expected = budget_needs_scale(spec) ? facts->scale : facts->pods;
	if (max != NULL)
		r.desired = r.expected - scaled(max, r.expected);
	else if (min != NULL)
		r.desired = scaled(min, r.expected);
	if (r.desired < 0)
		r.desired = 0;
	if (r.expected > 0 && facts->healthy > r.desired)
		r.allowed = facts->healthy - r.desired;
	return r;
}
