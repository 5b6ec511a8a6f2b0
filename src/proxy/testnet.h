/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROXY_TESTNET_H
#define PROXY_TESTNET_H

/* testnet - for tests: connected sockets. A failure ends the program. */

/* Both ends of a TCP connection over loopback, non-blocking. */
void testnet_tcp_pair(int ret_fds[2]);

#endif
