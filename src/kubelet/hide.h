/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_HIDE_H
#define KUBELET_HIDE_H

/*
 * hide - what of the node a container does not see whose image is the node's
 * own file system.
 *
 * Such a container is a machine's, and root in it may be the guest's work. The
 * names are covered in the upper part of its overlay before it is mounted: a
 * directory is empty, anything else is not there, and what is not there yet
 * will not appear either. There is nothing that could be unmounted, and what
 * the container is to have from below (volumes, binds) is mounted on top.
 *
 * Threading: hide_list() any thread; hide_cover() for helpers.
 */

#include "base/js.h"

struct err;
struct settings;

/* Paths: of this kubelet and its cluster, of the operator's choice, and those
 * where hosts keep secrets. A new reference. */
json_t *hide_list(const struct settings *settings);

/* Covers the paths of the file system "/" in upper, a directory. */
int hide_cover(const char *upper, const json_t *paths, struct err *err);

#endif
