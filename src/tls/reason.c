/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/reason.h"

#include <assert.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include "base/array.h"

static const char *const names[] = {
	[TLS_REASON_NONE] = "None",
	[TLS_REASON_CERT_EXPIRED] = "CertificateExpired",
	[TLS_REASON_CERT_NOT_YET_VALID] = "CertificateNotYetValid",
	[TLS_REASON_WRONG_CA] = "WrongCA",
	[TLS_REASON_WRONG_NODE] = "WrongNode",
	[TLS_REASON_NO_CERTIFICATE] = "NoCertificate",
	[TLS_REASON_WRONG_PURPOSE] = "WrongPurpose",
	[TLS_REASON_BAD_CERTIFICATE] = "BadCertificate",
	[TLS_REASON_WRONG_ALPN] = "WrongALPN",
	[TLS_REASON_TLS_VERSION] = "TLSVersion",
	[TLS_REASON_NO_COMMON_CIPHER] = "NoCommonCipher",
	[TLS_REASON_NOT_TLS] = "NotTLS",
	[TLS_REASON_BAD_RECORD] = "BadRecord",
	[TLS_REASON_UNEXPECTED] = "UnexpectedMessage",
	[TLS_REASON_PEER_ALERT] = "PeerAlert",
	[TLS_REASON_TRUNCATED] = "Truncated",
	[TLS_REASON_TOO_MUCH] = "TooMuch",
	[TLS_REASON_HANDSHAKE] = "HandshakeFailed",
	[TLS_REASON_INTERNAL] = "Internal",
};
static_assert(ARRAY_LEN(names) == TLS_REASON_COUNT, "a reason has no name");

/*
 * What the other side means by an alert. 42 and 46 are general in the standard;
 * the side that sends them here uses them for one fault each.
 */
static const struct {
	unsigned alert;
	enum tls_reason reason;
	const char *text;
} alerts[] = {
	{ 10, TLS_REASON_UNEXPECTED, "peer did not expect our message" },
	{ 20, TLS_REASON_BAD_RECORD, "peer could not decrypt our record" },
	{ 22, TLS_REASON_BAD_RECORD, "peer found our record too long" },
	{ 40, TLS_REASON_PEER_ALERT, "peer refused our terms" },
	{ 42, TLS_REASON_CERT_NOT_YET_VALID,
	  "peer refused our certificate: not yet valid or malformed" },
	{ 43, TLS_REASON_WRONG_PURPOSE,
	  "peer refused our certificate: not meant for this use" },
	{ 44, TLS_REASON_BAD_CERTIFICATE,
	  "peer refused our certificate: revoked" },
	{ 45, TLS_REASON_CERT_EXPIRED,
	  "peer refused our certificate: expired" },
	{ 46, TLS_REASON_WRONG_NODE,
	  "peer refused our certificate: not the node it talks to" },
	{ 48, TLS_REASON_WRONG_CA,
	  "peer refused our certificate: not from a CA it trusts" },
	{ 50, TLS_REASON_BAD_RECORD, "peer could not parse our message" },
	{ 51, TLS_REASON_PEER_ALERT, "peer could not verify our signature" },
	{ 70, TLS_REASON_TLS_VERSION, "peer does not speak TLS 1.3" },
	{ 71, TLS_REASON_NO_COMMON_CIPHER, "peer demands a stronger cipher" },
	{ 116, TLS_REASON_NO_CERTIFICATE, "peer demands a certificate" },
	{ 120, TLS_REASON_WRONG_ALPN,
	  "peer does not speak our protocol (ALPN)" },
};

const char *
tls_reason_name(enum tls_reason reason)
{
	assert(reason < TLS_REASON_COUNT);
	return names[reason];
}

int
tls_failure_set(struct tls_failure *failure, enum tls_reason reason,
		const char *fmt, ...)
{
	va_list ap;

	if (failure == NULL)
		return -1;
	failure->reason = reason;
	failure->by_peer = false;
	va_start(ap, fmt);
	(void)vsnprintf(failure->text, sizeof(failure->text), fmt, ap);
	va_end(ap);
	return -1;
}

int
tls_failure_alert(struct tls_failure *failure, unsigned alert)
{
	enum tls_reason reason = TLS_REASON_PEER_ALERT;
	const char *text = "peer gave up";

	for (size_t i = 0; i < ARRAY_LEN(alerts); i++) {
		if (alerts[i].alert == alert) {
			reason = alerts[i].reason;
			text = alerts[i].text;
		}
	}
	(void)tls_failure_set(failure, reason, "%s (alert %u)", text, alert);
	if (failure != NULL)
		failure->by_peer = true;
	return -1;
}
