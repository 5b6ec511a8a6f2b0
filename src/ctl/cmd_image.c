/* SPDX-License-Identifier: Apache-2.0 */

/* The commands `image import`, `image list` and `image remove`. */

#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/command.h"
#include "base/err.h"
#include "base/jsat.h"
#include "base/mem.h"
#include "base/opts.h"
#include "ctl/command.h"
#include "ctl/image.h"

#define IMAGES "/images" /* below the directory of a cluster */
#define DISK_DIR "/disk/"

/* --dir is a cluster's, --image-dir one of images. */
struct where {
	const char *cluster, *images;
};

static char *
image_dir(const struct where *where)
{
	if (where->images != NULL)
		return xstrdup(where->images);
	return xasprintf("%s" IMAGES, where->cluster);
}

#define WHERE_OPTS(where)                                                  \
	{ "dir",                                                           \
	  "DIR",                                                           \
	  "of the cluster (default " CTL_DIR_DEFAULT ")",                  \
	  OPT_STR,                                                         \
	  &(where)->cluster,                                               \
	  0,                                                               \
	  0 },                                                             \
	{                                                                  \
		"image-dir", "DIR", "the image directory itself, instead", \
			OPT_STR, &(where)->images, 0, 0                    \
	}

/* "PATH=FILE". The text is cut. */
static int
split_file(const char *text, struct image_file *ret, struct err *err)
{
	char *copy = xstrdup(text), *equals = strchr(copy, '=');

	if (equals == NULL || equals == copy || equals[1] == '\0') {
		free(copy);
		return err_set(err, ERR_INVALID,
			       "--file takes PATH=FILE, not '%s'", text);
	}
	*equals = '\0';
	ret->path = copy;
	ret->source = equals + 1;
	return 0;
}

static int
import(const struct where *where, const char *name, const char *disk,
       const struct opts_list *list, struct err *err)
{
	struct image_file files[IMAGE_FILES_MAX];
	AUTO(free_ptr) char *dir = image_dir(where);
	AUTO(free_ptr) char *digest = NULL;
	size_t count = 0;

	if (disk != NULL) {
		AUTO(free_ptr) char *copy = xstrdup(disk);

		files[count].path = xasprintf(DISK_DIR "%s", basename(copy));
		files[count++].source = disk;
	}
	for (size_t i = 0; i < list->count && count < IMAGE_FILES_MAX; i++) {
		if (split_file(list->value[i], &files[count], err) == -1)
			return -1;
		count++;
	}
	if (count == 0)
		return err_set(err, ERR_INVALID,
			       "nothing to import: give --disk or --file");
	if (image_import(dir, name, files, count, &digest, err) == -1)
		return -1;
	(void)printf("%s@%s\n", name, digest);
	return 0;
}

int
command_image_import(int argc, char **argv)
{
	struct where where = { .cluster = CTL_DIR_DEFAULT };
	struct opts_list files = { .count = 0 };
	const char *disk = NULL;
	const struct opt table[] = {
		WHERE_OPTS(&where),
		{ "disk", "FILE", "a disk, for containerDisk", OPT_STR, &disk,
		  0, 0 },
		{ "file", "PATH=FILE",
		  "a file under its path in the image, for kernelBoot; may be "
		  "given several times",
		  OPT_LIST, &files, 0, 0 },
	};
	const struct opts opts = {
		.program = "ferryctl image import",
		.args = "NAME",
		.summary = "Puts files into the nodes' image directory under a "
			   "name.",
		.table = table,
		.count = ARRAY_LEN(table),
		.args_min = 1,
		.args_max = 1,
	};
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	if (import(&where, argv[first], disk, &files, &err) == -1)
		return command_error(&err, err.kind == ERR_INVALID
						   ? COMMAND_USAGE
						   : COMMAND_FAILED);
	return 0;
}

static void
print_one(const char *name, const json_t *config, void *arg)
{
	(void)arg;
	(void)printf("%-40s %-6s %s\n", name, js_str_at(config, "kind"),
		     js_str_at(config, "digest"));
}

int
command_image_list(int argc, char **argv)
{
	struct where where = { .cluster = CTL_DIR_DEFAULT };
	const struct opt table[] = { WHERE_OPTS(&where) };
	const struct opts opts = {
		.program = "ferryctl image list",
		.summary = "Prints names, kinds and digests of images.",
		.table = table,
		.count = ARRAY_LEN(table),
	};
	AUTO(free_ptr) char *dir = NULL;
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	dir = image_dir(&where);
	(void)printf("%-40s %-6s %s\n", "NAME", "KIND", "DIGEST");
	if (image_each(dir, print_one, NULL, &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	return 0;
}

int
command_image_remove(int argc, char **argv)
{
	struct where where = { .cluster = CTL_DIR_DEFAULT };
	const struct opt table[] = { WHERE_OPTS(&where) };
	const struct opts opts = {
		.program = "ferryctl image remove",
		.args = "NAME",
		.summary = "Removes an image; pods that have it keep it.",
		.table = table,
		.count = ARRAY_LEN(table),
		.args_min = 1,
		.args_max = 1,
	};
	AUTO(free_ptr) char *dir = NULL;
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	dir = image_dir(&where);
	if (image_remove(dir, argv[first], &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	return 0;
}
