/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_CONTROL_TESTJSON_H
#define CLUSTER_CONTROL_TESTJSON_H

/*
 * testjson - JSON that can be read in a test: ' stands for ".
 *
 * Only for unit tests.
 */

#include "base/js.h"

/* A new reference; what is no JSON fails the test. */
json_t *testjson(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
