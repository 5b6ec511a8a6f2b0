# SPDX-License-Identifier: Apache-2.0
"""The command line of the test guest's kernel (tests/guest)."""

# Without watchdogs: on a computer with too much to do a guest stands still for
# longer than they like, and their message is that of a kernel that is broken.
_ARGUMENTS = ("console=ttyS0 quiet panic=-1 nokaslr mitigations=off "
              "tsc=reliable no_timer_check nowatchdog "
              "workqueue.watchdog_thresh=0 {address} gdirty={dirty} gdisk=20")


def arguments(address, dirty):
    """Of a guest with this address, or None: it asks for one every second; it
    rewrites MIB,PAGES-PER-SECOND."""
    return _ARGUMENTS.format(
        address=f"gip={address}/24" if address else "gdhcp=1", dirty=dirty)
