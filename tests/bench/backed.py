# SPDX-License-Identifier: Apache-2.0
"""Free memory that is really there.

In a virtual machine, memory that has been free for some seconds may be the
host's again, and whoever touches it next waits for the host: a GiB then takes
2.6 s instead of 0.1 s. Who gets such memory is chance, so whoever is to be
measured gets memory that has just been used and given back.
"""
import contextlib
import mmap

PAGE = mmap.PAGESIZE


def back_free_memory(mib):
    """Uses that much memory, in large pages if there are any, and frees it."""
    with mmap.mmap(-1, mib << 20,
                   flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        with contextlib.suppress(OSError):  # a kernel without large pages
            memory.madvise(mmap.MADV_HUGEPAGE)
        with memoryview(memory) as view, view[::PAGE] as firsts:
            firsts[:] = bytes(len(firsts))
