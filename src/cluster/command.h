/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLUSTER_COMMAND_H
#define CLUSTER_COMMAND_H

/* command - the sub-commands of ferry-cluster, one file each. */

#include "base/command.h"

int command_init(int argc, char **argv);
int command_serve(int argc, char **argv);
int command_kubeconfig(int argc, char **argv);
int command_backup(int argc, char **argv);
int command_restore(int argc, char **argv);

#endif
