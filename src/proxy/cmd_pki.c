/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The command `pki`: a CA and node certificates in a directory, enough to try
 * Ferry out. Real clusters have an issuer of their own.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/path.h"
#include "base/str.h"
#include "proxy/command.h"
#include "tls/pki.h"

#define CA_DAYS 3650
#define NODE_DAYS 365
#define DAYS_MAX 36500
#define PEM_MAX (64UL * 1024)

#define CA_NAME "ca"

struct pki_options {
	uint64_t days;
	bool force;
};

static int
write_file(int dir_fd, const char *name, const char *suffix, const char *data,
	   mode_t mode, struct err *err)
{
	AUTO(free_ptr) char *file = xasprintf("%s%s", name, suffix);

	return path_write_file_at(dir_fd, file, data, strlen(data), mode, err);
}

/* The key first: a certificate without its key would look complete. */
static int
write_pair(int dir_fd, const char *name, const struct tls_pki_pem *pem,
	   struct err *err)
{
	if (write_file(dir_fd, name, ".key", pem->key, 0600, err) == -1)
		return -1;
	return write_file(dir_fd, name, ".crt", pem->cert, 0644, err);
}

/* A key that exists is not overwritten by accident. */
static int
check_absent(const char *dir, const char *name,
	     const struct pki_options *options, struct err *err)
{
	AUTO(free_ptr) char *path = xasprintf("%s/%s.key", dir, name);

	if (options->force || access(path, F_OK) == -1)
		return 0;
	return err_set(err, ERR_EXISTS,
		       "'%s' exists; --force replaces it and its certificate",
		       path);
}

static int
open_dir(const char *dir, int *ret_fd, struct err *err)
{
	AUTO(free_ptr) char *real = realpath(dir, NULL);

	if (real == NULL)
		return err_errno(err, "cannot open '%s'", dir);
	return path_open_dir(real, ret_fd, err);
}

static int
make_ca(const char *dir, const struct pki_options *options, struct err *err)
{
	struct tls_pki_validity validity =
		tls_pki_days(options->days ? (unsigned)options->days : CA_DAYS);
	AUTO(tls_pki_pem_done) struct tls_pki_pem ca = { 0 };
	AUTO(close_fd) int dir_fd = -1;

	if (mkdir(dir, 0755) == -1 && errno != EEXIST)
		return err_errno(err, "cannot make '%s'", dir);
	if (check_absent(dir, CA_NAME, options, err) == -1 ||
	    open_dir(dir, &dir_fd, err) == -1 ||
	    tls_pki_make_ca("Ferry CA", &validity, &ca, err) == -1)
		return -1;
	return write_pair(dir_fd, CA_NAME, &ca, err);
}

static int
read_ca(const char *dir, struct tls_pki_pem *ret_ca, struct err *err)
{
	AUTO(free_ptr) char *cert = xasprintf("%s/%s.crt", dir, CA_NAME);
	AUTO(free_ptr) char *key = xasprintf("%s/%s.key", dir, CA_NAME);

	if (path_read_file(cert, PEM_MAX, &ret_ca->cert, &ret_ca->cert_len,
			   err) == -1 ||
	    path_read_file(key, PEM_MAX, &ret_ca->key, &ret_ca->key_len, err) ==
		    -1)
		return err_prefix(err,
				  "no CA, 'ferry-proxy pki ca %s' "
				  "makes one",
				  dir);
	return 0;
}

static int
make_node(const char *dir, const char *name, const struct pki_options *options,
	  struct err *err)
{
	const struct tls_pki_node node = {
		.node = name,
		.validity = tls_pki_days(options->days ? (unsigned)options->days
						       : NODE_DAYS),
	};
	AUTO(tls_pki_pem_done) struct tls_pki_pem ca = { 0 };
	AUTO(tls_pki_pem_done) struct tls_pki_pem pem = { 0 };
	AUTO(close_fd) int dir_fd = -1;

	if (!str_is_name(name, 200) || strcmp(name, CA_NAME) == 0)
		return err_set(err, ERR_INVALID,
			       "'%s' cannot be the name of a node's files",
			       name);
	if (check_absent(dir, name, options, err) == -1 ||
	    open_dir(dir, &dir_fd, err) == -1 || read_ca(dir, &ca, err) == -1 ||
	    tls_pki_make_node(&ca, &node, &pem, err) == -1)
		return -1;
	return write_pair(dir_fd, name, &pem, err);
}

int
command_pki(int argc, char **argv)
{
	struct pki_options options = { 0 };
	const struct opt table[] = {
		{ "days", "N", "how long it is valid (CA 3650, node 365)",
		  OPT_U64, &options.days, 1, DAYS_MAX },
		{ "force", NULL, "replace what is there", OPT_FLAG,
		  &options.force, 0, 0 },
	};
	const struct opts opts = {
		.program = "ferry-proxy pki",
		.args = "ca DIR | node DIR NAME",
		.summary = "Makes a CA, or a node's certificate and key, for "
			   "trying Ferry out.",
		.table = table,
		.count = sizeof(table) / sizeof(table[0]),
		.args_min = 2,
		.args_max = 3,
	};
	struct err err;
	int first, status, made;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	if (strcmp(argv[first], "ca") == 0 && argc - first == 2) {
		made = make_ca(argv[first + 1], &options, &err);
	} else if (strcmp(argv[first], "node") == 0 && argc - first == 3) {
		made = make_node(argv[first + 1], argv[first + 2], &options,
				 &err);
	} else {
		(void)err_set(&err, ERR_INVALID,
			      "must be 'ca DIR' or 'node DIR NAME'; see "
			      "ferry-proxy pki --help");
		return command_error(&err, COMMAND_USAGE);
	}
	return made == -1 ? command_error(&err, COMMAND_FAILED) : 0;
}
