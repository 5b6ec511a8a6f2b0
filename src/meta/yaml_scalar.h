/* SPDX-License-Identifier: Apache-2.0 */
#ifndef META_YAML_SCALAR_H
#define META_YAML_SCALAR_H

/*
 * yaml_scalar - what a scalar without quotes means; for yaml.c and
 * yaml_write.c.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/js.h"

struct err;

/* A new reference; NULL for what JSON cannot say (.inf, .nan). text ends with a
 * NUL. */
json_t *yaml_scalar_plain(const char *text, struct err *err);

/* With an explicit tag, as "tag:yaml.org,2002:int". Unknown ones make it a
 * string, one that does not fit is an error. */
json_t *yaml_scalar_tagged(const char *tag, const char *text, struct err *err);

/* Whether text, without quotes, would be read as anything but a string, by this
 * reader or by others of YAML 1.1. */
bool yaml_scalar_needs_quotes(const char *text);

#endif
