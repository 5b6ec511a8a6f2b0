/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VIRT_XML_H
#define VIRT_XML_H

/*
 * xml - writes XML, escaped and indented.
 *
 * What is no UTF-8 or no character of XML (a NUL cannot come in, other control
 * characters can) is left out, so that the result is always well-formed.
 *
 * Threading: a writer belongs to one thread.
 */

struct xml;

struct xml *xml_new(void);
void xml_free(struct xml *xml);
void xml_done(struct xml **xml); /* for AUTO() */

/* An element inside of the one that is open. */
void xml_open(struct xml *xml, const char *name);
void xml_close(struct xml *xml);

/* Attributes and the text of the element that is open; attributes first. A
 * NULL or empty value is left out. */
void xml_attr(struct xml *xml, const char *name, const char *value);
void xml_attrf(struct xml *xml, const char *name, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void xml_text(struct xml *xml, const char *text);

/* An element with text only; with one attribute only. Left out when the value
 * is NULL or empty. */
void xml_leaf(struct xml *xml, const char *name, const char *text);
void xml_with(struct xml *xml, const char *name, const char *attr,
	      const char *value);

/* The whole text; the caller frees. All elements must be closed. */
char *xml_finish(struct xml *xml);

#endif
