/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_OPTIONS_H
#define LAUNCHER_OPTIONS_H

/*
 * options - what a launcher is told on its command line.
 */

#include <stdbool.h>
#include <stdint.h>

struct options {
	const char *name, *ns, *uid; /* of the machine */
	const char *share_dir;
	const char *ephemeral_dir;
	const char *container_dir;
	const char *private_dir;
	const char *host_dir; /* what `probe` wrote */
	uint64_t qemu_timeout_ms;
	uint64_t grace_s;
	bool nonroot;
	bool allow_emulation;
	bool kvm; /* a vCPU was seen to run: found out at the start */
};

#endif
