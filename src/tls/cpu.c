/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/cpu.h"

#include <stdbool.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* clang 14 does not know the names of these two. */
static bool
has_wide_aes(void)
{
	const unsigned vaes = 1U << 9, vpclmulqdq = 1U << 10;
	unsigned a, b, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & vaes) &&
	       (c & vpclmulqdq);
}

/* The compiler's tests include that the kernel saves the wide registers, which
 * cpuid's leaf 7 does not say. */
enum tls_cpu_aes
tls_cpu_aes(void)
{
	__builtin_cpu_init();
	if (!__builtin_cpu_supports("avx2") || !has_wide_aes())
		return TLS_CPU_AES_NARROW;
	return __builtin_cpu_supports("avx512f") &&
			       __builtin_cpu_supports("avx512vl") &&
			       __builtin_cpu_supports("avx512bw") &&
			       __builtin_cpu_supports("avx512dq")
		       ? TLS_CPU_AES_AVX512
		       : TLS_CPU_AES_AVX2;
}
#else
enum tls_cpu_aes
tls_cpu_aes(void)
{
	return TLS_CPU_AES_NARROW;
}
#endif
