/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KUBELET_COMMAND_H
#define KUBELET_COMMAND_H

/* command - the sub-commands of ferry-kubelet; see base/command.h. */

int command_serve(int argc, char **argv);
int command_monitor(int argc, char **argv);
int command_sandbox(int argc, char **argv);
int command_remove(int argc, char **argv);
int command_crun(int argc, char **argv);

#endif
