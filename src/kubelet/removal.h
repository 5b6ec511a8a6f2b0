/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_REMOVAL_H
#define KUBELET_REMOVAL_H

/*
 * removal - takes away a directory that others could write to.
 *
 * What is mounted below is unmounted first; symbolic links are removed and not
 * followed, and no other file system is entered, so that nothing outside goes
 * with it even where a mount could not be undone.
 *
 * Takes as long as it takes: for helpers.
 */

struct err;

/* A directory that is not there is fine. */
int removal_run(const char *path, struct err *err);

#endif
