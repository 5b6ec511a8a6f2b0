/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_COMMAND_H
#define PROXY_COMMAND_H

/* command - the sub-commands of ferry-proxy, one file each. */

#include "base/command.h"

int command_serve(int argc, char **argv);
int command_target(int argc, char **argv);
int command_source(int argc, char **argv);
int command_pki(int argc, char **argv);
int command_call(int argc, char **argv);
int command_status(int argc, char **argv);
int command_list(int argc, char **argv);
int command_metrics(int argc, char **argv);
int command_drain(int argc, char **argv);

#endif
