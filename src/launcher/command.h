/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_COMMAND_H
#define LAUNCHER_COMMAND_H

/* The commands of ferry-launcher, as command.h of base wants them. */
int cmd_run(int argc, char **argv);
int cmd_probe(int argc, char **argv);

#endif
