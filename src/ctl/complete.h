/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_COMPLETE_H
#define CTL_COMPLETE_H

/*
 * complete - what may stand at the end of a command line.
 *
 * From the same tables as --help: commands, options, and for what options and
 * commands take the word that stands for it there: "VM", "NODE", "CONTEXT",
 * "FILE", words to choose from ("vm|vmi"), and "NAME", which is of the kind
 * that the word before it says.
 *
 * Threading: one thread.
 */

#include <stdio.h>

#include "base/js.h"
#include "kube/config.h"

struct program;

/* What a shell is to add by itself; bits as kubectl's own completion has them,
 * which also reads what is written here. */
#define COMPLETE_FILES 0        /* names of files */
#define COMPLETE_NO_FILES 4     /* nothing */
#define COMPLETE_DIRECTORIES 16 /* names of directories */

/*
 * Appends to found [name, a few words about it] for each object of the kind
 * that a word in capitals stands for; nothing when they are not to be had.
 */
typedef void complete_names_fn(const char *what, const struct kube_flags *flags,
			       json_t *found, void *arg);

struct complete_request {
	const struct program *program;
	int argc;    /* with the name of the program as the first */
	char **argv; /* the last is to be completed, may be ""; reordered */
	complete_names_fn *names;
	void *arg;
};

/* Writes a line for each word, with a tab and a description if there is one,
 * and ":" with the bits as the last line. */
void complete_write(const struct complete_request *request, FILE *to);

#endif
