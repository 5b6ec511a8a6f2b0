/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_TARGETADDRESS_H
#define HANDLER_TARGETADDRESS_H

/*
 * targetaddress - where a listener of this node's ferry-proxy is reached by
 * others. Threading: as js.h.
 */

#include "base/js.h"

struct err;

/* Of what target.start answered: {"address", "ports"}, a new reference. An
 * address that is none in particular is no help to the source: own is taken
 * instead, and NULL returned when there is none. */
json_t *target_address(const json_t *result, const char *own, struct err *err);

#endif
