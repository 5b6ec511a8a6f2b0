/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_KINDS_FORMAT_H
#define CLUSTER_KINDS_FORMAT_H

/*
 * format - the "format" of strings and numbers in schemas.
 *
 * Unknown formats allow everything, as in Kubernetes.
 */

#include <stdbool.h>

#include "base/js.h"

enum format {
	FORMAT_ANY,
	FORMAT_INT32,
	FORMAT_INT64,
	FORMAT_BYTE, /* base64 */
	FORMAT_CIDR,
	FORMAT_DATE,
	FORMAT_DATE_TIME,
	FORMAT_DURATION,
	FORMAT_EMAIL,
	FORMAT_HOSTNAME,
	FORMAT_IPV4,
	FORMAT_IPV6,
	FORMAT_MAC,
	FORMAT_QUANTITY, /* of built-in kinds: "1Gi", also a number */
	FORMAT_URI,
	FORMAT_UUID,
	FORMAT_COUNT,
};

enum format format_from_name(const char *name);
const char *format_name(enum format format);

/* value is a string or a number; what the format is not for is fine. */
bool format_matches(enum format format, const json_t *value);

#endif
