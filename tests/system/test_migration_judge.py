# SPDX-License-Identifier: Apache-2.0
"""The judges of the migration tests find what they are there to find."""

import os
import struct
import zlib

import pytest

import lab_disk
from lab_guest import Guest


class FakePod:
    """A directory that stands for a pod."""

    def __init__(self, directory, name):
        self.name = name
        self._directory = directory / name
        os.makedirs(self._directory / "var/log")

    def outside(self, path):
        return str(self._directory) + path


def lines(numbers, boot="0a1b2c3d"):
    return "".join(f"counter boot={boot} n={n}\r\n" for n in numbers)


@pytest.fixture
def judge(tmp_path):
    """Judges a guest that was started in one pod and moved to another."""
    def do(first, second):
        guest = Guest("g", "/nowhere")
        pods = [FakePod(tmp_path, name) for name in ("pod-a", "pod-b")]
        for pod, text in zip(pods, (first, second)):
            with open(pod.outside("/var/log/g.console"), "w",
                      encoding="ascii", newline="") as file:
                file.write(text)
            guest.moved_to(pod)
        guest.judge()

    return do


def test_a_guest_that_counts_on_is_well(judge):
    judge(lines([1, 2, 3]) + "memcheck pass=1 rewritten=2 bad=0\r\n",
          lines([4, 5]))


def test_a_line_cut_in_two_is_no_harm(judge):
    judge(lines([1, 2, 3]) + "counter bo", "ot=0a1b2c3d n=4\r\n" + lines([5]))


@pytest.mark.parametrize("first, second, complaint", [
    (lines([1, 2, 3]), lines([3, 4]), "twice"),
    (lines([1, 3, 2]), lines([4]), "went back"),
    (lines([1, 2]), lines([3], boot="ffffffff"), "booted 2 times"),
    (lines([1, 2]), lines([8, 9]), "5 lines lost"),
    (lines([1]) + "memcheck pass=1 rewritten=2 bad=1\r\n", lines([2]),
     "bad=1"),
    (lines([1]), lines([2]) + "diskcheck written=1 read=1 bad=10\r\n",
     "bad=10"),
    (lines([1]), lines([2]) + "[ 3.2] Kernel panic - not syncing\r\n",
     "panic"),
])
def test_harm_is_found(judge, first, second, complaint):
    with pytest.raises(AssertionError, match=complaint):
        judge(first, second)


def record(number):
    body = bytes(number for _ in range(lab_disk.BLOCK - 24))
    return struct.pack("<8sQII", b"ferryrec", number, zlib.crc32(body), 0) \
        + body


@pytest.fixture
def disks(tmp_path):
    """Two equal disks with three records."""
    source, target = tmp_path / "source", tmp_path / "target"
    lab_disk.create(source, 1)
    with open(source, "r+b") as file:
        for number in (1, 2, 3):
            file.write(record(number))
    target.write_bytes(source.read_bytes())
    return source, target


def write(path, block, data):
    with open(path, "r+b") as file:
        file.seek(block * lab_disk.BLOCK)
        file.write(data)


def test_equal_disks_and_later_records_are_fine(disks):
    assert lab_disk.compare(*disks) == 3
    write(disks[1], 3, record(4))
    write(disks[1], 0, record(5))
    assert lab_disk.compare(*disks) == 2


@pytest.mark.parametrize("block, data, complaint", [
    (1, bytes(lab_disk.BLOCK), "holds record 0 instead of 2"),
    (1, record(3), "holds record 3 instead of 2"),
    (2, b"x" * 100, "neither empty nor a record"),
    (200, b"x", "still half"),
])
def test_a_damaged_disk_is_found(disks, block, data, complaint):
    write(disks[1], block, data)
    with pytest.raises(AssertionError, match=complaint):
        lab_disk.compare(*disks)
