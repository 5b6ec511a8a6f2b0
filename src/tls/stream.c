/* SPDX-License-Identifier: Apache-2.0 */
#include "tls/stream.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define TLS_ALLOW_PRIVATE

#include "base/mem.h"
#include "tls/engine.h"
#include "tls/private.h"

/*
 * Data in a record smaller than this is moved next to the data before it:
 * cheaper than one more piece for writev().
 */
#define SMALL_RECORD 2048
/*
 * Records in a row that bring no data. More is a flood: a peer has no reason
 * for even a third.
 */
#define IDLE_RECORDS_MAX 32

int
tls_stream_plain_iov(uint8_t *buf, size_t max,
		     struct iovec iov[TLS_BATCH_RECORDS])
{
	uint8_t *slot = buf + TLS_HEADROOM;
	int n = 0;

	assert(max > 0 && max <= TLS_BATCH_PLAIN);
	while (max > 0) {
		size_t len = max < TLS_RECORD_PLAIN ? max : TLS_RECORD_PLAIN;

		iov[n].iov_base = slot + TLS_RECORD_HEADER;
		iov[n].iov_len = len;
		n++;
		max -= len;
		slot += TLS_SLOT;
	}
	return n;
}

static int
refail(const struct tls_stream *s, struct tls_failure *ret_failure)
{
	if (ret_failure != NULL)
		*ret_failure = *s->failure;
	return -1;
}

void
tls_stream_fail(struct tls_stream *s, const struct tls_failure *failure)
{
	if (s->failure != NULL)
		return;
	s->failure = xmalloc0(sizeof(*s->failure));
	*s->failure = *failure;
}

int
tls_stream_refuse(struct tls_stream *s, enum tls_alert alert,
		  enum tls_reason reason, const char *text,
		  struct tls_failure *failure)
{
	s->alert = alert;
	s->alert_due = true;
	return tls_failure_set(failure, reason, "%s", text);
}

static int
seal_due_alert(struct tls_stream *s, uint8_t *buf, struct iovec *ret_wire)
{
	s->alert_due = false;
	s->write_closed = true;
	return s->ops->seal_alert(s, buf, s->alert, ret_wire, NULL);
}

int
tls_stream_seal(struct tls_stream *s, uint8_t *buf, size_t plain_len,
		struct iovec *ret_wire, struct tls_failure *ret_failure)
{
	struct tls_failure failure;

	assert(plain_len <= TLS_BATCH_PLAIN);
	*ret_wire = (struct iovec){ 0 };
	if (plain_len == 0 && !tls_stream_wants_to_send(s))
		return 0;
	if (plain_len == 0 && s->alert_due)
		return seal_due_alert(s, buf, ret_wire);
	if (s->failure != NULL && plain_len > 0)
		return refail(s, ret_failure);
	if (s->write_closed)
		return tls_failure_set(ret_failure, TLS_REASON_INTERNAL,
				       "sending after the own end");
	if (s->ops->seal(s, buf, plain_len, ret_wire, &failure) == -1) {
		s->write_closed = true;
		tls_stream_fail(s, &failure);
		return refail(s, ret_failure);
	}
	return 0;
}

int
tls_stream_seal_close(struct tls_stream *s, uint8_t *buf,
		      struct iovec *ret_wire, struct tls_failure *ret_failure)
{
	*ret_wire = (struct iovec){ 0 };
	if (s->failure != NULL)
		return refail(s, ret_failure);
	if (s->write_closed)
		return tls_failure_set(ret_failure, TLS_REASON_INTERNAL,
				       "a second end of sending");
	s->write_closed = true;
	return s->ops->seal_alert(s, buf, TLS_ALERT_CLOSE_NOTIFY, ret_wire,
				  ret_failure);
}

bool
tls_stream_wants_to_send(const struct tls_stream *s)
{
	if (s->write_closed)
		return false;
	return s->alert_due || s->ops->wants_to_send(s);
}

/*
 * The length of the record at buf, with its header; 0 and *ret_need set when it
 * is not complete. -1 when the header is wrong: then the rest need not come.
 */
static ssize_t
frame(struct tls_stream *s, const uint8_t *buf, size_t len, size_t *ret_need,
      struct tls_failure *failure)
{
	size_t body;

