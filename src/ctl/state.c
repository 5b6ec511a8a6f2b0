/* SPDX-License-Identifier: Apache-2.0 */
#include "ctl/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "ctl/parents.h"

#define STATE_VERSION 1
#define STATE_MAX (4UL * 1024 * 1024)
#define STATE_NAME "state.json"
#define OPEN_DIRS 16
#define LOCK_MS 5000U
#define LOCK_POLL_NS (20L * 1000 * 1000)
#define STAT_FIELD 22 /* starttime in /proc/PID/stat */

/* One that was killed may have left a child which has not become its program
 * yet, and has the lock until then: so it is waited for. */
static int
lock(struct state *state, struct err *err)
{
	const struct timespec pause = { .tv_nsec = LOCK_POLL_NS };
	int fd = open(state->layout.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t until = loop_now_ms() + LOCK_MS;

	if (fd == -1)
		return err_errno(err, "cannot open '%s'", state->layout.dir);
	state->lock_fd = fd;
	while (flock(fd, LOCK_EX | LOCK_NB) == -1) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_errno(err, "cannot lock '%s'",
					 state->layout.dir);
		if (loop_now_ms() >= until)
			return err_set(err, ERR_CONFLICT,
				       "another ferryctl works on '%s'",
				       state->layout.dir);
		(void)nanosleep(&pause, NULL);
	}
	return 0;
}

/* Without links and such, so that the same directory has one name: processes
 * are found by it. */
static int
settle_dir(struct layout *layout, struct err *err)
{
	char *real = realpath(layout->dir, NULL);

	if (real == NULL)
		return err_errno(err, "cannot resolve '%s'", layout->dir);
	free(layout->dir);
	layout->dir = real;
	return 0;
}

int
state_create(struct state *state, const struct layout *layout, struct err *err)
{
	AUTO(free_ptr) char *path = layout_path(layout, STATE_NAME);

	*state = STATE_NONE;
	if (layout_init(&state->layout, layout->dir, layout->name,
			layout->nodes, err) == -1)
		return -1;
	if (parents_make(state->layout.dir, err) == -1)
		return -1;
	if (mkdir(layout->dir, 0755) == -1 && errno != EEXIST)
		return err_errno(err, "cannot make '%s'", layout->dir);
	if (settle_dir(&state->layout, err) == -1 || lock(state, err) == -1)
		return -1;
	if (access(path, F_OK) == 0)
		return err_set(err, ERR_EXISTS,
			       "'%s' has a cluster already; 'ferryctl cluster "
			       "down' ends it",
			       layout->dir);
	state->json = json_pack("{s:i, s:s, s:i, s:[]}", "version",
				STATE_VERSION, "name", layout->name, "nodes",
				(int)layout->nodes, "programs");
	return state_save(state, err);
}

int
state_open(struct state *state, const char *dir, struct err *err)
{
	AUTO(free_ptr) char *path = xasprintf("%s/" STATE_NAME, dir);
	AUTO(free_ptr) char *text = NULL;
	json_t *json;
	size_t len;

	*state = STATE_NONE;
	if (path_read_file(path, STATE_MAX, &text, &len, err) == -1) {
		if (err->kind == ERR_NOT_FOUND)
			return err_set(err, ERR_NOT_FOUND,
				       "there is no cluster in '%s'", dir);
		return -1;
	}
	json = js_parse(text, len, err);
	if (json == NULL)
		return err_prefix(err, "'%s'", path);
	state->json = json;
	if (js_int_at(json, "version", 0) != STATE_VERSION)
		return err_set(err, ERR_INVALID,
			       "'%s' is of another version of ferryctl", path);
	if (layout_init(&state->layout, dir, js_str_at(json, "name"),
			(unsigned)js_int_at(json, "nodes", 0), err) == -1 ||
	    settle_dir(&state->layout, err) == -1)
		return -1;
	state->layout.block =
		(unsigned)js_int_at(json, "block", state->layout.block);
	return lock(state, err);
}

int
state_save(const struct state *state, struct err *err)
{
	AUTO(free_ptr) char *text = js_text(state->json);

	return path_write_file_at(state->lock_fd, STATE_NAME, text,
				  strlen(text), 0644, err);
}

