/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A session is fed by someone who has no certificate: it must never be done,
 * fail with a reason, and hold no more than it may.
 *
 * Input: a byte for the role, a byte for how much is given at once, then what
 * the peer sends.
 */
#include <assert.h>
#include <stdlib.h>

#include "tls/testpair.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Made once: the certificates cost more than a thousand inputs. */
static struct tls_context *
context(enum tls_role role)
{
	static struct tls_context *contexts[TLS_ROLE_COUNT];

	if (contexts[0] == NULL) {
		struct tls_pki_pem ca = { 0 };
		struct tls_pki_pem node = { 0 };

		testpair_ca("fuzz", &ca);
		testpair_node(&ca, "node", NULL, &node);
		for (unsigned i = 0; i < TLS_ROLE_COUNT; i++)
			contexts[i] =
				testpair_context((enum tls_role)i, &node, &ca);
		tls_pki_pem_done(&ca);
		tls_pki_pem_done(&node);
	}
	return contexts[role];
}

static void
drop_output(struct tls_session *s)
{
	const uint8_t *out;
	size_t len = tls_session_output(s, &out);

	if (len > 0)
		tls_session_sent(s, len);
	assert(tls_session_output(s, &out) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tls_failure f = { 0 };
	enum tls_progress progress = TLS_WANT_READ;
	enum tls_role role;
	struct tls_session *s;
	size_t chunk;
	size_t at = 2;

	if (size < 2)
		return 0;
	role = (data[0] & 1) ? TLS_ROLE_CLIENT : TLS_ROLE_SERVER;
	chunk = data[1] == 0 ? TLS_SESSION_STEP_MAX : data[1] * 8U;
	s = tls_session_new(context(role), "spiffe://ferry.io/node/node");
	if (role == TLS_ROLE_CLIENT) {
		progress = tls_session_step(s, NULL, 0, &f);
		assert(progress == TLS_WANT_READ);
		drop_output(s);
	}
	while (at < size && progress == TLS_WANT_READ) {
		size_t len = size - at < chunk ? size - at : chunk;

		progress = tls_session_step(s, data + at, len, &f);
		assert(progress != TLS_DONE);
		drop_output(s);
		at += len;
		/* At this size it must have come to an end. */
		assert(progress == TLS_FAILED ||
		       at - 2 <= TLS_HANDSHAKE_MAX + TLS_RECORD_MAX);
	}
	if (progress == TLS_WANT_READ)
		assert(tls_session_eof(s, &f) == -1);
	assert(f.reason != TLS_REASON_NONE && f.text[0] != '\0');
	assert(tls_session_step(s, data, 1, &f) == TLS_FAILED);
	tls_session_free(s);
	return 0;
}
