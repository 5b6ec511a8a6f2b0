/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/aead.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/test.h"
#include "tls/init.h"

#define TLS_ALLOW_PRIVATE
#include "tls/private.h"

#define MAX_LEN 16385
#define AAD_LEN 5

static const char *const names[] = {
	"evp",
#if HAVE_LIBGCRYPT
	"libgcrypt",
#endif
#if HAVE_IPSEC_MB
	"intel-ipsec-mb",
#endif
};

/* From the GCM specification: cases 1, 2, 4, 13, 14, 16. */
static const struct vector {
	enum tls_suite suite;
	const char *key, *nonce, *aad, *plain, *sealed, *tag;
} vectors[] = {
	{ TLS_SUITE_AES_128_GCM_SHA256, "00000000000000000000000000000000",
	  "000000000000000000000000", "", "", "",
	  "58e2fccefa7e3061367f1d57a4e7455a" },
	{ TLS_SUITE_AES_128_GCM_SHA256, "00000000000000000000000000000000",
	  "000000000000000000000000", "", "00000000000000000000000000000000",
	  "0388dace60b6a392f328c2b971b2fe78",
	  "ab6e47d42cec13bdf53a67b21257bddf" },
	{ TLS_SUITE_AES_128_GCM_SHA256, "feffe9928665731c6d6a8f9467308308",
	  "cafebabefacedbaddecaf888",
	  "feedfacedeadbeeffeedfacedeadbeefabaddad2",
	  "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
	  "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
	  "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
	  "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
	  "5bc94fbc3221a5db94fae95ae7121a47" },
	{ TLS_SUITE_AES_256_GCM_SHA384,
	  "0000000000000000000000000000000000000000000000000000000000000000",
	  "000000000000000000000000", "", "", "",
	  "530f8afbc74536b9a963b4f1c4cb738b" },
	{ TLS_SUITE_AES_256_GCM_SHA384,
	  "0000000000000000000000000000000000000000000000000000000000000000",
	  "000000000000000000000000", "", "00000000000000000000000000000000",
	  "cea7403d4d606b6e074ec5d3baf39d18",
	  "d0d1c8a799996bf0265b98b5d48ab919" },
	{ TLS_SUITE_AES_256_GCM_SHA384,
	  "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
	  "cafebabefacedbaddecaf888",
	  "feedfacedeadbeeffeedfacedeadbeefabaddad2",
	  "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
	  "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
	  "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
	  "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
	  "76fc6ece0f4e1768cddf8853bb2d551b" },
};

static size_t
unhex(const char *hex, uint8_t *out)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		const char digits[] = { hex[2 * i], hex[2 * i + 1], '\0' };

		out[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return n;
}

/* The same bytes in each run, so that a failure comes again. */
static void
fill(uint8_t *out, size_t len, unsigned *seed)
{
	for (size_t i = 0; i < len; i++)
		out[i] = (uint8_t)rand_r(seed);
}

static struct tls_aead *
make(const char *name, enum tls_suite suite, bool seal, const uint8_t *key)
{
	struct tls_aead *aead;

	assert_int_equal(tls_aead_force(name), 0);
	aead = tls_aead_new(suite, seal, key);
	assert_non_null(aead);
	return aead;
}

static void
check_vector(const char *name, const struct vector *v)
{
	uint8_t key[TLS_KEY_MAX], nonce[TLS_IV_LEN], aad[32], plain[64];
	uint8_t sealed[64], tag[TLS_TAG_LEN], data[64], made[TLS_TAG_LEN];
	size_t len = unhex(v->plain, plain);
	struct tls_aead_args args = {
		.nonce = nonce,
		.aad = aad,
		.aad_len = unhex(v->aad, aad),
		.data = data,
		.len = len,
		.tag = made,
	};
	struct tls_aead *aead;

	(void)unhex(v->key, key);
	(void)unhex(v->nonce, nonce);
	(void)unhex(v->sealed, sealed);
	(void)unhex(v->tag, tag);
	memcpy(data, plain, len);

	aead = make(name, v->suite, true, key);
	assert_int_equal(tls_aead_seal(aead, &args), 0);
	assert_memory_equal(data, sealed, len);
	assert_memory_equal(made, tag, sizeof(tag));
	tls_aead_free(aead);

	aead = make(name, v->suite, false, key);
	assert_int_equal(tls_aead_open(aead, &args), 0);
	assert_memory_equal(data, plain, len);
	tls_aead_free(aead);
}

