/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/db.h"

#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "cluster/store/entry.h"
#include "cluster/store/object.h"

/* "Fery": marks the file as ours, beside SQLite's own mark. */
#define APPLICATION_ID 0x46657279
#define SCHEMA_VERSION 1

/* Objects are a few KB each: with 4 KB pages nearly all would be cut in two. */
#define PAGE_BYTES 16384
/* In pages: 8 MiB, a few ten milliseconds of writing at worst. */
#define CHECKPOINT_PAGES 512
/* What the log of SQLite may keep on disk after a burst. */
#define LOG_BYTES (64 << 20)
/* Only another process that makes a backup can be in the way, shortly. */
#define BUSY_MS 10000

enum statement {
	STATEMENT_BEGIN,
	STATEMENT_COMMIT,
	STATEMENT_ROLLBACK,
	STATEMENT_INSERT,
	STATEMENT_DELETE,
	STATEMENT_MARK,
	STATEMENT_COUNT,
};

static const char *const statements[] = {
	[STATEMENT_BEGIN] = "BEGIN IMMEDIATE",
	[STATEMENT_COMMIT] = "COMMIT",
	[STATEMENT_ROLLBACK] = "ROLLBACK",
	[STATEMENT_INSERT] = "INSERT INTO log VALUES(?1, ?2, ?3, ?4)",
	[STATEMENT_DELETE] = "DELETE FROM log WHERE rv = ?1",
	[STATEMENT_MARK] = "UPDATE mark SET oldest = ?1",
};
_Static_assert(sizeof(statements) / sizeof(statements[0]) == STATEMENT_COUNT,
	       "a text for each statement");

struct db {
	sqlite3 *sqlite;
	char *path;
	sqlite3_stmt *statement[STATEMENT_COUNT];
	int log_pages;       /* in the log of SQLite, after the last commit */
	int next_checkpoint; /* in log_pages */
};

static enum err_kind
kind_of(sqlite3 *sqlite, int code)
{
	int system = sqlite3_system_errno(sqlite);

	switch (code & 0xff) {
	case SQLITE_FULL:
		return ERR_LIMIT;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return ERR_CONFLICT;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return ERR_INVALID;
	case SQLITE_IOERR:
	case SQLITE_CANTOPEN:
		return system == ENOSPC || system == EDQUOT ? ERR_LIMIT
							    : ERR_INTERNAL;
	default:
		return ERR_INTERNAL;
	}
}

/* Fills err with what SQLite says and returns -1. */
static int
fail(const struct db *db, const char *what, struct err *err)
{
	int code = sqlite3_extended_errcode(db->sqlite);
	int system = sqlite3_system_errno(db->sqlite);
	/* SQLite does not always know; never for a failed commit. */
	bool name_system = system != 0 && ((code & 0xff) == SQLITE_IOERR ||
					   (code & 0xff) == SQLITE_CANTOPEN);

	return err_set(err, kind_of(db->sqlite, code), "cannot %s '%s': %s%s%s",
		       what, db->path, sqlite3_errmsg(db->sqlite),
		       name_system ? ": " : "",
		       name_system ? strerror(system) : "");
}

static int
run(const struct db *db, const char *sql, const char *what, struct err *err)
{
	if (sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) != SQLITE_OK)
		return fail(db, what, err);
	return 0;
}

/* The first column of the first row, 0 if there is none. */
static int
query_number(const struct db *db, const char *sql, int64_t *ret_value,
	     struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	int code;

	if (sqlite3_prepare_v2(db->sqlite, sql, -1, &stmt, NULL) != SQLITE_OK)
		return fail(db, "read", err);
	code = sqlite3_step(stmt);
	*ret_value = code == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : 0;
	(void)sqlite3_finalize(stmt);
	if (code != SQLITE_ROW && code != SQLITE_DONE)
		return fail(db, "read", err);
	return 0;
}

static int
create(const struct db *db, struct err *err)
{
	AUTO(free_ptr)
	char *sql =
		xasprintf("BEGIN EXCLUSIVE;"
			  "PRAGMA application_id = %d;"
			  "PRAGMA user_version = %d;"
			  "CREATE TABLE log(rv INTEGER PRIMARY KEY, "
			  "collection TEXT NOT NULL, removed INTEGER NOT NULL, "
			  "text TEXT NOT NULL) STRICT;"
			  "CREATE TABLE mark(oldest INTEGER NOT NULL) STRICT;"
			  "INSERT INTO mark VALUES(0);"
			  "COMMIT;",
			  APPLICATION_ID, SCHEMA_VERSION);

	return run(db, sql, "set up", err);
}

/* Whether the file is empty, or ours; anything else fails. */
static int
identify(const struct db *db, bool *ret_empty, struct err *err)
{
	int64_t id, version, tables;

	if (query_number(db, "PRAGMA application_id", &id, err) == -1 ||
	    query_number(db, "PRAGMA user_version", &version, err) == -1 ||
	    query_number(db, "SELECT count(*) FROM sqlite_schema", &tables,
			 err) == -1)
		return -1;
	*ret_empty = id == 0 && tables == 0;
	if (*ret_empty)
		return 0;
	if (id != APPLICATION_ID)
		return err_set(err, ERR_INVALID, "'%s' is not a store",
			       db->path);
	if (version != SCHEMA_VERSION)
		return err_set(err, ERR_INVALID,
			       "'%s' has the format %" PRId64
			       ", this program knows %d",
			       db->path, version, SCHEMA_VERSION);
	return 0;
}

