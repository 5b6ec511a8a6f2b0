/* SPDX-License-Identifier: Apache-2.0 */
#include "virt/caps.h"

#include <stdlib.h>
#include <string.h>

#include <libxml/parser.h>
#include <libxml/xpath.h>

#include "base/err.h"
#include "base/mem.h"

#define NAMES_MAX 4096

/* An XML text with paths into it. */
struct document {
	xmlDocPtr doc;
	xmlXPathContextPtr paths;
};

static void
document_done(struct document *document)
{
	if (document->paths != NULL)
		xmlXPathFreeContext(document->paths);
	if (document->doc != NULL)
		xmlFreeDoc(document->doc);
}

static int
document_parse(const char *text, const char *what, struct document *ret,
	       struct err *err)
{
	ret->paths = NULL;
	ret->doc = xmlReadMemory(text, (int)strlen(text), NULL, NULL,
				 XML_PARSE_NONET | XML_PARSE_NOERROR |
					 XML_PARSE_NOWARNING);
	if (ret->doc != NULL)
		ret->paths = xmlXPathNewContext(ret->doc);
	if (ret->paths == NULL) {
		document_done(ret);
		return err_set(err, ERR_INVALID, "%s of libvirt are no XML",
			       what);
	}
	return 0;
}

/* The texts of all nodes of a path, in order. */
static void
find_all(const struct document *document, const char *path,
	 struct virt_names *names)
{
	xmlXPathObjectPtr found =
		xmlXPathEvalExpression(BAD_CAST path, document->paths);
	int count;

	if (found == NULL)
		return;
	count = found->nodesetval != NULL ? found->nodesetval->nodeNr : 0;
	if (count > NAMES_MAX)
		count = NAMES_MAX;
	names->items = xcalloc((size_t)count, sizeof(*names->items));
	for (int i = 0; i < count; i++) {
		xmlChar *text =
			xmlNodeGetContent(found->nodesetval->nodeTab[i]);

		names->items[names->count++] =
			xstrdup(text != NULL ? (const char *)text : "");
		xmlFree(text);
	}
	xmlXPathFreeObject(found);
}

static void
names_done(struct virt_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	free(names->items);
	*names = (struct virt_names){ 0 };
}

/* The first of them, or "". */
static char *
find_one(const struct document *document, const char *path)
{
	struct virt_names names = { 0 };
	char *text;

	find_all(document, path, &names);
	text = xstrdup(names.count > 0 ? names.items[0] : "");
	names_done(&names);
	return text;
}

#define HOST_MODEL "/domainCapabilities/cpu/mode[@name='host-model']"

int
virt_caps_parse(const char *host_xml, const char *domain_xml,
		struct virt_caps *ret, struct err *err)
{
	struct document host, domain;

	*ret = (struct virt_caps){ 0 };
	if (document_parse(host_xml, "the capabilities", &host, err) == -1)
		return -1;
	if (document_parse(domain_xml, "the domain capabilities", &domain,
			   err) == -1) {
		document_done(&host);
		return -1;
	}
	ret->arch = find_one(&host, "/capabilities/host/cpu/arch");
	ret->vendor = find_one(&host, "/capabilities/host/cpu/vendor");
	ret->host_model = find_one(&domain, HOST_MODEL "/model");
	find_all(&domain, HOST_MODEL "/feature[@policy='require']/@name",
		 &ret->host_features);
	find_all(&domain,
		 "/domainCapabilities/cpu/mode[@name='custom']"
		 "/model[@usable='yes']",
		 &ret->models);
	find_all(&host, "/capabilities/host/cpu/feature/@name", &ret->features);
	find_all(&host,
		 "/capabilities/guest/arch[@name='x86_64']/machine/text()",
		 &ret->machines);
	document_done(&host);
	document_done(&domain);
	return 0;
}

void
virt_caps_done(struct virt_caps *caps)
{
	free(caps->arch);
	free(caps->vendor);
	free(caps->host_model);
	names_done(&caps->host_features);
	names_done(&caps->models);
	names_done(&caps->features);
	names_done(&caps->machines);
	*caps = (struct virt_caps){ 0 };
}
