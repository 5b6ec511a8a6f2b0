# SPDX-License-Identifier: Apache-2.0
"""Migrations in a cluster in which anything may happen at any time.

Many short sequences of steps, each from a seed of its own: what one has broken
the next one does not get to see, and so many limits and beginnings are tried.
FERRY_SEED is the first seed, FERRY_SEQUENCES how many there are, FERRY_STEPS how
long each is. The order in which processes get to work is not part of a seed.
"""

import os
import random

from randomplay import Play

SEQUENCES = int(os.environ.get("FERRY_SEQUENCES", "30"))
STEPS = int(os.environ.get("FERRY_STEPS", "40"))
STORY_SHOWN = 200  # steps before the one that went wrong


def report(play, seed, step, wrong):
    return "\n".join([
        f"FERRY_SEED={seed} FERRY_SEQUENCES=1, step {step}: {wrong[0]}",
        *wrong[1:], "what was done before:",
        *play.story[-STORY_SHOWN:], play.controllers.logs()])


def take_step(play, step):
    """What is wrong after this step; after the last one all is to rest."""
    return play.step() or (play.end() if step == STEPS else [])


def play_sequence(play, seed):
    play.begin(seed)
    for step in range(1, STEPS + 1):
        try:
            wrong = take_step(play, step)
        except TimeoutError as error:
            wrong = [str(error)]
        assert not wrong, report(play, seed, step, wrong)


def test_migrations_stay_right_whatever_happens(cluster, namespace):
    seed = int(os.environ.get("FERRY_SEED") or random.randrange(1 << 32))
    print(f"FERRY_SEED={seed} FERRY_SEQUENCES={SEQUENCES} FERRY_STEPS={STEPS}")
    with Play(cluster, namespace) as play:
        for number in range(SEQUENCES):
            play_sequence(play, seed + number)
        ends = play.chronicle.summary()
        print(f"how migrations ended: {ends}")
        assert SEQUENCES == 1 or (
            ends.get("Succeeded") and ends.get("Failed")), ends