	if (len == 0)
		return 0;
	if (buf[0] != TLS_CONTENT_DATA)
		return tls_stream_refuse(
			s, TLS_ALERT_UNEXPECTED_MESSAGE, TLS_REASON_UNEXPECTED,
			"peer sent bytes that are no record", failure);
	if (len < TLS_RECORD_HEADER) {
		*ret_need = TLS_RECORD_HEADER - len;
		return 0;
	}
	body = (size_t)buf[3] << 8 | buf[4];
	if (body > TLS_RECORD_PLAIN + TLS_RECORD_EXPANSION)
		return tls_stream_refuse(
			s, TLS_ALERT_RECORD_OVERFLOW, TLS_REASON_BAD_RECORD,
			"peer sent a record that is too long", failure);
	if (len < TLS_RECORD_HEADER + body) {
		*ret_need = TLS_RECORD_HEADER + body - len;
		return 0;
	}
	return (ssize_t)(TLS_RECORD_HEADER + body);
}

/* Whether there is room for data from one more record. */
static bool
has_room(const struct tls_opened *o)
{
	return o->iovcnt < TLS_OPEN_IOV;
}

static void
gather(struct tls_opened *o, const struct tls_record *r)
{
	struct iovec *last = o->iovcnt > 0 ? &o->iov[o->iovcnt - 1] : NULL;

	if (r->len == 0)
		return;
	o->plain_len += r->len;
	if (last != NULL && r->len < SMALL_RECORD) {
		memmove((uint8_t *)last->iov_base + last->iov_len, r->plain,
			r->len);
		last->iov_len += r->len;
		return;
	}
	o->iov[o->iovcnt].iov_base = (void *)(uintptr_t)r->plain;
	o->iov[o->iovcnt].iov_len = r->len;
	o->iovcnt++;
}

/* One record: 1 when it is done with, 0 when it is not complete. */
static int
open_one(struct tls_stream *s, uint8_t *buf, size_t len, struct tls_opened *o,
	 struct tls_record *r, struct tls_failure *failure)
{
	ssize_t size = frame(s, buf, len, &o->need, failure);

	if (size <= 0)
		return (int)size;
	*r = (struct tls_record){ 0 };
	if (s->ops->open(s, buf, (size_t)size, r, failure) == -1)
		return -1;
	if (r->len > 0)
		s->idle_records = 0;
	else if (++s->idle_records > IDLE_RECORDS_MAX)
		return tls_stream_refuse(
			s, TLS_ALERT_UNEXPECTED_MESSAGE, TLS_REASON_TOO_MUCH,
			"peer sends record after record without data", failure);
	gather(o, r);
	o->consumed += (size_t)size;
	return 1;
}

int
tls_stream_open(struct tls_stream *s, uint8_t *buf, size_t len,
		unsigned max_records, struct tls_opened *ret,
		struct tls_failure *ret_failure)
{
	struct tls_failure failure;
	struct tls_record record;
	unsigned records = 0;
	int r = 1;

	/* Field by field: clearing all of iov is waste. */
	ret->iovcnt = 0;
	ret->plain_len = ret->consumed = ret->need = 0;
	ret->closed = s->read_closed;
	if (s->failure != NULL)
		return refail(s, ret_failure);

	while (!s->read_closed && has_room(ret) &&
	       (max_records == 0 || records < max_records)) {
		r = open_one(s, buf + ret->consumed, len - ret->consumed, ret,
			     &record, &failure);
		if (r <= 0)
			break;
		records += record.data;
		s->read_closed = ret->closed = record.closed;
	}
	if (r >= 0)
		return 0;
	tls_stream_fail(s, &failure);
	/* Data first; what remains in buf makes the caller come again. */
	return ret->plain_len > 0 ? 0 : refail(s, ret_failure);
}

int
tls_stream_eof(const struct tls_stream *s, struct tls_failure *ret_failure)
{
	if (s->failure != NULL)
		return refail(s, ret_failure);
	if (s->read_closed)
		return 0;
	return tls_failure_set(ret_failure, TLS_REASON_TRUNCATED,
			       "connection ended without close_notify");
}

const char *
tls_stream_cipher(const struct tls_stream *s)
{
	return tls_suite_name(s->suite);
}

void
tls_stream_free(struct tls_stream *s)
{
	if (s == NULL)
		return;
	free(s->failure);
	s->ops->free(s);
}

void
tls_stream_set_limit(struct tls_stream *s, uint64_t records)
{
	s->limit = records;
}

void
tls_stream_start_update(struct tls_stream *s)
{
	s->update_due = s->ask_peer = true;
}
