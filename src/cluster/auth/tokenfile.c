/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster/auth/tokenfile.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/path.h"
#include "cluster/auth/user.h"

#define FIELDS 4

struct entry {
	struct map_node node;
	struct user *user;
	char token[];
};

struct tokenfile {
	char *path;
	struct map entries;
	struct stat seen; /* the file that was read last */
};

static void
entries_done(struct map *entries)
{
	struct map_node *next;

	for (struct map_node *node = map_next(entries, NULL); node;
	     node = next) {
		struct entry *entry = MAP_ENTRY(node, struct entry, node);

		next = map_next(entries, node);
		user_unref(entry->user);
		free(entry);
	}
	map_done(entries);
}

/*
 * Takes one field off *cursor, unquoted in place, and leaves *cursor behind its
 * comma, or at the end of the line; NULL when a quote is not closed.
 */
static char *
next_field(char **cursor)
{
	char *p = *cursor;
	char *field = p;
	char *out = p;

	if (*p != '"') {
		*cursor = p + strcspn(p, ",");
	} else {
		for (p++; *p && (*p != '"' || p[1] == '"'); p++) {
			p += *p == '"';
			*out++ = *p;
		}
		if (*p != '"' || (p[1] && p[1] != ','))
			return NULL;
		*cursor = p + 1;
		*out = '\0';
	}
	if (**cursor == ',')
		*(*cursor)++ = '\0';
	return field;
}

static void
add_groups(struct user *user, char *groups)
{
	char *save = NULL;

	for (char *group = strtok_r(groups, ",", &save); group;
	     group = strtok_r(NULL, ",", &save))
		user_add_group(user, group);
}

static int
add_line(struct map *entries, char *line, size_t number, struct err *err)
{
	char *fields[FIELDS] = { NULL };
	size_t count = 0;
	struct map_node *old;
	struct entry *entry;

	for (char *p = line; *p && count < FIELDS; count++) {
		fields[count] = next_field(&p);
		if (!fields[count])
			return err_set(err, ERR_INVALID,
				       "line %zu: a quote is not closed",
				       number);
	}
	if (count < 3)
		return err_set(err, ERR_INVALID,
			       "line %zu: must have at least 3 columns (token, "
			       "user name, user uid), found %zu",
			       number, count);
	if (!*fields[0])
		return err_set(err, ERR_INVALID, "line %zu: the token is empty",
			       number);
	old = map_get(entries, fields[0]);
	if (old)
		return err_set(err, ERR_INVALID,
			       "line %zu: the token is there already", number);
	entry = xmalloc0(sizeof(*entry) + strlen(fields[0]) + 1);
	memcpy(entry->token, fields[0], strlen(fields[0]));
	entry->user = user_new(fields[1], fields[2]);
	if (fields[3])
		add_groups(entry->user, fields[3]);
	user_add_group(entry->user, USER_ALL_AUTHENTICATED);
	map_put(entries, &entry->node, entry->token);
	return 0;
}

static int
read_entries(const char *path, struct map *ret, struct err *err)
{
	struct map entries = { 0 };
	AUTO(free_ptr) char *text = NULL;
	size_t number = 0;
	size_t len;
	char *rest;
	char *line;

	if (path_read_file(path, TOKENFILE_MAX_BYTES, &text, &len, err) == -1)
		return -1;
	if (strlen(text) != len)
		return err_set(err, ERR_INVALID, "token file '%s': is no text",
			       path);
	rest = text;
	while ((line = strsep(&rest, "\n"))) {
		number++;
		line[strcspn(line, "\r")] = '\0';
		if (*line && add_line(&entries, line, number, err) == -1) {
			entries_done(&entries);
			return err_prefix(err, "token file '%s'", path);
		}
	}
	*ret = entries;
	return 0;
}

static bool
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	       a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int
reload(struct tokenfile *file, struct err *err)
{
	struct map entries;
	struct stat now;

	if (stat(file->path, &now) == -1)
		return err_errno(err, "cannot read token file '%s'",
				 file->path);
	/* Once per change, also when it turns out to be wrong. */
	file->seen = now;
	if (read_entries(file->path, &entries, err) == -1)
		return -1;
	entries_done(&file->entries);
	file->entries = entries;
	return 0;
}

struct tokenfile *
tokenfile_new(const char *path, struct err *err)
{
	struct tokenfile *file = xmalloc0(sizeof(*file));

	file->path = xstrdup(path);
	if (reload(file, err) == -1) {
		tokenfile_free(file);
		return NULL;
	}
	return file;
}

void
tokenfile_free(struct tokenfile *file)
{
	if (!file)
		return;
	entries_done(&file->entries);
	free(file->path);
	free(file);
}

struct user *
tokenfile_find(struct tokenfile *file, const char *token)
{
	struct map_node *node;
	struct stat now;
	struct err err;

	if (stat(file->path, &now) == 0 && !same_file(&now, &file->seen) &&
	    reload(file, &err) == -1)
		log_warning(NULL, "%s; keeping the tokens there were",
			    err.text);
	node = map_get(&file->entries, token);
	return node ? MAP_ENTRY(node, struct entry, node)->user : NULL;
}
