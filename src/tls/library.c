/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/library.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/provider.h>

#include "base/array.h"

#define PROVIDER "ferry"

/* Of one operation; more than are named in any row below. */
#define SHOWN_MAX 16

/* What is shown of an operation. */
struct part {
	int operation;
	const char *const *names;
	const char *property;               /* it must have; NULL: none */
	OSSL_ALGORITHM list[SHOWN_MAX + 1]; /* ends with an empty one */
	unsigned count;
};

static const char *const digests[] = { "SHA1",     "SHA2-224", "SHA2-256",
				       "SHA2-384", "SHA2-512", NULL };
static const char *const ciphers[] = { "AES-128-GCM", "AES-256-GCM", NULL };
static const char *const macs[] = { "HMAC", NULL };
static const char *const kdfs[] = { "HKDF", "TLS13-KDF", NULL };
static const char *const exchanges[] = { "ECDH", "X25519", NULL };
static const char *const signatures[] = { "ECDSA", "RSA", "ED25519", "ED448",
					  NULL };
/* Those that sign in TLS 1.3, and those of the groups of context.c. */
static const char *const keys[] = { "EC",    "RSA",    "RSA-PSS", "ED25519",
				    "ED448", "X25519", NULL };
static const char *const decoders[] = { "EC",    "RSA", "RSA-PSS", "ED25519",
					"ED448", "DER", NULL };

static struct {
	pthread_once_t once;
	OSSL_PROVIDER *whole; /* the default provider */
	OSSL_LIB_CTX *context;
	struct part part[8];
} library = {
	.once = PTHREAD_ONCE_INIT,
	.part = {
		{ .operation = OSSL_OP_DIGEST, .names = digests },
		{ .operation = OSSL_OP_CIPHER, .names = ciphers },
		{ .operation = OSSL_OP_MAC, .names = macs },
		{ .operation = OSSL_OP_KDF, .names = kdfs },
		{ .operation = OSSL_OP_KEYEXCH, .names = exchanges },
		{ .operation = OSSL_OP_SIGNATURE, .names = signatures },
		{ .operation = OSSL_OP_KEYMGMT, .names = keys },
		/* The form that keys have in certificates. */
		{ .operation = OSSL_OP_DECODER, .names = decoders,
		  .property = "structure=SubjectPublicKeyInfo" },
	},
};

/* "EC:id-ecPublicKey:1.2.840.10045.2.1" is called "EC", for one. */
static bool
is_called(const OSSL_ALGORITHM *algorithm, const char *name)
{
	const char *names = algorithm->algorithm_names;
	size_t len = strlen(name);

	return strncmp(names, name, len) == 0 &&
	       (names[len] == ':' || names[len] == '\0');
}

static bool
shows(const struct part *part, const OSSL_ALGORITHM *algorithm)
{
	const char *properties = algorithm->property_definition;

	if (part->property != NULL &&
	    (properties == NULL || strstr(properties, part->property) == NULL))
		return false;
	for (const char *const *name = part->names; *name != NULL; name++) {
		if (is_called(algorithm, *name))
			return true;
	}
	return false;
}

/* Whether there is something to show, and it is always the same. */
static bool
fill(struct part *part)
{
	int no_cache = 0;
	const OSSL_ALGORITHM *a = OSSL_PROVIDER_query_operation(
		library.whole, part->operation, &no_cache);

	if (no_cache != 0)
		return false;
	for (; a != NULL && a->algorithm_names != NULL; a++) {
		if (!shows(part, a))
			continue;
		if (part->count == SHOWN_MAX)
			return false;
		part->list[part->count++] = *a;
	}
	return part->count > 0;
}

static const OSSL_ALGORITHM *
query(void *provctx, int operation, int *no_cache)
{
	(void)provctx;
	*no_cache = 0;
	for (size_t i = 0; i < ARRAY_LEN(library.part); i++) {
		if (library.part[i].operation == operation)
			return library.part[i].list;
	}
	/* Random numbers come from where they always do. */
	if (operation == OSSL_OP_RAND)
		return OSSL_PROVIDER_query_operation(library.whole, operation,
						     no_cache);
	return NULL;
}

/* The groups, among others. */
static int
capabilities(void *provctx, const char *capability, OSSL_CALLBACK *callback,
	     void *arg)
{
	(void)provctx;
	return OSSL_PROVIDER_get_capabilities(library.whole, capability,
					      callback, arg);
}

/* What is shown works on the context of the provider that it comes from. */
static int
init(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in,
     const OSSL_DISPATCH **ret_dispatch, void **ret_provctx)
{
	static const OSSL_DISPATCH dispatch[] = {
		{ OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))query },
		{ OSSL_FUNC_PROVIDER_GET_CAPABILITIES,
		  (void (*)(void))capabilities },
		{ 0, NULL },
	};

	(void)handle;
	(void)in;
	*ret_dispatch = dispatch;
	*ret_provctx = OSSL_PROVIDER_get0_provider_ctx(library.whole);
	return 1;
}

static bool
fill_all(void)
{
	for (size_t i = 0; i < ARRAY_LEN(library.part); i++) {
		if (!fill(&library.part[i]))
			return false;
	}
	return true;
}

/* For OSSL_PROVIDER_do_all(): 0, which ends it, at any but the default one. */
static int
is_default(OSSL_PROVIDER *provider, void *unused)
{
	(void)unused;
	return strcmp(OSSL_PROVIDER_get0_name(provider), "default") == 0;
}

/*
 * Whether this is an OpenSSL that is slow in this way, and set up as it comes.
 * From 3.2 on it remembers which decoders do. Where an administrator chose
 * providers or properties, for FIPS say, handshakes keep to that choice.
 */
static bool
is_wanted(void)
{
	return OPENSSL_version_major() == 3 && OPENSSL_version_minor() < 2 &&
	       EVP_default_properties_is_fips_enabled(NULL) == 0 &&
	       OSSL_PROVIDER_available(NULL, "default") == 1 &&
	       OSSL_PROVIDER_do_all(NULL, is_default, NULL) == 1;
}

static void
make(void)
{
	OSSL_LIB_CTX *context;

	if (!is_wanted())
		return;
	context = OSSL_LIB_CTX_new();
	library.whole = OSSL_PROVIDER_load(NULL, "default");
	if (context != NULL && library.whole != NULL && fill_all() &&
	    OSSL_PROVIDER_add_builtin(context, PROVIDER, init) == 1 &&
	    OSSL_PROVIDER_load(context, PROVIDER) != NULL) {
		library.context = context;
		return;
	}
	OSSL_LIB_CTX_free(context);
	ERR_clear_error();
}

OSSL_LIB_CTX *
tls_library(void)
{
	(void)pthread_once(&library.once, make);
	return library.context;
}
