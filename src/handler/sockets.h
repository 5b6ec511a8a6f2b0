/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_SOCKETS_H
#define HANDLER_SOCKETS_H

/* The directory of a migration's sockets, below the pod's public volume; see
 * docs/rendering.md. */
#define SOCKETS_DIR "migrationproxy"

#endif
