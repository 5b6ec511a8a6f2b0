/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "net/link.h"
#include "net/netns.h"

#define TAP_FLAGS (IFF_TAP | IFF_NO_PI | IFF_VNET_HDR)

struct attach {
	const struct tap_spec *spec;
	int flags;
	int fd;
};

/* Opens the device here: the namespace is that of the opening thread. */
static int
attach(void *arg, struct err *err)
{
	struct attach *a = arg;
	struct ifreq request = { .ifr_flags = (short)a->flags };
	AUTO(close_fd)
	int fd = open(TAP_DEVICE, O_RDWR | O_CLOEXEC | O_NONBLOCK);

	if (fd == -1)
		return err_errno(err, "cannot open '%s'", TAP_DEVICE);
	if (strlen(a->spec->name) >= sizeof(request.ifr_name))
		return err_set(err, ERR_INVALID, "'%s' cannot name a link",
			       a->spec->name);
	(void)strncpy(request.ifr_name, a->spec->name, IFNAMSIZ - 1);
	if (ioctl(fd, TUNSETIFF, &request) == -1) {
		/* EBUSY is a tap that exists, with TUN_EXCL. */
		if (errno == EBUSY && (a->flags & IFF_TUN_EXCL))
			errno = EEXIST;
		return err_errno(err, "cannot make tap '%s'", a->spec->name);
	}
	a->fd = TAKE_FD(fd);
	return 0;
}

int
tap_add(int netns_fd, const struct tap_spec *spec, struct err *err)
{
	struct attach a = { spec, TAP_FLAGS | IFF_TUN_EXCL, -1 };
	AUTO(close_fd) int fd = -1;

	if (spec->multi_queue)
		a.flags |= IFF_MULTI_QUEUE;
	if (netns_run(netns_fd, attach, &a, err) == -1)
		return -1;
	/* Until it is made to stay it goes with the descriptor. */
	fd = a.fd;
	if ((spec->owner != LINK_NOBODY &&
	     ioctl(fd, TUNSETOWNER, (unsigned long)spec->owner) == -1) ||
	    (spec->group != LINK_NOBODY &&
	     ioctl(fd, TUNSETGROUP, (unsigned long)spec->group) == -1))
		return err_errno(err, "cannot give tap '%s' away", spec->name);
	if (ioctl(fd, TUNSETPERSIST, 1UL) == -1)
		return err_errno(err, "cannot keep tap '%s'", spec->name);
	return 0;
}

int
tap_open(int netns_fd, const char *name, int *ret_fd, struct err *err)
{
	const struct tap_spec spec = { .name = name };
	struct attach a = { &spec, TAP_FLAGS, -1 };

	if (netns_run(netns_fd, attach, &a, err) == -1)
		return -1;
	*ret_fd = a.fd;
	return 0;
}
