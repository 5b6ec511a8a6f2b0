/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/san.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "tls/ossl.h"

/* The URI at position i or later, NULL when there is none; moves i behind. */
static const ASN1_STRING *
next_uri(const GENERAL_NAMES *names, int *i)
{
	while (*i < sk_GENERAL_NAME_num(names)) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, (*i)++);

		if (name->type == GEN_URI)
			return name->d.uniformResourceIdentifier;
	}
	return NULL;
}

static GENERAL_NAMES *
read_names(const X509 *cert)
{
	return X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
}

bool
tls_san_has(const X509 *cert, const char *uri)
{
	AUTO(ossl_names_free) GENERAL_NAMES *names = read_names(cert);
	const ASN1_STRING *s;
	size_t len = strlen(uri);
	int i = 0;

	while ((s = next_uri(names, &i)) != NULL) {
		if ((size_t)ASN1_STRING_length(s) == len &&
		    memcmp(ASN1_STRING_get0_data(s), uri, len) == 0)
			return true;
	}
	return false;
}

char *
tls_san_first(const X509 *cert)
{
	AUTO(ossl_names_free) GENERAL_NAMES *names = read_names(cert);
	const ASN1_STRING *s;
	char *text;
	int i = 0;

	s = next_uri(names, &i);
	if (s == NULL || ASN1_STRING_length(s) == 0)
		return NULL;
	text = xmalloc0((size_t)ASN1_STRING_length(s) + 1);
	memcpy(text, ASN1_STRING_get0_data(s), (size_t)ASN1_STRING_length(s));
	for (int j = 0; j < ASN1_STRING_length(s); j++) {
		if (text[j] <= ' ' || text[j] > '~')
			text[j] = '?';
	}
	return text;
}
