/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_SERVICE_H
#define LAUNCHER_SERVICE_H

/*
 * service - the launcher's socket: methods of launchrpc/protocol.h.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>

struct err;
struct launcher;
struct loop;
struct service;

/* Listens on path. */
int service_new(struct loop *loop, const char *path,
		struct service **ret_service, struct err *err);
/* Serves this launcher; before that no connection is accepted. */
void service_serve(struct service *service, struct launcher *launcher);
void service_free(struct service *service);

/* Tells all clients the status. */
void service_tell(struct service *service);
/* Somebody is connected. */
bool service_heard(const struct service *service);

#endif
