/* SPDX-License-Identifier: Apache-2.0 */
#include "proxy/testnet.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

void
testnet_tcp_pair(int ret_fds[2])
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(addr);
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ret_fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listening, (struct sockaddr *)&addr, len) == -1 ||
	    listen(listening, 1) == -1 ||
	    getsockname(listening, (struct sockaddr *)&addr, &len) == -1 ||
	    connect(ret_fds[0], (struct sockaddr *)&addr, len) == -1)
		abort();
	ret_fds[1] = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	(void)close(listening);
	for (int i = 0; i < 2; i++) {
		if (fcntl(ret_fds[i], F_SETFL, O_NONBLOCK) == -1)
			abort();
	}
}
