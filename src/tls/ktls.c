/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/ktls.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/tls.h>

#include <openssl/crypto.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "tls/engine.h"

/* What setsockopt() wants, for either cipher. */
union crypto_info {
	struct tls_crypto_info info;
	struct tls12_crypto_info_aes_gcm_128 aes128;
	struct tls12_crypto_info_aes_gcm_256 aes256;
};

#define FILL(c, keys)                                             \
	do {                                                      \
		memcpy((c)->key, (keys)->key, sizeof((c)->key));  \
		memcpy((c)->salt, (keys)->iv, sizeof((c)->salt)); \
		memcpy((c)->iv, (keys)->iv + sizeof((c)->salt),   \
		       sizeof((c)->iv));                          \
	} while (0)

static void
set_seq(unsigned char *out, uint64_t seq)
{
	for (unsigned i = 0; i < 8; i++)
		out[7 - i] = (unsigned char)(seq >> (8 * i));
}

/* direction is TLS_TX or TLS_RX. Errors are errno's. */
static int
set_keys(int fd, int direction, enum tls_suite suite,
	 const struct tls_record_keys *keys)
{
	union crypto_info c = { .info.version = TLS_1_3_VERSION };
	socklen_t len;
	int ret;

	if (suite == TLS_SUITE_AES_128_GCM_SHA256) {
		c.info.cipher_type = TLS_CIPHER_AES_GCM_128;
		FILL(&c.aes128, keys);
		set_seq(c.aes128.rec_seq, keys->seq);
		len = sizeof(c.aes128);
	} else {
		c.info.cipher_type = TLS_CIPHER_AES_GCM_256;
		FILL(&c.aes256, keys);
		set_seq(c.aes256.rec_seq, keys->seq);
		len = sizeof(c.aes256);
	}
	ret = setsockopt(fd, SOL_TLS, direction, &c, len);
	OPENSSL_cleanse(&c, sizeof(c));
	return ret;
}

/* The present key of one direction of a stream, into the kernel. */
static int
install(const struct tls_stream *s, int fd, int direction)
{
	struct tls_record_keys keys;
	int ret = tls_record_export(s, direction == TLS_TX, &keys);

	if (ret == 0)
		ret = set_keys(fd, direction, s->suite, &keys);
	OPENSSL_cleanse(&keys, sizeof(keys));
	return ret;
}

static int
attach(int fd)
{
	return setsockopt(fd, IPPROTO_TCP, TCP_ULP, "tls", sizeof("tls"));
}

/* A connected socket; the other end is *ret_other. -1 when there is none. */
static int
connect_to_self(int *ret_other)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	AUTO(close_fd) int listener = -1;
	AUTO(close_fd) int fd = -1;

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (listener == -1 || fd == -1 ||
	    bind(listener, (struct sockaddr *)&addr, len) == -1 ||
	    listen(listener, 1) == -1 ||
	    getsockname(listener, (struct sockaddr *)&addr, &len) == -1 ||
	    connect(fd, (struct sockaddr *)&addr, len) == -1)
		return -1;
	*ret_other = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	return *ret_other == -1 ? -1 : TAKE_FD(fd);
}

static bool available;

/* The second key for a direction is what older kernels refuse. */
static bool
try_suite(enum tls_suite suite)
{
	static const struct tls_record_keys keys;
	AUTO(close_fd) int other = -1;
	AUTO(close_fd) int fd = connect_to_self(&other);

	return fd != -1 && attach(fd) == 0 &&
	       set_keys(fd, TLS_TX, suite, &keys) == 0 &&
	       set_keys(fd, TLS_RX, suite, &keys) == 0 &&
	       set_keys(fd, TLS_TX, suite, &keys) == 0;
}

static void
probe(void)
{
	available = true;
	for (unsigned i = 0; i < TLS_SUITE_COUNT && available; i++)
		available = try_suite((enum tls_suite)i);
}

bool
tls_ktls_available(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, probe);
	return available;
}

int
tls_stream_offload(struct tls_stream *s, int fd, struct err *err)
{
	if (!tls_record_is(s) || s->failure != NULL || s->write_closed ||
	    s->read_closed || tls_stream_wants_to_send(s))
		return err_set(err, ERR_INVALID,
			       "the stream cannot be given to the kernel");
	if (attach(fd) == -1 || install(s, fd, TLS_TX) == -1)
		return err_set(err, ERR_UNAVAILABLE,
			       "the kernel does not take the stream: %s",
			       strerror(errno));
	if (install(s, fd, TLS_RX) == -1)
		return err_set(err, ERR_INTERNAL,
			       "the kernel takes one direction only: %s",
			       strerror(errno));
	return 0;
}

