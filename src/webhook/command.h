/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WEBHOOK_COMMAND_H
#define WEBHOOK_COMMAND_H

/* command - the sub-commands of ferry-api; see base/command.h. */

#include "base/command.h"

int command_serve(int argc, char **argv);
int command_manifests(int argc, char **argv);
int command_certificate(int argc, char **argv);

#endif
