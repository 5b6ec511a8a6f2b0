# SPDX-License-Identifier: Apache-2.0
"""Worlds side by side, so that none has to wait while another one does.

    with Worlds(seed, sequences, steps, side_by_side) as worlds:
        wrong = worlds.play()

Each is a process with a cluster, controllers and nodes of its own
(randomworld.py): what goes wrong in one is of no concern to the others, and
limits are those of one. A round, whose sequences have controllers in common, is
played by one world from its beginning to its end.
"""

import collections
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time

from lines import Lines
from proxies import REPOSITORY
from randomplay import QUIET_DEADLINE, ROUND

WORLD = os.path.join(REPOSITORY, "tests", "system", "randomworld.py")
# A sequence has its own deadlines; one that says nothing for so long is stuck.
SEQUENCE_DEADLINE = 3 * QUIET_DEADLINE
STOP_DEADLINE = 120
TOTALS = ("steps", "faults", "limits", "ends")


def rounds(seed, count):
    """The seeds, those of a round together."""
    found = collections.defaultdict(list)
    for each in range(seed, seed + count):
        found[each // ROUND].append(each)
    return list(found.values())


class World:
    """One of the processes."""

    def __init__(self, steps):
        self.popen = subprocess.Popen(
            [sys.executable, WORLD, "--steps", str(steps)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = Lines(self.popen.stdout)
        self.said = {}

    def play(self, seed):
        """What was wrong, "" for nothing."""
        self.popen.stdin.write(f"{seed}\n")
        self.popen.stdin.flush()
        line = self.lines.next(SEQUENCE_DEADLINE)
        if line is None:
            return f"the world of seed {seed} ended"
        self.said = json.loads(line)
        return self.said["wrong"]

    def dismiss(self):
        """It ends after the sequence that it is in."""
        with contextlib.suppress(OSError):
            self.popen.stdin.close()

    def close(self):
        self.dismiss()
        for end in (self.popen.terminate, self.popen.kill):
            try:
                self.popen.wait(STOP_DEADLINE)
                break
            except subprocess.TimeoutExpired:
                end()
        self.popen.wait(STOP_DEADLINE)
        self.lines.close()


class Worlds:
    """Some of them, and what there has been in all."""

    def __init__(self, seed, sequences, steps, side_by_side):
        self.steps = steps
        self.left = queue.SimpleQueue()
        for seeds in rounds(seed, sequences):
            self.left.put(seeds)
        self.wrong = []
        self.played = 0
        self.times = []  # seconds of each sequence, and its seed
        self.lock = threading.Lock()
        self.all = [World(steps) for _ in range(
            min(side_by_side, self.left.qsize()))]

    def play(self):
        """Plays all sequences, unless something is wrong before; what."""
        threads = [threading.Thread(target=self._drive, args=(w,))
                   for w in self.all]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return self.wrong

    def totals(self):
        """How often there was what: of steps, faults, limits, ends."""
        found = {name: collections.Counter() for name in TOTALS}
        for world in self.all:
            for name in TOTALS:
                found[name].update(world.said.get(name, {}))
        return found

    def _drive(self, world):
        while not self.wrong:
            try:
                seeds = self.left.get_nowait()
            except queue.Empty:
                return
            try:
                self._play_round(world, seeds)
            except (AssertionError, OSError, ValueError) as error:
                self.wrong.append(f"in the round of {seeds}: {error!r}")

    def _play_round(self, world, seeds):
        for number, seed in enumerate(seeds, 1):
            if self.wrong:
                return
            begun = time.monotonic()
            wrong = world.play(seed)
            with self.lock:
                self.played += not wrong
                self.times.append((time.monotonic() - begun, seed))
            if wrong:
                self.wrong.append(
                    f"FERRY_SEED={seeds[0]} FERRY_SEQUENCES={number} "
                    f"FERRY_STEPS={self.steps}\n{wrong}")
                return

    def close(self):
        for world in self.all:
            world.dismiss()
        for world in self.all:
            world.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
