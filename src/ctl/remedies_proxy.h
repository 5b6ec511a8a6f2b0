/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_REMEDIES_PROXY_H
#define CTL_REMEDIES_PROXY_H

/*
 * remedies_proxy - remedies for the codes of ferry-proxy: those of the way
 * between the nodes and of TLS. A migration that failed for one of them has it
 * at the end of its message.
 */

#include <stddef.h>

#include "ctl/remedies.h"

extern const struct remedy remedies_proxy[];
extern const size_t remedies_proxy_count;

#endif
