/* SPDX-License-Identifier: Apache-2.0 */
#include "virt/xml.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <libxml/tree.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

struct xml {
	xmlDocPtr doc;
	xmlNodePtr at; /* NULL outside of the root */
};

struct xml *
xml_new(void)
{
	struct xml *xml = xmalloc0(sizeof(*xml));

	xml->doc = xmlNewDoc(BAD_CAST "1.0");
	assert(xml->doc != NULL);
	return xml;
}

void
xml_free(struct xml *xml)
{
	if (xml == NULL)
		return;
	xmlFreeDoc(xml->doc);
	free(xml);
}

void
xml_done(struct xml **xml)
{
	xml_free(*xml);
	*xml = NULL;
}

/* Only what XML 1.0 can have in it. */
static char *
clean(const char *text)
{
	char *copy = str_to_utf8(text), *to = copy;

	for (const char *from = copy; *from != '\0'; from++) {
		if ((unsigned char)*from >= ' ' || *from == '\t' ||
		    *from == '\n')
			*to++ = *from;
	}
	*to = '\0';
	return copy;
}

void
xml_open(struct xml *xml, const char *name)
{
	xmlNodePtr node = xmlNewDocNode(xml->doc, NULL, BAD_CAST name, NULL);

	assert(node != NULL);
	if (xml->at == NULL)
		(void)xmlDocSetRootElement(xml->doc, node);
	else
		(void)xmlAddChild(xml->at, node);
	xml->at = node;
}

void
xml_close(struct xml *xml)
{
	xmlNodePtr parent = xml->at->parent;

	xml->at = parent->type == XML_ELEMENT_NODE ? parent : NULL;
}

void
xml_attr(struct xml *xml, const char *name, const char *value)
{
	AUTO(free_ptr) char *text = NULL;

	if (value == NULL || *value == '\0')
		return;
	text = clean(value);
	(void)xmlNewProp(xml->at, BAD_CAST name, BAD_CAST text);
}

void
xml_attrf(struct xml *xml, const char *name, const char *fmt, ...)
{
	AUTO(free_ptr) char *value = NULL;
	va_list ap;

	va_start(ap, fmt);
	value = xvasprintf(fmt, ap);
	va_end(ap);
	xml_attr(xml, name, value);
}

void
xml_text(struct xml *xml, const char *text)
{
	AUTO(free_ptr) char *copy = clean(text);

	(void)xmlAddChild(xml->at, xmlNewDocText(xml->doc, BAD_CAST copy));
}

void
xml_leaf(struct xml *xml, const char *name, const char *text)
{
	if (text == NULL || *text == '\0')
		return;
	xml_open(xml, name);
	xml_text(xml, text);
	xml_close(xml);
}

void
xml_with(struct xml *xml, const char *name, const char *attr, const char *value)
{
	if (value == NULL || *value == '\0')
		return;
	xml_open(xml, name);
	xml_attr(xml, attr, value);
	xml_close(xml);
}

char *
xml_finish(struct xml *xml)
{
	xmlBufferPtr buffer = xmlBufferCreate();
	char *text;

	assert(xml->at == NULL && buffer != NULL);
	/* Without the declaration: libvirt takes it as it is. */
	(void)xmlNodeDump(buffer, xml->doc, xmlDocGetRootElement(xml->doc), 0,
			  1);
	text = xasprintf("%s\n", (const char *)xmlBufferContent(buffer));
	xmlBufferFree(buffer);
	return text;
}
