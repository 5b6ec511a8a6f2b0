/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_LAUNCHER_H
#define LAUNCHER_LAUNCHER_H

/*
 * launcher - one machine in one pod: what is known about it, and its end.
 *
 * Everything is here in the loop's thread. Calls to libvirt are made by
 * workers: `looker` reads the state, at each event and each second; `actor`
 * makes and changes things; `killer` waits for nobody; `sampler` measures. What
 * a domain's state means is life.h's to say.
 *
 * Threading: only from the loop's thread.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/js.h"
#include "launcher/life.h"
#include "launcher/options.h"
#include "launchrpc/status.h"
#include "virt/conn.h"

struct children;
struct err;
struct launcher;
struct loop;
struct mend;
struct rpc_pending;
struct source;
struct virt_watch;
struct virtworker;

#define LAUNCHER_LOOK_MS 1000U
/* With a migration under way: its end is seen by events, and if not, soon. */
#define LAUNCHER_LOOK_MIGRATING_MS 200U
#define LAUNCHER_PRESS_MS 5000U   /* the power button, again */
#define LAUNCHER_LINGER_MS 10000U /* for a handler to read the end */
#define LAUNCHER_LINGER_SEEN_MS 500U

struct launcher {
	struct options options;
	struct loop *loop;
	struct children *children;
	struct virtworker *looker, *actor, *killer, *sampler;
	struct mend *mend;
	const char *uri;
	char *domain;
	/* Told when something has changed, and asked who listens. */
	void (*changed)(void *ctx);
	bool (*heard)(void *ctx);
	void (*ended)(void *ctx, int status);
	void *ctx;

	/* What is known. */
	struct life life;
	struct virt_look look;
	struct life_verdict verdict;
	bool libvirt_up;
	char libvirt[VIRT_VERSION_SIZE], qemu[VIRT_VERSION_SIZE];
	char *message;
	char *disk_error;
	struct launch_interfaces interfaces;
	struct launch_record target; /* uid NULL: none */
	struct source *source;       /* NULL: none */
	json_t *vmi;                 /* of the last sync or prepare */
	struct launch_guest *guest;  /* as last measured; NULL: never */

	/* The looker's own: which connection has its events watched, which
	 * domain the process belongs to. */
	unsigned watched;
	int qemu_id;
	_Atomic pid_t qemu_pid; /* for when libvirtd cannot be asked; 0 */

	bool busy;    /* the actor makes a machine */
	bool holding; /* the actor stops it, or lets it run again */
	bool looking; /* a look is on its way */
	bool look_again;
	bool ran; /* libvirt has said that the domain was let run; not noted */
	bool console;
	bool ending;
	int exit_status;
	uint64_t kill_ms; /* when the grace is over; 0: no end was asked for */
	struct loop_timer *look_timer, *idle_timer, *press_timer, *end_timer;
};

struct launcher_config {
	const struct options *options;
	struct loop *loop;
	struct children *children;
	void (*changed)(void *ctx);
	bool (*heard)(void *ctx);
	void (*ended)(void *ctx, int status);
	void *ctx;
};

struct launcher *launcher_new(const struct launcher_config *config);
/* Waits for the workers. */
void launcher_free(struct launcher *launcher);

/* Reads the domain's state soon. */
void launcher_look(struct launcher *launcher);

/* The same as a text for clients; a new reference. */
json_t *launcher_status(const struct launcher *launcher);

/* Methods; see ferry-launcher-rpc(5). Those with a pending call answer it. */
int launcher_sync(struct launcher *launcher, const json_t *params,
		  struct rpc_pending *pending, struct err *err);
int launcher_prepare(struct launcher *launcher, const json_t *params,
		     struct rpc_pending *pending, struct err *err);
int launcher_pause(struct launcher *launcher, bool pause,
		   struct rpc_pending *pending, struct err *err);
/* How much memory the guest uses and how fast it writes to it (measure.c). */
int launcher_measure(struct launcher *launcher, struct rpc_pending *pending,
		     struct err *err);
int launcher_migrate(struct launcher *launcher, const json_t *params,
		     struct err *err);
int launcher_cancel(struct launcher *launcher, const char *uid,
		    struct err *err);
int launcher_finalize(struct launcher *launcher, const char *uid,
		      struct err *err);
int launcher_recover(struct launcher *launcher, const char *uid, bool listening,
		     struct err *err);
void launcher_stop(struct launcher *launcher, uint64_t grace_s);
void launcher_kill(struct launcher *launcher);
/* As launcher_stop() without grace; a machine that stands between two nodes is
 * lost by it, and says so. */
void launcher_give_up(struct launcher *launcher);
int launcher_cleanup(struct launcher *launcher, struct err *err);

/* For the files of this module: something has changed. */
void launcher_touch(struct launcher *launcher);
/* Nothing more comes: ends with a status after a while. */
void launcher_end(struct launcher *launcher, int status);

#endif
