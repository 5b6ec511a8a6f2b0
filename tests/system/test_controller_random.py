# SPDX-License-Identifier: Apache-2.0
"""Migrations in a cluster in which anything may happen at any time.

FERRY_SEED repeats a run, FERRY_STEPS makes it longer. The order in which
processes get to work is not part of the seed.
"""

import os
import random

from randomplay import Play

STEPS = int(os.environ.get("FERRY_STEPS", "600"))
EPOCH = 200  # steps
STORY_SHOWN = 200  # steps before the one that went wrong


def report(play, seed, step, wrong):
    return "\n".join([
        f"FERRY_SEED={seed}, step {step}: {wrong[0]}", *wrong[1:],
        "what was done before:",
        *play.story[-STORY_SHOWN:], play.controllers.logs()])


def take_step(play, step):
    """What is wrong after this step, and after its epoch if it ends one."""
    wrong = play.step()
    if not wrong and (step % EPOCH == 0 or step == STEPS):
        wrong = play.end_epoch()
        if not wrong:
            play.begin_epoch()
    return wrong


def test_migrations_stay_right_whatever_happens(cluster, namespace):
    seed = int(os.environ.get("FERRY_SEED") or random.randrange(1 << 32))
    print(f"FERRY_SEED={seed} FERRY_STEPS={STEPS}")
    with Play(cluster, namespace, seed) as play:
        for step in range(1, STEPS + 1):
            try:
                wrong = take_step(play, step)
            except TimeoutError as error:
                wrong = [str(error)]
            assert not wrong, report(play, seed, step, wrong)
        ends = play.chronicle.summary()
        print(f"how migrations ended: {ends}")
        assert ends.get("Succeeded") and ends.get("Failed"), ends
