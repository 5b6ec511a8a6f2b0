/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The command `certificate`: a CA and a server certificate in a directory,
 * enough to try ferry-api out. Real clusters have an issuer of their own.
 */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/opts.h"
#include "base/path.h"
#include "tls/pki.h"
#include "webhook/command.h"

#define DAYS_DEFAULT 365
#define DAYS_MAX 36500
#define NAME_DEFAULT "virt-api.kubevirt.svc"

struct options {
	struct opts_list names;
	uint64_t days;
};

static int
open_dir(const char *dir, int *ret_fd, struct err *err)
{
	AUTO(free_ptr) char *real = realpath(dir, NULL);

	if (real == NULL)
		return err_errno(err, "cannot open '%s'", dir);
	return path_open_dir(real, ret_fd, err);
}

/* The CA's key is not kept: it signs this one certificate. */
static int
run(const char *dir, const struct options *options, struct err *err)
{
	const char *names[OPTS_LIST_MAX + 2] = { NAME_DEFAULT };
	struct tls_pki_subject subject = {
		.common_name = NAME_DEFAULT,
		.names = names,
		.validity = tls_pki_days((unsigned)options->days),
		.usage = TLS_PKI_SERVER,
	};
	AUTO(tls_pki_pem_done) struct tls_pki_pem ca = { 0 };
	AUTO(tls_pki_pem_done) struct tls_pki_pem pem = { 0 };
	AUTO(close_fd) int fd = -1;

	for (size_t i = 0; i < options->names.count; i++)
		names[i + 1] = options->names.value[i];
	if (open_dir(dir, &fd, err) == -1 ||
	    tls_pki_make_ca("ferry-api CA", &subject.validity, &ca, err) ==
		    -1 ||
	    tls_pki_make_cert(&ca, &subject, &pem, err) == -1 ||
	    path_write_file_at(fd, "tls.key", pem.key, pem.key_len, 0600,
			       err) == -1 ||
	    path_write_file_at(fd, "tls.crt", pem.cert, pem.cert_len, 0644,
			       err) == -1)
		return -1;
	return path_write_file_at(fd, "ca.crt", ca.cert, ca.cert_len, 0644,
				  err);
}

int
command_certificate(int argc, char **argv)
{
	struct options options = { .days = DAYS_DEFAULT };
	const struct opt table[] = {
		{ "name", "NAME",
		  "a further name or address of the server, may be given "
		  "several times",
		  OPT_LIST, &options.names, 0, 0 },
		{ "days", "N", "how long it is valid (default 365)", OPT_U64,
		  &options.days, 1, DAYS_MAX },
	};
	const struct opts opts = {
		.program = "ferry-api certificate",
		.args = "DIR",
		.summary =
			"Writes ca.crt, tls.crt and tls.key, for " NAME_DEFAULT
			".",
		.table = table,
		.count = ARRAY_LEN(table),
		.args_min = 1,
		.args_max = 1,
	};
	int first, status;
	struct err err;

	if (!command_parse(&opts, argc, argv, &first, &status))
		return status;
	if (run(argv[first], &options, &err) == -1)
		return command_error(&err, COMMAND_FAILED);
	return 0;
}
