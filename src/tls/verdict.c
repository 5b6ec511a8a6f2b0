/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/verdict.h"

#include <openssl/err.h>

#include "base/array.h"
#include "tls/ossl.h"

struct row {
	int code;
	enum tls_reason reason;
};

static const struct row certificate_rows[] = {
	{ X509_V_ERR_CERT_HAS_EXPIRED, TLS_REASON_CERT_EXPIRED },
	{ X509_V_ERR_CERT_NOT_YET_VALID, TLS_REASON_CERT_NOT_YET_VALID },
	{ X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, TLS_REASON_WRONG_CA },
	{ X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, TLS_REASON_WRONG_CA },
	{ X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, TLS_REASON_WRONG_CA },
	{ X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, TLS_REASON_WRONG_CA },
	{ X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, TLS_REASON_WRONG_CA },
	{ X509_V_ERR_CERT_UNTRUSTED, TLS_REASON_WRONG_CA },
	{ X509_V_ERR_INVALID_CA, TLS_REASON_WRONG_CA },
	{ X509_V_ERR_INVALID_PURPOSE, TLS_REASON_WRONG_PURPOSE },
};

static const struct row library_rows[] = {
	{ SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, TLS_REASON_NO_CERTIFICATE },
	{ SSL_R_NO_APPLICATION_PROTOCOL, TLS_REASON_WRONG_ALPN },
	{ SSL_R_UNSUPPORTED_PROTOCOL, TLS_REASON_TLS_VERSION },
	{ SSL_R_VERSION_TOO_LOW, TLS_REASON_TLS_VERSION },
	{ SSL_R_WRONG_SSL_VERSION, TLS_REASON_TLS_VERSION },
	{ SSL_R_WRONG_VERSION_NUMBER, TLS_REASON_TLS_VERSION },
	{ SSL_R_UNKNOWN_PROTOCOL, TLS_REASON_TLS_VERSION },
	{ SSL_R_BAD_LEGACY_VERSION, TLS_REASON_TLS_VERSION },
	{ SSL_R_NO_SHARED_CIPHER, TLS_REASON_NO_COMMON_CIPHER },
	{ SSL_R_NO_SUITABLE_KEY_SHARE, TLS_REASON_NO_COMMON_CIPHER },
	{ SSL_R_NO_SUITABLE_GROUPS, TLS_REASON_NO_COMMON_CIPHER },
	{ SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, TLS_REASON_NO_COMMON_CIPHER },
	{ SSL_R_HTTP_REQUEST, TLS_REASON_NOT_TLS },
	{ SSL_R_HTTPS_PROXY_REQUEST, TLS_REASON_NOT_TLS },
	{ SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC, TLS_REASON_BAD_RECORD },
	{ SSL_R_PACKET_LENGTH_TOO_LONG, TLS_REASON_BAD_RECORD },
	{ SSL_R_ENCRYPTED_LENGTH_TOO_LONG, TLS_REASON_BAD_RECORD },
	{ SSL_R_DATA_LENGTH_TOO_LONG, TLS_REASON_BAD_RECORD },
	{ SSL_R_LENGTH_MISMATCH, TLS_REASON_BAD_RECORD },
	{ SSL_R_LENGTH_TOO_SHORT, TLS_REASON_BAD_RECORD },
	{ SSL_R_BAD_RECORD_TYPE, TLS_REASON_BAD_RECORD },
	{ SSL_R_RECORD_LENGTH_MISMATCH, TLS_REASON_BAD_RECORD },
	{ SSL_R_BAD_EXTENSION, TLS_REASON_BAD_RECORD },
	{ SSL_R_EXCESSIVE_MESSAGE_SIZE, TLS_REASON_TOO_MUCH },
	{ SSL_R_UNEXPECTED_MESSAGE, TLS_REASON_UNEXPECTED },
	{ SSL_R_UNEXPECTED_RECORD, TLS_REASON_UNEXPECTED },
};

static enum tls_reason
look_up(const struct row *rows, size_t count, long code,
	enum tls_reason otherwise)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].code == code)
			return rows[i].reason;
	}
	return otherwise;
}

static int
certificate_verdict(long code, struct tls_failure *failure)
{
	enum tls_reason reason =
		look_up(certificate_rows, ARRAY_LEN(certificate_rows), code,
			TLS_REASON_BAD_CERTIFICATE);

	ERR_clear_error();
	return tls_failure_set(failure, reason,
			       "peer's certificate is refused: %s",
			       X509_verify_cert_error_string(code));
}

int
tls_verdict(const SSL *ssl, struct tls_failure *failure)
{
	int code = ERR_GET_REASON(ERR_peek_error());
	long verified = SSL_get_verify_result(ssl);
	enum tls_reason reason;
	char why[160];

	if (code >= SSL_AD_REASON_OFFSET) {
		ERR_clear_error();
		return tls_failure_alert(
			failure, (unsigned)(code - SSL_AD_REASON_OFFSET));
	}
	if (code == SSL_R_CERTIFICATE_VERIFY_FAILED && verified != X509_V_OK)
		return certificate_verdict(verified, failure);
	reason = look_up(library_rows, ARRAY_LEN(library_rows), code,
			 TLS_REASON_HANDSHAKE);
	return tls_failure_set(failure, reason, "handshake failed: %s",
			       ossl_text(why, sizeof(why)));
}
