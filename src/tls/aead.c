/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/aead.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "tls/aead_backend.h"
#include "tls/init.h"

#define TLS_ALLOW_PRIVATE
#include "tls/private.h"

struct tls_aead {
	const struct tls_aead_backend *backend;
	void *handle;
	enum tls_suite suite;
};

/* The first that can and wins is taken. */
static const struct tls_aead_backend *const backends[] = {
#if HAVE_IPSEC_MB
	&tls_aead_ipsecmb,
#endif
#if HAVE_LIBGCRYPT
	&tls_aead_gcrypt,
#endif
	&tls_aead_evp,
};

/* For new objects. Written before there are threads, then only read. */
static const struct tls_aead_backend *chosen = &tls_aead_evp;

void
tls_init(void)
{
	for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
		if (backends[i]->wins() && backends[i]->init()) {
			chosen = backends[i];
			return;
		}
	}
}

int
tls_aead_force(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(backends); i++) {
		if (strcmp(backends[i]->name, name) != 0)
			continue;
		if (!backends[i]->init())
			return -1;
		chosen = backends[i];
		return 0;
	}
	return -1;
}

const char *
tls_aead_chosen(void)
{
	return chosen->name;
}

struct tls_aead *
tls_aead_new(enum tls_suite suite, bool seal, const uint8_t *key)
{
	void *handle = chosen->open_key(suite, seal, key);
	struct tls_aead *aead;

	if (handle == NULL)
		return NULL;
	aead = xmalloc0(sizeof(*aead));
	aead->backend = chosen;
	aead->handle = handle;
	aead->suite = suite;
	return aead;
}

int
tls_aead_set_key(struct tls_aead *aead, const uint8_t *key)
{
	return aead->backend->set_key(aead->handle, aead->suite, key);
}

void
tls_aead_free(struct tls_aead *aead)
{
	if (aead == NULL)
		return;
	aead->backend->close_key(aead->handle);
	free(aead);
}

int
tls_aead_seal(struct tls_aead *aead, const struct tls_aead_args *args)
{
	return aead->backend->seal(aead->handle, args);
}

int
tls_aead_open(struct tls_aead *aead, const struct tls_aead_args *args)
{
	return aead->backend->open(aead->handle, args);
}
