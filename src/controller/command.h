/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROLLER_COMMAND_H
#define CONTROLLER_COMMAND_H

/* command - the sub-commands of ferry-controller; see base/command.h. */

int command_serve(int argc, char **argv);

#endif
