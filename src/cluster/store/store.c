/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/store/store_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "cluster/store/committer.h"
#include "cluster/store/db.h"
#include "cluster/store/entry.h"
#include "cluster/store/object.h"

/* Who is called at the end may write again, but not for ever. */
#define CLOSE_ROUNDS 8

static struct collection *
find_collection(struct store *store, const char *name)
{
	struct map_node *node = map_get(&store->collections, name);

	return node != NULL ? MAP_ENTRY(node, struct collection, by_name)
			    : NULL;
}

struct collection *
store_collection(struct store *store, const char *group, const char *resource)
{
	AUTO(free_ptr) char *name = xasprintf("%s/%s", group, resource);
	struct collection *c = find_collection(store, name);

	if (c == NULL) {
		c = xmalloc0(sizeof(*c));
		collection_init(c, store, group, resource);
		map_put(&store->collections, &c->by_name, c->name);
	}
	return c;
}

const char *
collection_group(const struct collection *collection)
{
	return collection->group;
}

const char *
collection_resource(const struct collection *collection)
{
	return collection->resource;
}

struct store *
collection_store(const struct collection *collection)
{
	return collection->store;
}

uint64_t
store_rv(const struct store *store)
{
	return store->rv;
}

uint64_t
store_durable_rv(const struct store *store)
{
	return store->durable_rv;
}

uint64_t
store_oldest_rv(const struct store *store)
{
	return store->oldest_rv;
}

uint64_t
store_next_rv(const struct store *store)
{
	return store->rv + 1;
}

struct object *
store_get(const struct collection *c, const char *ns, const char *name)
{
	const struct entry *entry = entry_find(c, ns, name);

	return entry != NULL ? entry->object : NULL;
}

struct object *
store_get_at(const struct collection *c, const char *ns, const char *name,
	     uint64_t rv)
{
	const struct entry *entry = entry_find(c, ns, name);

	return entry != NULL ? entry_at(entry, rv) : NULL;
}

struct object *
store_by_uid(const struct store *store, const char *uid)
{
	struct map_node *node = map_get(&store->by_uid, uid);

	return node != NULL ? MAP_ENTRY(node, struct entry, by_uid)->object
			    : NULL;
}

int
store_lock_dir(const char *dir, int *ret_fd, struct err *err)
{
	AUTO(close_fd) int fd = -1;

	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return err_errno(err, "cannot open '%s'", dir);
	if (flock(fd, LOCK_EX | LOCK_NB) == -1) {
		if (errno == EWOULDBLOCK)
			return err_set(err, ERR_CONFLICT,
				       "'%s' is in use by another process",
				       dir);
		return err_errno(err, "cannot lock '%s'", dir);
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* Made here if need be, so that it is the owner's alone from the beginning;
 * SQLite gives its other files the same mode. */
static int
open_db(struct store *store, const char *dir, struct err *err)
{
	AUTO(free_ptr) char *path = xasprintf("%s/%s", dir, STORE_FILE);
	AUTO(close_fd) int fd = -1;

	fd = openat(store->dir_fd, STORE_FILE,
		    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd == -1)
		return err_errno(err, "cannot open '%s'", path);
	/* Before SQLite locks it: closing any descriptor of a file drops the
	 * locks that the process has on it. */
	close_fd(&fd);
	store->db = db_open(path, DB_CREATE, err);
	if (store->db == NULL)
		return -1;
	if (fsync(store->dir_fd) == -1)
		return err_errno(err, "cannot sync '%s'", dir);
	return 0;
}

static int
load_row(const struct db_row *row, void *arg, struct err *err)
{
	const char *slash = strchr(row->collection, '/');
	struct store *store = arg;
	struct collection *c = find_collection(store, row->collection);
	struct object *object = NULL;

	if (c == NULL && slash != NULL) {
		AUTO(free_ptr)
		char *group = xstrndup(row->collection,
				       (size_t)(slash - row->collection));

		c = store_collection(store, group, slash + 1);
	}
	if (c != NULL)
		object = object_copy(c, row->rv, row->text, row->len);
	if (object == NULL)
		return err_set(err, ERR_INVALID,
			       "revision %" PRIu64 " is damaged", row->rv);
	write_apply(c, object, row->removed);
	return 0;
}

static int
load(struct store *store, uint64_t *ret_oldest_rv, struct err *err)
{
	uint64_t rv;

	if (db_revisions(store->db, ret_oldest_rv, &rv, err) == -1)
		return -1;
	if (db_load(store->db, load_row, store, err) == -1)
		return -1;
	store->rv = rv;
	store->durable_rv = rv;
	return 0;
}

static void
start(struct store *store, struct loop *loop, uint64_t oldest_rv)
{
	store->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (store->wake_fd == -1)
		abort();
	store->wake = loop_io_new(loop, store->wake_fd, write_on_wake, store);
	loop_io_want(store->wake, LOOP_READ);
	store->committer =
		committer_start(store->db, store->wake_fd, store->durable_rv);
	write_forget(store, oldest_rv);
	write_trim(store);
}

static void
free_all(struct store *store)
{
	struct map_node *node = map_next(&store->collections, NULL);

	committer_stop(store->committer);
	loop_io_free(store->wake);
	close_fd(&store->wake_fd);
	db_close(store->db);
	write_discard(store);
	history_done(&store->history);
	while (node != NULL) {
		struct collection *c =
			MAP_ENTRY(node, struct collection, by_name);

		node = map_next(&store->collections, node);
		assert(c->subscriptions == NULL);
		map_remove(&store->collections, &c->by_name);
		collection_done(c);
		free(c);
	}
	assert(store->subscriptions == NULL);
	map_done(&store->collections);
	map_done(&store->by_uid);
	free(store->waiters.items);
	close_fd(&store->dir_fd);
	free(store);
}

struct store *
store_open(const struct store_config *config, struct err *err)
{
	struct store *store = xmalloc0(sizeof(*store));
	uint64_t oldest_rv;

	store->dir_fd = -1;
	store->wake_fd = -1;
	store->history_events = config->history_events > 0
					? config->history_events
					: STORE_HISTORY_EVENTS;
	store->history_bytes = config->history_bytes > 0 ? config->history_bytes
							 : STORE_HISTORY_BYTES;
	if (store_lock_dir(config->dir, &store->dir_fd, err) == -1 ||
	    open_db(store, config->dir, err) == -1 ||
	    load(store, &oldest_rv, err) == -1) {
		free_all(store);
		return NULL;
	}
	start(store, config->loop, oldest_rv);
	return store;
}

void
store_close(struct store *store)
{
	struct err ignored;

	if (store == NULL)
		return;
	for (int i = 0; i < CLOSE_ROUNDS && store->rv != store->durable_rv; i++)
		(void)store_flush(store, &ignored);
	free_all(store);
}
