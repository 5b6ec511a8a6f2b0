/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RPC_RPC_H
#define RPC_RPC_H

/*
 * rpc - JSON-RPC 2.0 on unix stream sockets, one message per line.
 *
 * A message is one JSON object followed by a newline; batches are refused.
 * Descriptors travel by SCM_RIGHTS with the bytes of the message they belong
 * to: a sender sends such a message by a sendmsg(2) of its own, a receiver
 * gives them to the message that holds the last byte they came with.
 *
 * Both sides say which protocol they speak in "hello", whose parameters and
 * result are {"protocol":1,"program":"ferry-proxy","version":"0.1.0"}. A client
 * that adds "notify":true gets notifications: requests of the server without an
 * id, between the replies, which nobody answers.
 *
 * An error that a method reports carries the kind of struct err:
 * {"code":-32004,"message":"...","data":{"kind":"Conflict"}}. The code is
 * RPC_CODE_KIND - kind, except ERR_INVALID, which is RPC_CODE_PARAMS.
 */

#include <stddef.h>

#define RPC_PROTOCOL 1

/* Limits: what a peer can make us keep. */
#define RPC_MESSAGE_MAX (1024UL * 1024) /* request, with its newline */
#define RPC_REPLY_MAX (8UL * 1024 * 1024)
#define RPC_NOTIFY_BACKLOG (1024UL * 1024) /* unread notifications */
/* Notifications that a client takes; those of a server that sends more wait
 * in its socket. */
#define RPC_NOTIFY_PER_S 20U
#define RPC_NOTIFY_BURST 200U
#define RPC_NOTIFY_BYTES_PER_S (256UL * 1024)
#define RPC_NOTIFY_BYTES_BURST (1024UL * 1024)
#define RPC_FDS_MAX 16U /* per message */
#define RPC_CONNECTIONS_MAX 64U

/* Deadlines, both for the whole message and not for one byte of it. */
#define RPC_RECEIVE_TIMEOUT_MS 10000U /* first byte to newline */
#define RPC_SEND_TIMEOUT_MS 10000U    /* reply made to reply read */

#define RPC_CODE_PARSE (-32700)
#define RPC_CODE_REQUEST (-32600)
#define RPC_CODE_METHOD (-32601)
#define RPC_CODE_PARAMS (-32602)
#define RPC_CODE_KIND (-32000)

/* Who we are, for "hello". The strings are not copied. */
struct rpc_identity {
	const char *program;
	const char *version;
};

#endif
