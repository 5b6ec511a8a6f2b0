/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_CPU_H
#define TLS_CPU_H

/*
 * cpu - which wide AES instructions this CPU has, for the choice of who does
 * AES-GCM. Private to the files aead*.c.
 */

enum tls_cpu_aes {
	TLS_CPU_AES_NARROW, /* one block at a time, or unknown */
	TLS_CPU_AES_AVX2,   /* VAES and VPCLMULQDQ, two blocks at a time */
	TLS_CPU_AES_AVX512, /* the same with four */
};

enum tls_cpu_aes tls_cpu_aes(void);

#endif