static int
on_commit(void *arg, sqlite3 *sqlite, const char *name, int pages)
{
	struct db *db = arg;

	(void)sqlite;
	(void)name;
	/* It starts over once everything in it was checkpointed. */
	if (pages < db->log_pages)
		db->next_checkpoint = CHECKPOINT_PAGES;
	db->log_pages = pages;
	return SQLITE_OK;
}

/*
 * The page size counts only for a new file. With Debian's SQLite deleting would
 * overwrite whole pages; FAST does so only where that costs no writing.
 */
static int
configure(const struct db *db, struct err *err)
{
	AUTO(free_ptr)
	char *sql = xasprintf("PRAGMA page_size = %d;"
			      "PRAGMA journal_mode = WAL;"
			      "PRAGMA synchronous = FULL;"
			      "PRAGMA wal_autocheckpoint = 0;"
			      "PRAGMA journal_size_limit = %d;"
			      "PRAGMA secure_delete = FAST;"
			      "PRAGMA temp_store = MEMORY;"
			      "PRAGMA trusted_schema = OFF;",
			      PAGE_BYTES, LOG_BYTES);

	return run(db, sql, "open", err);
}

static int
prepare(struct db *db, struct err *err)
{
	for (int i = 0; i < STATEMENT_COUNT; i++) {
		if (sqlite3_prepare_v3(db->sqlite, statements[i], -1,
				       SQLITE_PREPARE_PERSISTENT,
				       &db->statement[i], NULL) != SQLITE_OK)
			return fail(db, "open", err);
	}
	return 0;
}

/* Everything behind opening the file itself. */
static int
set_up(struct db *db, enum db_mode mode, struct err *err)
{
	bool empty;

	(void)sqlite3_extended_result_codes(db->sqlite, 1);
	(void)sqlite3_busy_timeout(db->sqlite, BUSY_MS);
	if (identify(db, &empty, err) == -1)
		return -1;
	if (empty && mode != DB_CREATE)
		return err_set(err, ERR_INVALID, "'%s' is empty", db->path);
	if (mode == DB_READ)
		return 0;
	if (configure(db, err) == -1 || (empty && create(db, err) == -1))
		return -1;
	(void)sqlite3_wal_hook(db->sqlite, on_commit, db);
	return prepare(db, err);
}