static void
test_known_vectors_come_out(void **state)
{
	(void)state;
	for (size_t n = 0; n < ARRAY_LEN(names); n++) {
		for (size_t i = 0; i < ARRAY_LEN(vectors); i++)
			check_vector(names[n], &vectors[i]);
	}
}

/* Many records under one pair of objects, with a new key in the middle. */
static void
check_pair(const char *sealer, const char *opener, enum tls_suite suite)
{
	static const size_t edges[] = { 0,   1,   15,  16,    17,    127,  128,
					129, 255, 256, 16384, 16385, 16383 };
	static uint8_t plain[MAX_LEN], data[MAX_LEN];
	uint8_t key[TLS_KEY_MAX], nonce[TLS_IV_LEN], aad[AAD_LEN];
	uint8_t tag[TLS_TAG_LEN];
	unsigned seed = 1;
	struct tls_aead *seal, *open;

	fill(key, sizeof(key), &seed);
	seal = make(sealer, suite, true, key);
	open = make(opener, suite, false, key);
	for (size_t i = 0; i < 200; i++) {
		size_t len = i < ARRAY_LEN(edges)
				     ? edges[i]
				     : (size_t)rand_r(&seed) % (MAX_LEN + 1);
		struct tls_aead_args args = { nonce, aad, sizeof(aad),
					      data,  len, tag };

		if (i == 100) {
			fill(key, sizeof(key), &seed);
			assert_int_equal(tls_aead_set_key(seal, key), 0);
			assert_int_equal(tls_aead_seal(seal, &args), 0);
			assert_int_equal(tls_aead_open(open, &args), -1);
			assert_int_equal(tls_aead_set_key(open, key), 0);
		}
		fill(nonce, sizeof(nonce), &seed);
		fill(aad, sizeof(aad), &seed);
		fill(plain, len, &seed);
		memcpy(data, plain, len);
		assert_int_equal(tls_aead_seal(seal, &args), 0);
		if (len >= TLS_TAG_LEN)
			assert_memory_not_equal(data, plain, len);
		assert_int_equal(tls_aead_open(open, &args), 0);
		assert_memory_equal(data, plain, len);
	}
	tls_aead_free(seal);
	tls_aead_free(open);
}

static void
test_each_opens_what_any_sealed(void **state)
{
	(void)state;
	for (size_t s = 0; s < ARRAY_LEN(names); s++) {
		for (size_t o = 0; o < ARRAY_LEN(names); o++) {
			check_pair(names[s], names[o],
				   TLS_SUITE_AES_128_GCM_SHA256);
			check_pair(names[s], names[o],
				   TLS_SUITE_AES_256_GCM_SHA384);
		}
	}
}

/* One bit is changed anywhere; the record as it was is opened after that. */
static void
check_tampering(const char *name, enum tls_suite suite, size_t len)
{
	static uint8_t plain[MAX_LEN], sealed[MAX_LEN], data[MAX_LEN];
	uint8_t key[TLS_KEY_MAX], nonce[TLS_IV_LEN], aad[AAD_LEN];
	uint8_t tag[TLS_TAG_LEN];
	const struct {
		uint8_t *bytes;
		size_t len;
	} parts[] = {
		{ data, len },
		{ tag, sizeof(tag) },
		{ aad, sizeof(aad) },
		{ nonce, sizeof(nonce) },
	};
	struct tls_aead_args args = { nonce, aad, sizeof(aad), data, len, tag };
	unsigned seed = 2;
	struct tls_aead *seal, *open;

	fill(key, sizeof(key), &seed);
	fill(nonce, sizeof(nonce), &seed);
	fill(aad, sizeof(aad), &seed);
	fill(plain, len, &seed);
	seal = make(name, suite, true, key);
	open = make(name, suite, false, key);
	memcpy(data, plain, len);
	assert_int_equal(tls_aead_seal(seal, &args), 0);
	memcpy(sealed, data, len);

	for (size_t p = 0; p < ARRAY_LEN(parts); p++) {
		size_t step = parts[p].len > 64 ? parts[p].len / 8 : 1;

		for (size_t at = 0; at < parts[p].len; at += step) {
			uint8_t bit = (uint8_t)(1U << (at % 8));

			memcpy(data, sealed, len);
			parts[p].bytes[at] ^= bit;
			assert_int_equal(tls_aead_open(open, &args), -1);
			if (parts[p].bytes != data)
				parts[p].bytes[at] ^= bit;
			memcpy(data, sealed, len);
			assert_int_equal(tls_aead_open(open, &args), 0);
			assert_memory_equal(data, plain, len);
		}
	}
	tls_aead_free(seal);
	tls_aead_free(open);
}

