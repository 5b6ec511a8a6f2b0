#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A world of its own in which sequences are played; see randomworlds.py.

Reads seeds from standard input, a line each, plays the sequence of each, and
says how it was in a line of JSON: "wrong", a text that is empty if nothing was,
and what there has been since it began. It ends with its input, or after
something was wrong.
"""

import argparse
import json
import signal
import sys
import traceback

from clusters import Cluster
from randomplay import Play

STORY_SHOWN = 200  # steps before the one that went wrong
LOG_SHOWN = 20000  # bytes of the cluster's


class Sequence:
    """The steps of one seed."""

    def __init__(self, play, seed, steps):
        self.play, self.seed, self.steps = play, seed, steps

    def run(self):
        """What was wrong, for people; "" for nothing."""
        for step in range(self.steps + 1):
            try:
                wrong = self.take(step)
            except Exception as error:  # whatever it is, with the story
                wrong = [str(error), traceback.format_exc()]
            if wrong:
                return self.report(step, wrong)
        return ""

    def take(self, step):
        """What is wrong after this step; before the first one it begins, and
        after the last one all is to rest."""
        if step == 0:
            self.play.begin(self.seed)
            return []
        return self.play.step() or (
            self.play.end() if step == self.steps else [])

    def report(self, step, wrong):
        return "\n".join([
            f"seed {self.seed}, step {step}: {wrong[0]}", *wrong[1:],
            "what was done before:", *self.play.story[-STORY_SHOWN:],
            self.play.controllers.logs(),
            "--- ferry-cluster", self.play.cluster.log()[-LOG_SHOWN:]])


def make_namespace(cluster):
    return cluster.api().create("/api/v1/namespaces", {
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"generateName": "test-"}})["metadata"]["name"]


def say(play, wrong):
    print(json.dumps({
        "wrong": wrong, "steps": play.steps, "faults": play.faults,
        "limits": play.reached, "ends": play.chronicle.summary()}),
        flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, required=True)
    options = parser.parse_args()
    # What it has started ends too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    # No kubelet renews the leases of nodes.
    with Cluster("--node-grace", "1h") as cluster, \
            Play(cluster, make_namespace(cluster)) as play:
        for line in sys.stdin:
            wrong = Sequence(play, int(line), options.steps).run()
            say(play, wrong)
            if wrong:
                break


if __name__ == "__main__":
    main()
