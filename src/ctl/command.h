/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CTL_COMMAND_H
#define CTL_COMMAND_H

/* The sub-commands of ferryctl; each as struct command has it. */

struct program;

#define CTL_DIR_DEFAULT "/var/lib/ferry/cluster"
#define CTL_NAME_DEFAULT "ferry"

/* All of them. */
extern const struct program ctl_program;

int command_cluster(int argc, char **argv);
int command_image(int argc, char **argv);

int command_migrate(int argc, char **argv);
int command_migrate_cancel(int argc, char **argv);
int command_evacuate_cancel(int argc, char **argv);
int command_start(int argc, char **argv);
int command_stop(int argc, char **argv);
int command_restart(int argc, char **argv);
int command_pause(int argc, char **argv);
int command_unpause(int argc, char **argv);
int command_explain(int argc, char **argv);
int command_preflight(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_top(int argc, char **argv);
int command_completion(int argc, char **argv);
int command_complete(int argc, char **argv);

/* Of `cluster`. */
int command_cluster_up(int argc, char **argv);
int command_cluster_down(int argc, char **argv);
int command_cluster_status(int argc, char **argv);
int command_cluster_restart(int argc, char **argv);

/* Of `image`. */
int command_image_import(int argc, char **argv);
int command_image_list(int argc, char **argv);
int command_image_remove(int argc, char **argv);

#endif
