/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLS_KTLS_H
#define TLS_KTLS_H

/*
 * ktls - records sealed and opened by the kernel.
 *
 * Once a stream of the record engine is offloaded, plaintext is written to and
 * read from its socket, also by splice(2), and the functions of tls/stream.h
 * must not be used on it any more, except tls_stream_eof(),
 * tls_stream_cipher() and tls_stream_free(). What is left to user space is
 * what is not data: the end of a direction, alerts, new keys.
 *
 * Only kernels that can change keys (6.14 and later) are used: without that a
 * stream would have to end before the key is worn out.
 *
 * Threading: as for streams; tls_ktls_available() from any thread.
 */

#include <stdbool.h>
#include <stddef.h>

#include "tls/reason.h"

struct err;
struct tls_stream;

/*
 * Whether the kernel does all of this, tried out on a connection over loopback.
 * The answer is kept. Before a sandbox that forbids sockets, please.
 */
bool tls_ktls_available(void);

/*
 * Hands both directions of a stream to the kernel. All that was sealed must
 * have been written to fd, a TCP socket, and all that was read from it been
 * opened, ending with a whole record. On failure the stream can be used as
 * before, unless the error is ERR_INTERNAL: then only one direction went over,
 * and the connection must end.
 */
int tls_stream_offload(struct tls_stream *s, int fd, struct err *err);

/*
 * To be told of each write of plaintext. True when the key has been used enough
 * and tls_ktls_update() should be called before more is written.
 */
bool tls_ktls_wrote(struct tls_stream *s, size_t bytes);

/*
 * Sends a KeyUpdate and changes the key. 0 when done; 1 when fd takes no more
 * at the moment: call again when it is writable; -1 on failure.
 */
int tls_ktls_update(struct tls_stream *s, int fd, struct err *err);

/* close_notify; results as above. The other direction goes on. */
int tls_ktls_close(struct tls_stream *s, int fd, struct err *err);

/* Whether a read or splice from fd failed with this errno because the next
 * record is not data: recv() says EIO then, splice() EINVAL. */
bool tls_ktls_is_control(int error);

/*
 * Takes a record that is not data. *ret_closed is set when it was close_notify.
 * If the peer asked for a KeyUpdate, tls_ktls_wrote() will say so. 0 when done,
 * also when there was nothing to take; -1 when the stream has failed.
 */
int tls_ktls_take_control(struct tls_stream *s, int fd, bool *ret_closed,
			  struct tls_failure *ret_failure);

#endif
