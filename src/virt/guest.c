/* SPDX-License-Identifier: Apache-2.0 */
#include "virt/guest.h"

#include <time.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "virt/internal.h"

#define KIB 1024ULL
#define MIB (1024 * KIB)
#define LOOK_NS (100L * 1000 * 1000)
#define MEMORY_STATS_MAX 32

/* Members of libvirt's statistics, which has no names for them. */
#define RATE_STATUS "dirtyrate.calc_status"
#define RATE_VALUE "dirtyrate.megabytes_per_second"

static void
free_records(virDomainStatsRecordPtr **records)
{
	virDomainStatsRecordListFree(*records);
}

/* Returns 1 when the sample is complete, 0 when it is not yet. */
static int
read_rate(virDomainPtr domain, uint64_t *ret_rate, struct err *err)
{
	virDomainPtr domains[] = { domain, NULL };
	AUTO(free_records) virDomainStatsRecordPtr *records = NULL;
	int status = -1, count;
	long long rate = 0;

	count = virDomainListGetStats(domains, VIR_DOMAIN_STATS_DIRTYRATE,
				      &records, 0);
	if (count == -1)
		return virt_fail(err, "cannot read how fast the guest writes "
				      "to its memory");
	if (count == 0 ||
	    virTypedParamsGetInt(records[0]->params, records[0]->nparams,
				 RATE_STATUS, &status) != 1 ||
	    status != VIR_DOMAIN_DIRTYRATE_MEASURED)
		return 0;
	(void)virTypedParamsGetLLong(records[0]->params, records[0]->nparams,
				     RATE_VALUE, &rate);
	*ret_rate = rate > 0 ? (uint64_t)rate * MIB : 0;
	return 1;
}

static uint64_t
read_resident(virDomainPtr domain)
{
	virDomainMemoryStatStruct stats[MEMORY_STATS_MAX];
	int count = virDomainMemoryStats(domain, stats, MEMORY_STATS_MAX, 0);

	for (int i = 0; i < count; i++) {
		if (stats[i].tag == VIR_DOMAIN_MEMORY_STAT_RSS)
			return stats[i].val * KIB;
	}
	return 0;
}

static int
wait_for_rate(virDomainPtr domain, uint64_t timeout_ms, uint64_t *ret_rate,
	      struct err *err)
{
	const struct timespec pause = { .tv_nsec = LOOK_NS };
	uint64_t until = loop_now_ms() + timeout_ms;
	int result;

	while ((result = read_rate(domain, ret_rate, err)) == 0) {
		if (loop_now_ms() > until)
			return err_set(err, ERR_TIMEOUT,
				       "QEMU has not sampled the guest's "
				       "memory in time");
		(void)nanosleep(&pause, NULL);
	}
	return result == 1 ? 0 : -1;
}

int
virt_guest_measure(struct virt_conn *conn, const char *name,
		   uint64_t timeout_ms, struct virt_guest *ret_guest,
		   struct err *err)
{
	AUTO(virt_free_domain) virDomainPtr domain = NULL;
	struct virt_guest guest = { 0 };
	virDomainInfo info;

	if (virt_lookup(conn, name, &domain, err) == -1)
		return -1;
	if (virDomainGetInfo(domain, &info) == -1)
		return virt_fail(err, "cannot read the guest's size");
	if (info.state != VIR_DOMAIN_RUNNING && info.state != VIR_DOMAIN_PAUSED)
		return err_set(err, ERR_CONFLICT, "the machine does not run");
	guest.memory = info.memory * KIB;
	guest.resident = read_resident(domain);
	if (virDomainStartDirtyRateCalc(
		    domain, VIRT_GUEST_SAMPLE_S,
		    VIR_DOMAIN_DIRTYRATE_MODE_PAGE_SAMPLING) == -1)
		return virt_fail(err, "cannot sample the guest's memory");
	if (wait_for_rate(domain, timeout_ms, &guest.dirty_rate, err) == -1)
		return -1;
	*ret_guest = guest;
	return 0;
}
