/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "cluster/store/db.h"

/*
 * How far the revisions of a restored store are above those of the backup. What
 * was written since must be less: three months of 128 writes a second. Clients
 * keep revisions in 64 bits, so there is room for many restores.
 */
#define RESTORE_GAP (1000UL * 1000 * 1000)

static void
close_db(struct db **db)
{
	db_close(*db);
}

/* SQLite's files beside a database. Those of another one would be taken for its
 * own, so they must not be there. */
static const char *const companions[] = { "", "-wal", "-shm", "-journal" };

static int
remove_files(const char *path, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(companions); i++) {
		AUTO(free_ptr)
		char *name = xasprintf("%s%s", path, companions[i]);

		if (unlink(name) == -1 && errno != ENOENT)
			return err_errno(err, "cannot remove '%s'", name);
	}
	return 0;
}

static int
refuse_files(const char *path, struct err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(companions); i++) {
		AUTO(free_ptr)
		char *name = xasprintf("%s%s", path, companions[i]);
		struct stat st;

		if (lstat(name, &st) == 0)
			return err_set(err, ERR_EXISTS, "'%s' exists", name);
		if (errno != ENOENT)
			return err_errno(err, "cannot look at '%s'", name);
	}
	return 0;
}

/* Makes an empty file for the owner alone; whatever was left there goes. */
static int
make_file(const char *path, struct err *err)
{
	AUTO(close_fd) int fd = -1;

	if (remove_files(path, err) == -1)
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd == -1)
		return err_errno(err, "cannot create '%s'", path);
	return 0;
}

static int
sync_dir_of(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	AUTO(free_ptr)
	char *dir = slash != NULL ? xstrndup(path, (size_t)(slash - path) + 1)
				  : xstrdup(".");
	AUTO(close_fd) int fd = -1;

	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 || fsync(fd) == -1)
		return err_errno(err, "cannot sync '%s'", dir);
	return 0;
}

/* Gives a file that is complete and synced its name. */
static int
publish(const char *temporary, const char *path, struct err *err)
{
	if (rename(temporary, path) == -1)
		return err_errno(err, "cannot rename '%s'", temporary);
	return sync_dir_of(path, err);
}

/* A copy would take the place of what is being copied. */
static int
refuse_same(const char *a, const char *b, struct err *err)
{
	struct stat st_a, st_b;

	if (stat(a, &st_a) == 0 && stat(b, &st_b) == 0 &&
	    st_a.st_dev == st_b.st_dev && st_a.st_ino == st_b.st_ino)
		return err_set(err, ERR_INVALID, "'%s' is the store itself", b);
	return 0;
}

int
store_backup(const char *dir, const char *file, struct err *err)
{
	AUTO(free_ptr) char *path = xasprintf("%s/%s", dir, STORE_FILE);
	AUTO(free_ptr) char *temporary = xasprintf("%s.tmp", file);
	AUTO(close_db) struct db *db = NULL;
	struct err ignored;

	db = db_open(path, DB_READ, err);
	if (db == NULL || refuse_same(path, file, err) == -1 ||
	    make_file(temporary, err) == -1)
		return -1;
	if (db_copy(db, temporary, err) == 0 &&
	    publish(temporary, file, err) == 0)
		return 0;
	(void)remove_files(temporary, &ignored);
	return -1;
}

/* Every revision that clients may have seen is over: they must list again. */
static int
start_over(const char *path, struct err *err)
{
	AUTO(close_db) struct db *db = db_open(path, DB_WRITE, err);
	uint64_t oldest_rv, rv;

	if (db == NULL || db_revisions(db, &oldest_rv, &rv, err) == -1)
		return -1;
	return db_set_oldest(db, rv + RESTORE_GAP, err);
}

static int
restore(struct db *backup, const char *dir, struct err *err)
{
	AUTO(free_ptr) char *path = xasprintf("%s/%s", dir, STORE_FILE);
	AUTO(free_ptr) char *temporary = xasprintf("%s.tmp", path);
	struct err ignored;

	if (refuse_files(path, err) == -1 || db_check(backup, err) == -1 ||
	    make_file(temporary, err) == -1)
		return -1;
	if (db_copy(backup, temporary, err) == 0 &&
	    start_over(temporary, err) == 0 &&
	    publish(temporary, path, err) == 0)
		return 0;
	(void)remove_files(temporary, &ignored);
	return -1;
}

int
store_restore(const char *dir, const char *file, struct err *err)
{
	AUTO(close_db) struct db *backup = NULL;
	AUTO(close_fd) int lock = -1;

	if (store_lock_dir(dir, &lock, err) == -1)
		return -1;
	backup = db_open(file, DB_READ, err);
	if (backup == NULL)
		return -1;
	return restore(backup, dir, err);
}
