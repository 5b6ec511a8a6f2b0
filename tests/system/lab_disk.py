# SPDX-License-Identifier: Apache-2.0
"""The guest's disk as seen from outside: made here, compared afterwards.

guestwork writes numbered records round the first half; the second half is
random and stays as it was made.
"""

import os
import struct
import zlib

BLOCK = 4096
_HEADER = struct.Struct("<QQII")
_MAGIC = int.from_bytes(b"ferryrec", "little")


def create(path, mib):
    half = mib * 1024 * 1024 // 2
    with open(path, "wb") as file:
        file.truncate(half)
        file.seek(half)
        file.write(os.urandom(half))


def create_empty(path, mib):
    """What the target of a migration with disks starts with."""
    with open(path, "wb") as file:
        file.truncate(mib * 1024 * 1024)


def _record(block):
    """The number of the record in a block; 0 for an empty block."""
    if not any(block):
        return 0
    magic, number, crc, zero = _HEADER.unpack_from(block)
    if magic != _MAGIC or zero != 0 or crc != zlib.crc32(block[_HEADER.size:]):
        raise AssertionError("a block is neither empty nor a record")
    return number


def _describe(before, after, start):
    """Which blocks differ, and how many of those are empty on the target."""
    blocks = [offset // BLOCK for offset in range(start, len(before), BLOCK)
              if before[offset:offset + BLOCK] != after[offset:offset + BLOCK]]
    empty = [block for block in blocks
             if not any(after[block * BLOCK:(block + 1) * BLOCK])]
    return (f"{len(blocks)} blocks from {blocks[0]} to {blocks[-1]}, "
            f"{len(empty)} of them empty on the target")


def compare(source, target):
    """Checks what a migration made of the disk; returns the records moved.

    Every record the source ended with is on the target, or a later one in its
    place; what nobody wrote to is equal.
    """
    with open(source, "rb") as file:
        before = file.read()
    with open(target, "rb") as file:
        after = file.read()
    assert len(before) == len(after), "the disks differ in size"
    half = len(before) // 2
    assert before[half:] == after[half:], \
        "the still half of the disk differs: " + _describe(before, after, half)

    moved = last = 0
    for offset in range(0, half, BLOCK):
        last = max(last, _record(before[offset:offset + BLOCK]))
    for offset in range(0, half, BLOCK):
        old = before[offset:offset + BLOCK]
        new = after[offset:offset + BLOCK]
        if old == new:
            moved += 1 if _record(old) else 0
            continue
        assert _record(new) > last, (
            f"block {offset // BLOCK} holds record {_record(new)} instead of "
            f"{_record(old)}; the source's last one is {last}")
    assert last > 0, "the guest has not written anything"
    return moved