static void
test_a_changed_bit_is_refused_wherever_it_is(void **state)
{
	static const size_t lens[] = { 0, 1, 16, 33, 1000, MAX_LEN };

	(void)state;
	for (size_t n = 0; n < ARRAY_LEN(names); n++) {
		for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
			check_tampering(names[n], TLS_SUITE_AES_128_GCM_SHA256,
					lens[i]);
			check_tampering(names[n], TLS_SUITE_AES_256_GCM_SHA384,
					lens[i]);
		}
	}
}

static void
test_a_wrong_key_is_refused(void **state)
{
	uint8_t key[TLS_KEY_MAX] = { 1 }, nonce[TLS_IV_LEN] = { 2 };
	uint8_t aad[AAD_LEN] = { 3 }, data[40] = { 4 }, tag[TLS_TAG_LEN];
	struct tls_aead_args args = { nonce, aad,          sizeof(aad),
				      data,  sizeof(data), tag };

	(void)state;
	for (size_t n = 0; n < ARRAY_LEN(names); n++) {
		struct tls_aead *aead =
			make(names[n], TLS_SUITE_AES_128_GCM_SHA256, true, key);

		assert_int_equal(tls_aead_seal(aead, &args), 0);
		tls_aead_free(aead);
		key[0] ^= 1;
		aead = make(names[n], TLS_SUITE_AES_128_GCM_SHA256, false, key);
		assert_int_equal(tls_aead_open(aead, &args), -1);
		tls_aead_free(aead);
	}
}

/* Runs first: forcing would hide what a program gets that never asked. */
static void
test_openssl_is_used_unless_a_program_calls_init(void **state)
{
	(void)state;
	assert_string_equal(tls_aead_chosen(), "evp");
	tls_init();
	assert_non_null(tls_aead_chosen());
	assert_int_equal(tls_aead_force("none such"), -1);
}

static void
test_an_object_stays_with_what_it_was_made_with(void **state)
{
	uint8_t key[TLS_KEY_MAX] = { 1 }, nonce[TLS_IV_LEN] = { 2 };
	uint8_t aad[AAD_LEN] = { 3 }, data[40] = { 4 }, tag[TLS_TAG_LEN];
	struct tls_aead_args args = { nonce, aad,          sizeof(aad),
				      data,  sizeof(data), tag };
	struct tls_aead *made[ARRAY_LEN(names)];

	(void)state;
	for (size_t n = 0; n < ARRAY_LEN(names); n++)
		made[n] =
			make(names[n], TLS_SUITE_AES_256_GCM_SHA384, true, key);
	for (size_t n = 0; n < ARRAY_LEN(names); n++) {
		assert_int_equal(tls_aead_seal(made[n], &args), 0);
		tls_aead_free(made[n]);
	}
	tls_aead_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_openssl_is_used_unless_a_program_calls_init),
		cmocka_unit_test(test_known_vectors_come_out),
		cmocka_unit_test(test_each_opens_what_any_sealed),
		cmocka_unit_test(test_a_changed_bit_is_refused_wherever_it_is),
		cmocka_unit_test(test_a_wrong_key_is_refused),
		cmocka_unit_test(
			test_an_object_stays_with_what_it_was_made_with),
	};

	return cmocka_run_group_tests_name("aead", tests, NULL, NULL);
}