/* Of a writer that was killed; see path_write_file_at(). */
static bool
is_draft(const char *name)
{
	return str_has_prefix(name, "." STATE_NAME ".");
}

/* Whether there are only drafts, which go. */
static bool
drop_drafts(DIR *dir)
{
	const struct dirent *entry;

	while ((entry = readdir(dir)) != NULL) {
		if (!str_equal(entry->d_name, ".") &&
		    !str_equal(entry->d_name, "..") && !is_draft(entry->d_name))
			return false;
	}
	rewinddir(dir);
	while ((entry = readdir(dir)) != NULL) {
		if (is_draft(entry->d_name))
			(void)unlinkat(dirfd(dir), entry->d_name, 0);
	}
	return true;
}

bool
state_remove_empty(const char *path)
{
	DIR *dir = opendir(path);
	bool gone;

	if (dir == NULL)
		return false;
	gone = flock(dirfd(dir), LOCK_EX | LOCK_NB) == 0 && drop_drafts(dir) &&
	       rmdir(path) == 0;
	(void)closedir(dir);
	return gone;
}

static int
remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	if (ftw->level == 0 ||
	    (ftw->level == 1 && str_equal(path + ftw->base, STATE_NAME)))
		return 0;
	return remove(path);
}

int
state_remove(struct state *state, struct err *err)
{
	const char *dir = state->layout.dir;

	if (nftw(dir, remove_one, OPEN_DIRS,
		 FTW_DEPTH | FTW_PHYS | FTW_MOUNT) == -1 ||
	    unlinkat(state->lock_fd, STATE_NAME, 0) == -1 || rmdir(dir) == -1)
		return err_errno(err, "cannot remove '%s'", dir);
	return 0;
}

void
state_done(struct state *state)
{
	layout_done(&state->layout);
	json_decref(state->json);
	close_fd(&state->lock_fd);
	*state = STATE_NONE;
}

bool
state_has_block(const struct state *state)
{
	return js_at(state->json, "block") != NULL;
}

int
state_keep_block(struct state *state, struct err *err)
{
	json_object_set_new(state->json, "block",
			    json_integer((json_int_t)state->layout.block));
	return state_save(state, err);
}

json_t *
state_program(const struct state *state, const char *name, unsigned node)
{
	json_t *item;
	size_t i;

	json_array_foreach(js_arr_at(state->json, "programs"), i, item)
	{
		if (str_equal(js_str_at(item, "name"), name) &&
		    js_int_at(item, "node", 0) == (int64_t)node)
			return item;
	}
	return NULL;
}

uint64_t
state_started(pid_t pid)
{
	char path[64], text[1024], *at;
	uint64_t value = 0;
	FILE *file;
	size_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	len = fread(text, 1, sizeof(text) - 1, file);
	(void)fclose(file);
	text[len] = '\0';
	/* Behind the name, which may have anything in it; a zombie is gone. */
	at = strrchr(text, ')');
	if (at == NULL || at[1] == '\0' || at[2] == 'Z')
		return 0;
	at++;
	for (int field = 3; field < STAT_FIELD && at != NULL; field++)
		at = strchr(at + 1, ' ');
	if (at != NULL)
		value = strtoull(at + 1, NULL, 10);
	return value;
}

void
state_set_program(struct state *state, const char *name, unsigned node,
		  pid_t pid, json_t *argv)
{
	json_t *program = state_program(state, name, node);

	if (program == NULL) {
		program = json_pack("{s:s, s:i}", "name", name, "node",
				    (int)node);
		json_array_append_new(js_arr_at(state->json, "programs"),
				      program);
	}
	json_object_set_new(program, "pid", json_integer(pid));
	json_object_set_new(program, "started",
			    json_integer((json_int_t)state_started(pid)));
	json_object_set_new(program, "argv", argv);
}

pid_t
state_running(const json_t *program)
{
	int64_t pid = js_int_at(program, "pid", -1);
	int64_t started = js_int_at(program, "started", 0);

	if (pid <= 0 || started == 0 ||
	    state_started((pid_t)pid) != (uint64_t)started)
		return -1;
	return (pid_t)pid;
}
