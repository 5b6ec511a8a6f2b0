/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LAUNCHER_CONSOLE_H
#define LAUNCHER_CONSOLE_H

/*
 * console - what the guest says on its serial port, on our standard output,
 * where the logs of a pod come from.
 *
 * A thread of its own: whoever reads the logs may be slow. The file does not
 * grow without end: beyond CONSOLE_FILE_MAX it starts anew.
 */

struct err;

#define CONSOLE_FILE_MAX (8L * 1024 * 1024)

/* Follows the file, which is made if it is not there, until the process
 * ends. */
int console_follow(const char *path, struct err *err);

#endif