struct db *
db_open(const char *path, enum db_mode mode, struct err *err)
{
	static const int flags[] = {
		[DB_READ] = SQLITE_OPEN_READONLY,
		[DB_WRITE] = SQLITE_OPEN_READWRITE,
		[DB_CREATE] = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
	};
	struct db *db = xmalloc0(sizeof(*db));

	db->path = xstrdup(path);
	db->next_checkpoint = CHECKPOINT_PAGES;
	if (sqlite3_open_v2(path, &db->sqlite,
			    flags[mode] | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK)
		(void)fail(db, "open", err);
	else if (set_up(db, mode, err) == 0)
		return db;
	db_close(db);
	return NULL;
}

void
db_close(struct db *db)
{
	if (db == NULL)
		return;
	for (int i = 0; i < STATEMENT_COUNT; i++)
		(void)sqlite3_finalize(db->statement[i]);
	(void)sqlite3_close(db->sqlite);
	free(db->path);
	free(db);
}

int
db_revisions(struct db *db, uint64_t *ret_oldest_rv, uint64_t *ret_rv,
	     struct err *err)
{
	int64_t oldest, newest;

	if (query_number(db, "SELECT oldest FROM mark", &oldest, err) == -1 ||
	    query_number(db, "SELECT max(rv) FROM log", &newest, err) == -1)
		return -1;
	*ret_oldest_rv = (uint64_t)oldest;
	*ret_rv = (uint64_t)(newest > oldest ? newest : oldest);
	return 0;
}

/* Runs a statement that returns nothing, and frees what was bound. */
static int
step(const struct db *db, enum statement which, struct err *err)
{
	sqlite3_stmt *stmt = db->statement[which];
	int code = sqlite3_step(stmt), result = 0;

	if (code != SQLITE_DONE)
		result = fail(db, "write to", err);
	(void)sqlite3_reset(stmt);
	return result;
}

int
db_set_oldest(struct db *db, uint64_t rv, struct err *err)
{
	(void)sqlite3_bind_int64(db->statement[STATEMENT_MARK], 1,
				 (sqlite3_int64)rv);
	return step(db, STATEMENT_MARK, err);
}

int
db_load(struct db *db,
	int (*fn)(const struct db_row *row, void *arg, struct err *err),
	void *arg, struct err *err)
{
	static const char sql[] =
		"SELECT rv, collection, removed, text FROM log ORDER BY rv";
	sqlite3_stmt *stmt = NULL;
	int code, result = 0;

	if (sqlite3_prepare_v2(db->sqlite, sql, -1, &stmt, NULL) != SQLITE_OK)
		return fail(db, "read", err);
	while (result == 0 && (code = sqlite3_step(stmt)) == SQLITE_ROW) {
		struct db_row row = {
			.rv = (uint64_t)sqlite3_column_int64(stmt, 0),
			.collection =
				(const char *)sqlite3_column_text(stmt, 1),
			.removed = sqlite3_column_int(stmt, 2) != 0,
			.text = (const char *)sqlite3_column_text(stmt, 3),
			.len = (size_t)sqlite3_column_bytes(stmt, 3),
		};

		result = fn(&row, arg, err);
	}
	if (result == 0 && code != SQLITE_DONE)
		result = fail(db, "read", err);
	(void)sqlite3_finalize(stmt);
	/* The pages that were read are of no use any more. */
	(void)sqlite3_db_release_memory(db->sqlite);
	return result;
}

static int
insert(const struct db *db, const struct db_write *write, struct err *err)
{
	sqlite3_stmt *stmt = db->statement[STATEMENT_INSERT];
	const struct object *object = write->object;

	(void)sqlite3_bind_int64(stmt, 1, (sqlite3_int64)object->rv);
	(void)sqlite3_bind_text(stmt, 2, object->collection->name, -1,
				SQLITE_STATIC);
	(void)sqlite3_bind_int(stmt, 3, write->removed);
	(void)sqlite3_bind_text(stmt, 4, object->text, (int)object->len,
				SQLITE_STATIC);
	return step(db, STATEMENT_INSERT, err);
}

static int
write_batch(struct db *db, const struct db_batch *batch, struct err *err)
{
	if (step(db, STATEMENT_BEGIN, err) == -1)
		return -1;
	for (size_t i = 0; i < batch->write_count; i++) {
		if (insert(db, &batch->writes[i], err) == -1)
			return -1;
	}
	for (size_t i = 0; i < batch->drop_count; i++) {
		(void)sqlite3_bind_int64(db->statement[STATEMENT_DELETE], 1,
					 (sqlite3_int64)batch->drops[i]);
		if (step(db, STATEMENT_DELETE, err) == -1)
			return -1;
	}
	if (batch->drop_count > 0 &&
	    db_set_oldest(db, batch->oldest_rv, err) == -1)
		return -1;
	return step(db, STATEMENT_COMMIT, err);
}

int
db_commit(struct db *db, const struct db_batch *batch, struct err *err)
{
	struct err ignored;

	if (write_batch(db, batch, err) == 0)
		return 0;
	/* After some failures SQLite has rolled back already. */
	if (sqlite3_get_autocommit(db->sqlite) == 0)
		(void)step(db, STATEMENT_ROLLBACK, &ignored);
	return -1;
}

void
db_checkpoint(struct db *db)
{
	int code;

	if (db->log_pages < db->next_checkpoint)
		return;
	code = sqlite3_wal_checkpoint_v2(db->sqlite, NULL,
					 SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
	/* Nothing is lost: the log of SQLite grows until it succeeds. */
	if (code != SQLITE_OK)
		log_debug(NULL, "cannot checkpoint '%s', ignoring: %s",
			  db->path, sqlite3_errmsg(db->sqlite));
	db->next_checkpoint = db->log_pages + CHECKPOINT_PAGES;
}

int
db_check(struct db *db, struct err *err)
{
	sqlite3_stmt *stmt = NULL;
	const char *found;
	int result = 0;

	if (sqlite3_prepare_v2(db->sqlite, "PRAGMA integrity_check(1)", -1,
			       &stmt, NULL) != SQLITE_OK ||
	    sqlite3_step(stmt) != SQLITE_ROW) {
		result = fail(db, "check", err);
	} else {
		found = (const char *)sqlite3_column_text(stmt, 0);
		if (!str_equal(found, "ok"))
			result =
				err_set(err, ERR_INVALID, "'%s' is damaged: %s",
					db->path, found);
	}
	(void)sqlite3_finalize(stmt);
	return result;
}

/* In one step, which reads one state of the source however long it takes. */
static int
copy_pages(struct db *db, struct db *to, struct err *err)
{
	sqlite3_backup *backup;

	backup = sqlite3_backup_init(to->sqlite, "main", db->sqlite, "main");
	if (backup != NULL) {
		(void)sqlite3_backup_step(backup, -1);
		if (sqlite3_backup_finish(backup) == SQLITE_OK)
			return 0;
	}
	return fail(to, "copy to", err);
}

int
db_copy(struct db *db, const char *path, struct err *err)
{
	struct db to = { .path = xstrdup(path) };
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
		    SQLITE_OPEN_CREATE;
	int result = -1;

	if (sqlite3_open_v2(path, &to.sqlite, flags, NULL) != SQLITE_OK)
		(void)fail(&to, "open", err);
	else if (copy_pages(db, &to, err) == 0)
		/* So that the copy is a single file. */
		result = run(&to, "PRAGMA journal_mode = DELETE", "close", err);
	(void)sqlite3_close(to.sqlite);
	free(to.path);
	return result;
}
