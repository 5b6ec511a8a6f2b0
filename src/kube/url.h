/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBE_URL_H
#define KUBE_URL_H

/*
 * url - text as part of a URL. Private to src/kube. Threading: any thread.
 */

struct buf;

/* Appends text with everything as %XX that is not a letter, a digit, one of
 * "-._~" or in extra; "." and ".." get escaped dots, so that they are names. */
void url_escape(struct buf *buf, const char *text, const char *extra);

/* Appends "NAME=VALUE" with what goes before it, '?' at first and '&' later;
 * nothing when value is NULL or "". */
void url_add_param(struct buf *url, const char *name, const char *value);

#endif
