/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_HELLO_H
#define PROXY_HELLO_H

/*
 * hello - what two proxies say to each other before the bytes flow.
 *
 * Protocol ferry/1, negotiated by ALPN. After the handshake the source sends
 * one request in one TLS record: which migration, which channel, and whether
 * the bytes go in the clear. The target checks it, dials its local socket and
 * answers in one record: accepted, or a reason code and a sentence.
 *
 *	request:  'F' 'Q' version mode  channel(2)  run(8)  number(8)
 *	          key length  key
 *	answer:   'F' 'A' version ok    code length  code  text length  text
 *
 * Numbers are big endian. run is drawn at random by each source listener, and
 * number counts its requests per channel from 0: they travel on connections of
 * their own, and by these the target puts them into order again.
 *
 * version is 1; mode 0 is TLS, 1 is plain. In plain mode the request and the
 * answer are the last TLS records of their direction, and raw bytes follow
 * immediately behind. Bytes beyond the fields make a message invalid.
 *
 * Pure functions, any thread.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proxy/channel.h"
#include "proxy/reason.h"

struct err;

#define HELLO_VERSION 1
#define HELLO_MAX 512 /* bytes; every message fits, longer ones are refused */

struct hello_request {
	char key[CHANNEL_KEY_MAX + 1];
	enum channel channel;
	bool plain;
	uint64_t run;
	uint64_t number;
};

/* The answer: REASON_NONE accepts. */
size_t hello_request_encode(const struct hello_request *request,
			    uint8_t ret_data[HELLO_MAX]);
int hello_request_decode(const uint8_t *data, size_t len,
			 struct hello_request *ret_request, struct err *err);

size_t hello_answer_encode(const struct failure *failure,
			   uint8_t ret_data[HELLO_MAX]);
/* A code that is not known becomes REASON_PEER_REFUSED, named in the text. */
int hello_answer_decode(const uint8_t *data, size_t len,
			struct failure *ret_failure, struct err *err);

#endif
