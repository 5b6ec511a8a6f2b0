/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_COMMAND_H
#define PROXY_COMMAND_H

/*
 * command - the sub-commands of ferry-proxy, one file each.
 *
 * Each parses its own arguments (argv[0] is the command's name) and returns
 * the exit status: 0, COMMAND_FAILED or COMMAND_USAGE.
 */

struct err;
struct opts;

#define COMMAND_FAILED 1
#define COMMAND_USAGE 2

int command_serve(int argc, char **argv);
int command_target(int argc, char **argv);
int command_source(int argc, char **argv);
int command_pki(int argc, char **argv);
int command_call(int argc, char **argv);
int command_status(int argc, char **argv);
int command_list(int argc, char **argv);
int command_metrics(int argc, char **argv);
int command_drain(int argc, char **argv);

/* Prints the error as one line and returns the status. */
int command_error(const struct err *err, int status);

/*
 * opts_parse(), with help printed and errors reported. Returns whether to go
 * on; if not, *ret_status is what to exit with.
 */
int command_parse(const struct opts *opts, int argc, char **argv,
		  int *ret_first, int *ret_status);

#endif
