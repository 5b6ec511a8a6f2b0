/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HANDLER_COMMAND_H
#define HANDLER_COMMAND_H

/* The sub-commands of ferry-handler; each as struct command has it. */

int command_serve(int argc, char **argv);

#endif
