/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_TESTDIR_H
#define KUBELET_TESTDIR_H

/* testdir - a directory of a test's own, for cmocka's set-up and teardown. */

extern char testdir[];

int testdir_make(void **state);
/* With all that is in it. */
int testdir_remove(void **state);

#endif
