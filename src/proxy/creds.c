/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/creds.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "proxy/opener.h"

#define US_PER_MS 1000ULL

/* Which file of a set. */
enum part {
	PART_CERT,
	PART_KEY,
	PART_CA,
	PART_COUNT
};

static const char *const names[] = {
	[CRED_SERVER] = "server",
	[CRED_CLIENT] = "client",
	[CRED_MIGRATION] = "migration",
};
static_assert(ARRAY_LEN(names) == CRED_COUNT, "a credential has no name");

/* What is on disk, as it was when it was last read. */
struct set {
	bool used;
	struct opener_stamp stamp[PART_COUNT];
	struct tls_context *context;
	unsigned reloads;
	char complaint[256]; /* the last, so that it is logged once */
};

struct creds {
	struct opener *opener;
	struct set set[CRED_COUNT];
	struct loop_timer *timer;
};

const char *
cred_name(enum cred cred)
{
	return names[cred];
}

static void
inherit(struct cred_files *set, const struct cred_files *from)
{
	/* Certificate and key belong together. */
	if (set->cert == NULL && set->key == NULL) {
		set->cert = from->cert;
		set->key = from->key;
	}
	if (set->ca == NULL)
		set->ca = from->ca;
}

static int
check_complete(const struct cred_files *set, enum cred cred, struct err *err)
{
	static const char *const parts[] = { "cert", "key", "ca" };
	const char *const given[] = { set->cert, set->key, set->ca };

	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		if (given[i] == NULL)
			return err_set(err, ERR_INVALID,
				       "no --%s-%s: a file must be given",
				       names[cred], parts[i]);
	}
	return 0;
}

int
creds_config_complete(struct creds_config *config, bool server, bool source,
		      struct err *err)
{
	static const struct cred_files none;

	inherit(&config->set[CRED_MIGRATION], &config->set[CRED_CLIENT]);
	config->set[CRED_CLIENT] = none;
	if (!server)
		config->set[CRED_SERVER] = none;
	if (!source)
		config->set[CRED_MIGRATION] = none;
	if (server &&
	    check_complete(&config->set[CRED_SERVER], CRED_SERVER, err) == -1)
		return -1;
	if (source && check_complete(&config->set[CRED_MIGRATION],
				     CRED_MIGRATION, err) == -1)
		return -1;
	return 0;
}

static size_t
file_index(enum cred cred, enum part part)
{
	return (size_t)cred * PART_COUNT + (size_t)part;
}

size_t
creds_config_files(const struct creds_config *config,
		   const char *files[CREDS_FILES_MAX])
{
	for (int i = 0; i < CRED_COUNT; i++) {
		const struct cred_files *set = &config->set[i];

		/* An unused set keeps its place so that numbers stay. */
		files[file_index((enum cred)i, PART_CERT)] =
			set->cert ? set->cert : "/dev/null";
		files[file_index((enum cred)i, PART_KEY)] =
			set->key ? set->key : "/dev/null";
		files[file_index((enum cred)i, PART_CA)] =
			set->ca ? set->ca : "/dev/null";
	}
	return CREDS_FILES_MAX;
}

struct text {
	char *data;
	size_t len;
};

static void
text_done(struct text *text)
{
	if (text->data)
		explicit_bzero(text->data, text->len);
	free(text->data);
}

static int
stat_set(struct creds *creds, enum cred cred,
	 struct opener_stamp ret_stamp[PART_COUNT], struct err *err)
{
	for (int part = 0; part < PART_COUNT; part++) {
		if (opener_stat_file(creds->opener,
				     file_index(cred, (enum part)part),
				     &ret_stamp[part], err) == -1)
			return -1;
	}
	return 0;
}