/* One record that is not data. 0, 1 for "not now", -1. */
static int
send_control(int fd, enum tls_content type, const uint8_t *data, size_t len)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(1)];
	} control = { 0 };
	struct iovec iov = { (void *)(uintptr_t)data, len };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.room),
	};
	ssize_t n;

	control.header.cmsg_level = SOL_TLS;
	control.header.cmsg_type = TLS_SET_RECORD_TYPE;
	control.header.cmsg_len = CMSG_LEN(1);
	*CMSG_DATA(&control.header) = (unsigned char)type;
	n = sendmsg(fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return 1;
	return n == (ssize_t)len ? 0 : -1;
}

bool
tls_ktls_wrote(struct tls_stream *s, size_t bytes)
{
	/* A write makes a record for each 16 KiB that it begins. */
	s->offloaded_records +=
		(bytes + TLS_RECORD_PLAIN - 1) / TLS_RECORD_PLAIN;
	if (s->offloaded_records >= s->limit)
		s->update_due = true;
	return s->update_due && !s->write_closed;
}

int
tls_ktls_update(struct tls_stream *s, int fd, struct err *err)
{
	static const uint8_t message[] = TLS_KEY_UPDATE(0);
	int r = send_control(fd, TLS_CONTENT_HANDSHAKE, message,
			     sizeof(message));

	if (r == 1)
		return 1;
	if (r == -1)
		return err_errno(err, "cannot send a KeyUpdate");
	if (tls_record_next_out_key(s) == -1 || install(s, fd, TLS_TX) == -1)
		return err_errno(err, "cannot change the key");
	s->update_due = false;
	s->offloaded_records = 0;
	return 0;
}

int
tls_ktls_close(struct tls_stream *s, int fd, struct err *err)
{
	static const uint8_t alert[] = { 1, TLS_ALERT_CLOSE_NOTIFY };
	int r = send_control(fd, TLS_CONTENT_ALERT, alert, sizeof(alert));

	if (r == -1)
		return err_errno(err, "cannot send close_notify");
	if (r == 0)
		s->write_closed = true;
	return r;
}

/* Fails the stream for good, and tells the peer if that is due. */
static int
fail_stream(struct tls_stream *s, int fd, const struct tls_failure *failure,
	    struct tls_failure *ret_failure)
{
	uint8_t alert[] = { 2, (uint8_t)s->alert };

	if (s->alert_due)
		(void)send_control(fd, TLS_CONTENT_ALERT, alert, sizeof(alert));
	s->alert_due = false;
	s->write_closed = true;
	tls_stream_fail(s, failure);
	return tls_stream_eof(s, ret_failure);
}

/* A record that is not data, and its type; -1 with errno set. */
static ssize_t
receive_control(int fd, struct iovec iov, uint8_t *ret_type)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(1)];
	} control = { 0 };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control.room),
	};
	ssize_t n = recvmsg(fd, &msg, MSG_DONTWAIT);
	const struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	*ret_type = TLS_CONTENT_DATA;
	if (n >= 0 && c != NULL && c->cmsg_level == SOL_TLS &&
	    c->cmsg_type == TLS_GET_RECORD_TYPE)
		*ret_type = *CMSG_DATA(c);
	return n;
}

bool
tls_ktls_is_control(int error)
{
	return error == EIO || error == EINVAL;
}

int
tls_ktls_take_control(struct tls_stream *s, int fd, bool *ret_closed,
		      struct tls_failure *ret_failure)
{
	uint8_t data[TLS_RECORD_PLAIN];
	uint8_t type;
	ssize_t n = receive_control(fd, (struct iovec){ data, sizeof(data) },
				    &type);
	unsigned updates = tls_record_in_updates(s);
	struct tls_record record = { 0 };
	struct tls_failure f = { 0 };

	*ret_closed = false;
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n == -1)
		(void)tls_failure_set(&f, TLS_REASON_BAD_RECORD,
				      "cannot take a record: %s",
				      strerror(errno));
	else if (type == TLS_CONTENT_DATA)
		(void)tls_failure_set(&f, TLS_REASON_INTERNAL,
				      "the kernel has no control record");
	else
		(void)tls_record_take(s, type, data, (size_t)n, &record, &f);
	/* The kernel opens nothing more until it has the next key. */
	if (f.reason == TLS_REASON_NONE &&
	    tls_record_in_updates(s) != updates && install(s, fd, TLS_RX) == -1)
		(void)tls_failure_set(&f, TLS_REASON_INTERNAL,
				      "cannot change the key: %s",
				      strerror(errno));
	if (f.reason != TLS_REASON_NONE)
		return fail_stream(s, fd, &f, ret_failure);
	s->read_closed |= record.closed;
	*ret_closed = record.closed;
	return 0;
}
