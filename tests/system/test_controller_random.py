# SPDX-License-Identifier: Apache-2.0
"""Migrations in a cluster in which anything may happen at any time.

Many short sequences of steps, each from a seed of its own: what one has broken
the next one does not get to see, and so many limits and beginnings are tried.
FERRY_SEED is the first seed, FERRY_SEQUENCES how many there are, FERRY_STEPS
how long each is, FERRY_WORLDS how many are played side by side.

A seed says what is done, in which order, and to what; of migrations and pods it
says the place in a list, so that another list may mean another choice, and
after that another way. When processes get to work, which of the controllers
leads, how far migrations have come by then and which request meets with an
injected error are not part of it. The limits are those of the round that a seed
is in (randomplay.ROUND), and so are the controllers: whoever plays a sequence
again begins with its round, as what a failure says does.
"""

import os
import random

from randomplay import ACTIONS, FAULTS
from randomworlds import Worlds

SEQUENCES = int(os.environ.get("FERRY_SEQUENCES", "100"))
STEPS = int(os.environ.get("FERRY_STEPS", "40"))
# They wait more than they work.
WORLDS = int(os.environ.get("FERRY_WORLDS") or 3 * (os.cpu_count() or 1))
LONGEST = 6  # that are shown
ENOUGH = 100  # sequences, in which there is everything at least once


def show(totals):
    for name, counts in totals.items():
        print(f"{name}: " + ", ".join(
            f"{kind} {count}" for kind, count in sorted(counts.items())))


def test_migrations_stay_right_whatever_happens():
    seed = int(os.environ.get("FERRY_SEED") or random.randrange(1 << 32))
    print(f"FERRY_SEED={seed} FERRY_SEQUENCES={SEQUENCES} FERRY_STEPS={STEPS}")
    with Worlds(seed, SEQUENCES, STEPS, WORLDS) as worlds:
        wrong = worlds.play()
        totals = worlds.totals()
    show(totals)
    print("longest: " + ", ".join(f"{seconds:.1f} s ({seed})" for seconds, seed
                                  in sorted(worlds.times)[-LONGEST:]))
    assert not wrong, "\n".join(wrong)
    assert worlds.played == SEQUENCES
    if SEQUENCES >= ENOUGH:
        assert set(totals["steps"]) == {a.__name__ for _, a in ACTIONS}
        assert {kind for kind, n in totals["faults"].items() if n} == FAULTS
        assert set(totals["limits"]) == {"cluster", "outbound", "inbound"}
        assert set(totals["ends"]) == {"Succeeded", "Failed"}
