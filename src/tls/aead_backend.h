/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_AEAD_BACKEND_H
#define TLS_AEAD_BACKEND_H

/*
 * aead_backend - the libraries that can do the work of aead.h. Private to the
 * files aead*.c; the contracts are those of the functions there.
 */

#include <stdbool.h>
#include <stdint.h>

#include "tls/aead.h"

struct tls_aead_backend {
	const char *name;
	/*
	 * Makes the library ready, once and before there are threads; false
	 * when it cannot be used. The files it wants are read here.
	 */
	bool (*init)(void);
	/* Whether it is faster than EVP on this CPU. */
	bool (*wins)(void);
	/* The library's own handle, NULL on failure. */
	void *(*open_key)(enum tls_suite suite, bool seal, const uint8_t *key);
	int (*set_key)(void *handle, enum tls_suite suite, const uint8_t *key);
	void (*close_key)(void *handle);
	int (*seal)(void *handle, const struct tls_aead_args *args);
	int (*open)(void *handle, const struct tls_aead_args *args);
};

extern const struct tls_aead_backend tls_aead_evp;
/* Only in a build with the library. */
extern const struct tls_aead_backend tls_aead_gcrypt;
extern const struct tls_aead_backend tls_aead_ipsecmb;

/* Whether EVP uses VAES with AVX-512 where the CPU has it: since 3.1. */
bool tls_evp_has_avx512(void);

#endif
