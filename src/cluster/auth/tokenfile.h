/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_AUTH_TOKENFILE_H
#define CLUSTER_AUTH_TOKENFILE_H

/*
 * tokenfile - tokens that an operator wrote down: lines of comma-separated
 * values, token,user,uid[,"group1,group2"].
 *
 * The file is read again whenever it has changed. A change that cannot be read
 * is logged and leaves the tokens as they were.
 */

struct err;
struct tokenfile;
struct user;

#define TOKENFILE_MAX_BYTES (4 * 1024 * 1024)

/* NULL when the file cannot be read or has a wrong line. */
struct tokenfile *tokenfile_new(const char *path, struct err *err);
void tokenfile_free(struct tokenfile *file); /* NULL is fine */

/* The user of a token, borrowed; NULL when it is not in the file. */
struct user *tokenfile_find(struct tokenfile *file, const char *token);

#endif
