/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_INIT_H
#define TLS_INIT_H

/*
 * Once per program, before there are threads and before a sandbox keeps files
 * away: chooses the fastest AES-GCM for this CPU, whose library may read its
 * configuration now. It cannot fail; a program that leaves it out gets
 * OpenSSL's.
 */
void tls_init(void);

#endif