/* Reads a set; on failure the one in use stays. */
static int
read_set(struct creds *creds, enum cred cred, struct err *err)
{
	struct set *set = &creds->set[cred];
	AUTO(text_done) struct text cert = { 0 };
	AUTO(text_done) struct text key = { 0 };
	AUTO(text_done) struct text ca = { 0 };
	struct text *parts[PART_COUNT] = { &cert, &key, &ca };
	struct tls_context *context;
	struct tls_pem pem;

	/* The stamps first: what changes while reading is read again. */
	if (stat_set(creds, cred, set->stamp, err) == -1)
		return -1;
	for (int part = 0; part < PART_COUNT; part++) {
		if (opener_read_file(creds->opener,
				     file_index(cred, (enum part)part),
				     TLS_PEM_MAX, &parts[part]->data,
				     &parts[part]->len, err) == -1)
			return -1;
	}
	pem = (struct tls_pem){
		.cert = cert.data,
		.cert_len = cert.len,
		.key = key.data,
		.key_len = key.len,
		.ca = ca.data,
		.ca_len = ca.len,
		.name = names[cred],
	};
	if (tls_context_new(cred == CRED_SERVER ? TLS_ROLE_SERVER
						: TLS_ROLE_CLIENT,
			    &pem, &context, err) == -1)
		return -1;
	tls_context_unref(set->context);
	set->context = context;
	set->complaint[0] = '\0';
	return 0;
}

static bool
has_changed(struct creds *creds, enum cred cred)
{
	struct opener_stamp now[PART_COUNT];
	struct err err;

	/* A file that is being replaced may be missing: look again later. */
	memset(now, 0, sizeof(now));
	if (stat_set(creds, cred, now, &err) == -1)
		return false;
	return memcmp(now, creds->set[cred].stamp, sizeof(now)) != 0;
}

static void
reload(struct creds *creds, enum cred cred)
{
	struct set *set = &creds->set[cred];
	const struct log_field ref[] = { { "credentials", names[cred] },
					 { NULL, NULL } };
	struct err err;

	if (read_set(creds, cred, &err) == 0) {
		set->reloads++;
		log_info(ref, "certificates were re-read, now '%s'",
			 tls_context_identity(set->context));
		return;
	}
	if (strcmp(set->complaint, err.text) == 0)
		return;
	(void)memcpy(set->complaint, err.text, sizeof(set->complaint));
	log_warning(ref, "changed certificates cannot be used, ignoring: %s",
		    err.text);
}

void
creds_check(struct creds *creds)
{
	for (int i = 0; i < CRED_COUNT; i++) {
		if (creds->set[i].used && has_changed(creds, (enum cred)i))
			reload(creds, (enum cred)i);
	}
}

static void
check_due(void *arg)
{
	struct creds *creds = arg;

	creds_check(creds);
	loop_timer_start(creds->timer, CREDS_CHECK_MS * US_PER_MS);
}

int
creds_load(const struct creds_config *config, struct opener *opener,
	   struct creds **ret_creds, struct err *err)
{
	struct creds *creds = xmalloc0(sizeof(*creds));

	creds->opener = opener;
	for (int i = 0; i < CRED_COUNT; i++) {
		if (config->set[i].cert == NULL)
			continue;
		creds->set[i].used = true;
		if (read_set(creds, (enum cred)i, err) == -1) {
			creds_free(creds);
			return -1;
		}
	}
	*ret_creds = creds;
	return 0;
}

void
creds_free(struct creds *creds)
{
	if (creds == NULL)
		return;
	loop_timer_free(creds->timer);
	for (int i = 0; i < CRED_COUNT; i++)
		tls_context_unref(creds->set[i].context);
	free(creds);
}

void
creds_watch(struct creds *creds, struct loop *loop)
{
	creds->timer = loop_timer_new(loop, check_due, creds);
	loop_timer_start(creds->timer, CREDS_CHECK_MS * US_PER_MS);
}

struct tls_context *
creds_server(struct creds *creds)
{
	return creds->set[CRED_SERVER].context;
}

struct tls_context *
creds_source(struct creds *creds)
{
	return creds->set[CRED_MIGRATION].context;
}

static json_t *
date(int64_t seconds)
{
	time_t when = (time_t)seconds;
	char text[32];
	struct tm tm;

	if (gmtime_r(&when, &tm) == NULL ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		return json_null();
	return json_string(text);
}

json_t *
creds_describe(const struct creds *creds)
{
	json_t *all = json_object();

	for (int i = 0; i < CRED_COUNT; i++) {
		const struct set *set = &creds->set[i];

		if (!set->used)
			continue;
		json_object_set_new(
			all, names[i],
			json_pack("{s:s, s:o, s:o, s:i}", "identity",
				  tls_context_identity(set->context),
				  "notBefore",
				  date(tls_context_not_before(set->context)),
				  "notAfter",
				  date(tls_context_not_after(set->context)),
				  "reloads", (int)set->reloads));
	}
	return all;
}
