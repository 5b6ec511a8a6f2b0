/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loadgen - puts load on a chain of relays between two sockets and prints what
 * it measured as one line of JSON.
 *
 * Client and sink are threads of this one process, so one clock measures both
 * ends. Without --connect the client goes straight to the sink: the limit that
 * no relay can pass. With --cpu FILE (cpu.stat of a cgroup) the CPU used there
 * is reported for exactly the time that is measured, without the connecting.
 *
 * The sink of `throughput` lets the kernel drop what arrives, so that of the
 * CPU as much as possible is left for the relays; with --reads it copies it.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "load.h"

static const struct mode {
	const char *name;
	const char *help;
	void (*run)(const struct load *load);
} modes[] = {
	{ "throughput", "bulk streams, --streams for --seconds",
	  load_throughput },
	{ "verify", "the same, every byte compared", load_verify },
	{ "roundtrip", "--size bytes there and back for --seconds",
	  load_roundtrip },
	{ "connections",
	  "connect, a byte there and back, close; --streams "
	  "at a time for --seconds",
	  load_connections },
	{ "idle", "open --count connections and hold them until stdin ends",
	  load_idle },
};

static const struct mode *
find_mode(const char *name)
{
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (strcmp(name, modes[i].name) == 0)
			return &modes[i];
	}
	return NULL;
}

static void
usage(FILE *out)
{
	(void)fputs("usage: loadgen MODE --listen ADDR [--connect ADDR] "
		    "[--streams N]\n"
		    "               [--seconds S] [--size BYTES] [--count N] "
		    "[--cpu FILE] [--reads]\n"
		    "ADDR is a unix socket's path or tcp:PORT on 127.0.0.1\n",
		    out);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		(void)fprintf(out, "  %-12s %s\n", modes[i].name,
			      modes[i].help);
}

static double
parse_number(const char *option, const char *text, double min, double max)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end != '\0' || !(value >= min && value <= max))
		die("--%s '%s' is not a number from %g to %g", option, text,
		    min, max);
	return value;
}

static void
on_alarm(int signal_number)
{
	static const char text[] = "loadgen: nothing moves any more\n";

	(void)signal_number;
	if (write(STDERR_FILENO, text, sizeof(text) - 1) == -1)
		_exit(1);
	_exit(1);
}

static void
parse_options(int argc, char **argv, struct load *load)
{
	static const struct option options[] = {
		{ "listen", required_argument, NULL, 'l' },
		{ "connect", required_argument, NULL, 'c' },
		{ "streams", required_argument, NULL, 'n' },
		{ "seconds", required_argument, NULL, 't' },
		{ "size", required_argument, NULL, 's' },
		{ "count", required_argument, NULL, 'i' },
		{ "cpu", required_argument, NULL, 'u' },
		{ "reads", no_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 },
	};
	const char *listen_at = NULL, *connect_to = NULL;
	struct address sink;
	double seconds = 1;
	int option, which;

	while ((option = getopt_long(argc, argv, "", options, &which)) != -1) {
		const char *name = option == '?' ? "" : options[which].name;

		if (option == 'l')
			listen_at = optarg;
		else if (option == 'c')
			connect_to = optarg;
		else if (option == 'n')
			load->streams =
				(unsigned)parse_number(name, optarg, 1, 1024);
		else if (option == 't')
			seconds = parse_number(name, optarg, 0.01, 86400);
		else if (option == 's')
			load->message = (size_t)parse_number(name, optarg, 1,
							     LOAD_MESSAGE_MAX);
		else if (option == 'i')
			load->count =
				(unsigned)parse_number(name, optarg, 1, 100000);
		else if (option == 'u')
			load->cpu_path = optarg;
		else if (option == 'r')
			load->reads = true;
		else
			exit(2);
	}
	if (listen_at == NULL)
		die("--listen is missing");
	address_parse(listen_at, &sink);
	load->listen_fd = address_listen(&sink);
	load->connect = sink;
	if (connect_to != NULL)
		address_parse(connect_to, &load->connect);
	load->time_ns = (uint64_t)(seconds * 1e9);
	alarm((unsigned)seconds + LOAD_GRACE_SECONDS);
}

int
main(int argc, char **argv)
{
	struct load load = { .streams = 1, .count = 1000, .message = 64 };
	const struct mode *mode;

	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		usage(stdout);
		return 0;
	}
	mode = argc > 1 ? find_mode(argv[1]) : NULL;
	if (mode == NULL) {
		usage(stderr);
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGALRM, on_alarm);
	raise_file_limit();
	parse_options(argc - 1, argv + 1, &load);
	mode->run(&load);
	return 0;
}
