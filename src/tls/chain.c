/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/chain.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "tls/context.h"
#include "tls/ossl.h"

#define FINGERPRINT 32

struct entry {
	uint8_t leaf[FINGERPRINT];
	int64_t not_before;
	int64_t not_after;
};

struct tls_chain_cache {
	pthread_mutex_t lock; /* protects all below */
	struct entry entries[TLS_CHAIN_CACHE];
	unsigned used;
	unsigned next; /* the one to replace when all are used */
	unsigned full;
	unsigned remembered;
	int64_t (*clock)(void); /* never changed while threads use it */
};

static int64_t
real_clock(void)
{
	return (int64_t)time(NULL);
}

struct tls_chain_cache *
tls_chain_cache_new(void)
{
	struct tls_chain_cache *cache = xmalloc0(sizeof(*cache));

	(void)pthread_mutex_init(&cache->lock, NULL);
	cache->clock = real_clock;
	return cache;
}

void
tls_chain_cache_free(struct tls_chain_cache *cache)
{
	if (cache == NULL)
		return;
	(void)pthread_mutex_destroy(&cache->lock);
	free_ptr(&cache);
}

static bool
is_remembered(struct tls_chain_cache *cache, const uint8_t *leaf)
{
	int64_t now = cache->clock();
	bool found = false;

	(void)pthread_mutex_lock(&cache->lock);
	for (unsigned i = 0; i < cache->used && !found; i++) {
		const struct entry *e = &cache->entries[i];

		found = memcmp(e->leaf, leaf, FINGERPRINT) == 0 &&
			now >= e->not_before && now <= e->not_after;
	}
	cache->remembered += found;
	cache->full += !found;
	(void)pthread_mutex_unlock(&cache->lock);
	return found;
}

static void
remember(struct tls_chain_cache *cache, const struct entry *entry)
{
	(void)pthread_mutex_lock(&cache->lock);
	cache->entries[cache->next] = *entry;
	cache->next = (cache->next + 1) % TLS_CHAIN_CACHE;
	if (cache->used < TLS_CHAIN_CACHE)
		cache->used++;
	(void)pthread_mutex_unlock(&cache->lock);
}

/* The span in which every certificate of the verified chain is valid. */
static int
chain_validity(X509_STORE_CTX *store, struct entry *e)
{
	STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(store);

	e->not_before = INT64_MIN;
	e->not_after = INT64_MAX;
	for (int i = 0; i < sk_X509_num(chain); i++) {
		const X509 *cert = sk_X509_value(chain, i);
		int64_t from;
		int64_t to;

		if (ossl_time(X509_get0_notBefore(cert), &from) == -1 ||
		    ossl_time(X509_get0_notAfter(cert), &to) == -1)
			return -1;
		if (from > e->not_before)
			e->not_before = from;
		if (to < e->not_after)
			e->not_after = to;
	}
	return 0;
}

/*
 * A CA of the same name but another key gives a bad signature; to the peer this
 * is as unknown a CA as any other, and the alert should say so.
 */
static void
unify_error(X509_STORE_CTX *store)
{
	int error = X509_STORE_CTX_get_error(store);

	if (error == X509_V_ERR_CERT_SIGNATURE_FAILURE)
		X509_STORE_CTX_set_error(
			store, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
}

int
tls_chain_verify(struct tls_chain_cache *cache, X509_STORE_CTX *store)
{
	const X509 *leaf = X509_STORE_CTX_get0_cert(store);
	struct entry e;
	unsigned len = 0;

	if (X509_digest(leaf, EVP_sha256(), e.leaf, &len) != 1 ||
	    len != FINGERPRINT) {
		X509_STORE_CTX_set_error(store, X509_V_ERR_UNSPECIFIED);
		return 0;
	}
	if (is_remembered(cache, e.leaf)) {
		X509_STORE_CTX_set_error(store, X509_V_OK);
		return 1;
	}
	if (X509_verify_cert(store) != 1) {
		unify_error(store);
		return 0;
	}
	if (chain_validity(store, &e) == 0)
		remember(cache, &e);
	return 1;
}

void
tls_chain_cache_counts(struct tls_chain_cache *cache, unsigned *ret_full,
		       unsigned *ret_remembered)
{
	(void)pthread_mutex_lock(&cache->lock);
	*ret_full = cache->full;
	*ret_remembered = cache->remembered;
	(void)pthread_mutex_unlock(&cache->lock);
}

void
tls_chain_cache_set_clock(struct tls_chain_cache *cache, int64_t (*clock)(void))
{
	cache->clock = clock;
}
