/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fdlimit.h"

#include <sys/resource.h>

void
fdlimit_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &limit);
	}
}
