/* SPDX-License-Identifier: Apache-2.0 */
#include "virt/job.h"

#include <stddef.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "virt/internal.h"

/* Parameters that are numbers of 64 bits. Those of one member are added up. */
static const struct {
	const char *name;
	size_t offset;
} numbers[] = {
#define N(name, member)                                      \
	{                                                    \
		name, offsetof(struct virt_progress, member) \
	}
	N(VIR_DOMAIN_JOB_TIME_ELAPSED, elapsed_ms),
	N(VIR_DOMAIN_JOB_DATA_TOTAL, total),
	N(VIR_DOMAIN_JOB_DATA_PROCESSED, processed),
	N(VIR_DOMAIN_JOB_DATA_REMAINING, remaining),
	N(VIR_DOMAIN_JOB_MEMORY_REMAINING, memory_remaining),
	N(VIR_DOMAIN_JOB_MEMORY_BPS, rate),
	N(VIR_DOMAIN_JOB_DISK_BPS, rate),
	N(VIR_DOMAIN_JOB_MEMORY_DIRTY_RATE, dirty_rate),
	N(VIR_DOMAIN_JOB_MEMORY_ITERATION, iteration),
	N(VIR_DOMAIN_JOB_DOWNTIME, downtime_ms),
	N(VIR_DOMAIN_JOB_DOWNTIME_NET, blackout_ms),
#undef N
};

#define DEFAULT_PAGE_SIZE 4096U

static void
read_params(virTypedParameterPtr params, int count,
	    struct virt_progress *progress)
{
	unsigned long long value, page = 0;
	int throttle = 0;

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		uint64_t *to = (uint64_t *)(void *)((char *)progress +
						    numbers[i].offset);

		if (virTypedParamsGetULLong(params, count, numbers[i].name,
					    &value) == 1)
			*to += value;
	}
	/* It comes in pages per second. */
	(void)virTypedParamsGetULLong(params, count,
				      VIR_DOMAIN_JOB_MEMORY_PAGE_SIZE, &page);
	progress->dirty_rate *= page > 0 ? page : DEFAULT_PAGE_SIZE;
	(void)virTypedParamsGetInt(params, count,
				   VIR_DOMAIN_JOB_AUTO_CONVERGE_THROTTLE,
				   &throttle);
	progress->throttle = throttle > 0 ? (uint32_t)throttle : 0;
}

static int
look(struct virt_conn *conn, const char *name, unsigned flags,
     struct virt_progress *ret_progress, struct err *err)
{
	AUTO(virt_free_domain) virDomainPtr domain = NULL;
	virTypedParameterPtr params = NULL;
	int count = 0, type = VIR_DOMAIN_JOB_NONE;

	*ret_progress = (struct virt_progress){ 0 };
	if (virt_lookup(conn, name, &domain, err) == -1)
		return -1;
	if (virDomainGetJobStats(domain, &type, &params, &count, flags) == -1)
		return virt_fail(err, "cannot read how the migration goes");
	ret_progress->active = type != VIR_DOMAIN_JOB_NONE;
	read_params(params, count, ret_progress);
	virTypedParamsFree(params, count);
	return 0;
}

int
virt_job_look(struct virt_conn *conn, const char *name,
	      struct virt_progress *ret_progress, struct err *err)
{
	return look(conn, name, 0, ret_progress, err);
}

int
virt_job_completed(struct virt_conn *conn, const char *name,
		   struct virt_progress *ret_progress, struct err *err)
{
	return look(conn, name,
		    VIR_DOMAIN_JOB_STATS_COMPLETED |
			    VIR_DOMAIN_JOB_STATS_KEEP_COMPLETED,
		    ret_progress, err);
}

int
virt_job_abort(struct virt_conn *conn, const char *name, struct err *err)
{
	AUTO(virt_free_domain) virDomainPtr domain = NULL;

	if (virt_lookup(conn, name, &domain, err) == -1)
		return -1;
	if (virDomainAbortJob(domain) == -1)
		return virt_fail(err, "cannot abort the migration");
	return 0;
}

int
virt_job_post_copy(struct virt_conn *conn, const char *name, struct err *err)
{
	AUTO(virt_free_domain) virDomainPtr domain = NULL;

	if (virt_lookup(conn, name, &domain, err) == -1)
		return -1;
	if (virDomainMigrateStartPostCopy(domain, 0) == -1)
		return virt_fail(err, "cannot switch to post-copy");
	return 0;
}

int
virt_job_max_downtime(struct virt_conn *conn, const char *name,
		      uint64_t downtime_ms, struct err *err)
{
	AUTO(virt_free_domain) virDomainPtr domain = NULL;

	if (virt_lookup(conn, name, &domain, err) == -1)
		return -1;
	if (virDomainMigrateSetMaxDowntime(domain, downtime_ms, 0) == -1)
		return virt_fail(err, "cannot set the longest downtime");
	return 0;
}
