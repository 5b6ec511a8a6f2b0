/* SPDX-License-Identifier: Apache-2.0 */
#include "kubelet/testdir.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "kubelet/removal.h"

#define TEMPLATE "/tmp/kubelet-test-XXXXXX"

char testdir[sizeof(TEMPLATE)];

int
testdir_make(void **state)
{
	(void)state;
	(void)strcpy(testdir, TEMPLATE);
	return mkdtemp(testdir) == NULL ? -1 : 0;
}

int
testdir_remove(void **state)
{
	struct err err;

	(void)state;
	return removal_run(testdir, &err);
}
