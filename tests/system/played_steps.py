# SPDX-License-Identifier: Apache-2.0
"""What a node does about a pod or a machine, one step at a time.

Each step is a row: when it is due, and what it changes. Steps look at objects
alone, so that a node that was silent goes on where it was.
"""

import dataclasses
from collections.abc import Callable

from played_objects import (NODE_LABEL, TARGET_LABEL, booted_status,
                            container_status, key_of, now)

GONE = "gone"  # the change of a step that deletes the object
ABORTED = "Live migration has been aborted"
FINAL = ("Succeeded", "Failed")


@dataclasses.dataclass(frozen=True)
class Step:
    """One thing that a node does; node() says which, due() whether."""
    name: str
    node: Callable
    due: Callable
    change: Callable


def status(obj):
    return obj.get("status") or {}


def state(machine):
    """Its migration state, {} for none."""
    return status(machine).get("migrationState") or {}


def machine_key(pod):
    """The machine that a pod is of."""
    meta = pod["metadata"]
    name = (meta.get("annotations") or {}).get("kubevirt.io/domain", "")
    return f"{meta['namespace']}/{name}"


def migration_uid(pod):
    """The migration that a pod is the target of; "" for none."""
    return (pod["metadata"].get("labels") or {}).get(
        "kubevirt.io/migrationJobUID", "")


# --- pods ------------------------------------------------------------------

def _pod_node(pod):
    return pod["spec"].get("nodeName", "")


def _is_leaving(obj):
    return "deletionTimestamp" in obj["metadata"]


def _run_due(pod, _world):
    return not _is_leaving(pod) and \
        status(pod).get("phase", "Pending") == "Pending"


def ready_pod(pod, _world):
    """The status of a pod whose containers run and are ready."""
    moment = now()
    return {"status": {
        "phase": "Running", "podIP": "127.0.0.1", "hostIP": "127.0.0.1",
        "startTime": moment,
        "conditions": [
            *[c for c in status(pod).get("conditions", [])
              if c["type"] == "PodScheduled"],
            *[{"type": kind, "status": "True"} for kind in
              ("Initialized", "ContainersReady", "Ready")]],
        "containerStatuses": [container_status(pod, c, moment)
                              for c in pod["spec"]["containers"]]}}


def _has_left(pod, machine):
    """The machine is elsewhere for good, or nowhere."""
    if machine is None or pod["metadata"].get("labels", {}).get(
            "kubevirt.io/created-by") != machine["metadata"]["uid"]:
        return False
    if status(machine).get("phase") in FINAL:
        return True
    ended, name = state(machine), pod["metadata"]["name"]
    if not ended.get("completed"):
        return False
    if ended.get("failed"):
        return name == ended.get("targetPod") and \
            status(machine).get("nodeName") != _pod_node(pod)
    return name == ended.get("sourcePod") and \
        status(machine).get("nodeName") != _pod_node(pod)


def _end_due(pod, world):
    return status(pod).get("phase") == "Running" and \
        _has_left(pod, world.machine(machine_key(pod)))


def ended_pod(phase):
    """The status of a pod whose containers have ended."""
    def change(pod, _world):
        code = 0 if phase == "Succeeded" else 1
        return {"status": {
            "phase": phase,
            "conditions": [
                {**c, "status": "False"}
                if c["type"] in ("Ready", "ContainersReady") else c
                for c in status(pod).get("conditions", [])],
            "containerStatuses": [
                {**c, "ready": False, "started": False, "state": {
                    "terminated": {"exitCode": code,
                                   "finishedAt": now()}}}
                for c in status(pod).get("containerStatuses", [])]}}
    return change


POD_STEPS = (
    # The containers run and are ready.
    Step("run", _pod_node, _run_due, ready_pod),
    # The pod was told to go and is gone.
    Step("remove", _pod_node, lambda pod, _: _is_leaving(pod),
         lambda *_: GONE),
    # The launcher ends when its machine has left or ended.
    Step("end", _pod_node, _end_due, ended_pod("Succeeded")),
)


# --- machines --------------------------------------------------------------

def _at(machine):
    return status(machine).get("nodeName", "")


def _source(machine):
    return state(machine).get("sourceNode", "")


def _target(machine):
    return state(machine).get("targetNode", "")


def has_arrived(machine):
    """By its last migration, and the target has said so."""
    return bool(state(machine).get("targetNodeDomainReadyTimestamp")) and \
        _at(machine) == _target(machine)


def _is_received(machine):
    return machine["metadata"].get("labels", {}).get(TARGET_LABEL) == \
        _target(machine) != ""


def _goes_on(machine):
    """Handed off, and nobody has ended it."""
    of = state(machine)
    return bool(of.get("migrationUid")) and not of.get("endTimestamp") \
        and not of.get("completed") and not of.get("failed") \
        and status(machine).get("phase") == "Running"


def _boot_due(machine, _world):
    return status(machine).get("phase") == "Scheduled" and \
        not _is_leaving(machine)


def _boot(machine, _world):
    return {"status": {
        "phase": "Running",
        **booted_status(status(machine).get("conditions", []))}}


def _crash_due(machine, world):
    """All pods on its node that it has been in have ended."""
    pods = [p for p in world.pods(key_of(machine)).values()
            if _pod_node(p) == _at(machine) and world.was_entered(p)]
    return status(machine).get("phase") == "Running" and pods != [] and \
        all(status(p).get("phase") in FINAL for p in pods)


def _halt_due(machine, _world):
    return _is_leaving(machine) and status(machine).get("phase") in (
        "Running", "Scheduled")


def _abort_due(machine, _world):
    of = state(machine)
    return _goes_on(machine) and bool(of.get("abortRequested")) and \
        bool(of.get("startTimestamp")) and \
        not of.get("targetNodeDomainReadyTimestamp")


def _failed(reason, **more):
    return {"status": {"migrationState": {
        "failed": True, "completed": True, "endTimestamp": now(),
        "failureReason": reason, **more}}}


def _fail_due(machine, world):
    plan = world.failure(key_of(machine))
    return plan is not None and _goes_on(machine) and \
        bool(state(machine).get(plan.after))


def _has_target(machine, world):
    """There is something on the target for the guest to be in."""
    return any(migration_uid(p) == state(machine).get("migrationUid")
               and _pod_node(p) == _target(machine)
               and status(p).get("phase") == "Running"
               for p in world.pods(key_of(machine)).values())


def _prepare_due(machine, world):
    of = state(machine)
    return _goes_on(machine) and _is_received(machine) and \
        not of.get("targetNodeAddress") and not of.get("abortRequested") and \
        _has_target(machine, world)


def _prepare(*_):
    return {"status": {"migrationState": {
        "targetNodeAddress": "127.0.0.1",
        "targetDirectMigrationNodePorts": {"41023": 0, "38111": 49152}}}}


def _start_due(machine, _world):
    of = state(machine)
    return _goes_on(machine) and bool(of.get("targetNodeAddress")) and \
        not of.get("startTimestamp") and not of.get("abortRequested")


def _start(*_):
    return {"status": {"migrationState": {"startTimestamp": now(),
                                          "mode": "PreCopy"}}}


def _arrive_due(machine, world):
    of = state(machine)
    return _goes_on(machine) and bool(of.get("startTimestamp")) and \
        not of.get("targetNodeDomainReadyTimestamp") and \
        _has_target(machine, world)


def _arrive(*_):
    return {"status": {"migrationState": {
        "targetNodeDomainDetected": True,
        "targetNodeDomainReadyTimestamp": now()}}}


def _switch_due(machine, _world):
    return _goes_on(machine) and \
        bool(state(machine).get("targetNodeDomainReadyTimestamp"))


def _taken_pods(machine, world):
    """What a node writes about the pods of a machine that has arrived."""
    listed = dict.fromkeys(status(machine).get("activePods") or {})
    for pod in world.pods(key_of(machine)).values():
        if pod["metadata"]["name"] == state(machine).get("targetPod"):
            return {"activePods": {**listed,
                                   pod["metadata"]["uid"]: _target(machine)},
                    "launcherContainerImageVersion":
                        pod["spec"]["containers"][0]["image"]}
    return {"launcherContainerImageVersion": None}


def _without_need(machine):
    """The conditions of a machine that needed to be moved, and was; others
    are left alone."""
    conditions = status(machine).get("conditions", [])
    rest = [c for c in conditions if c["type"] != "MigrationRequired"]
    return {} if rest == conditions else {"conditions": rest}


def _switch(machine, world):
    return {"metadata": {"labels": {NODE_LABEL: _target(machine),
                                    "kubevirt.io/outdatedLauncherImage": None},
                         "annotations": {"kubevirt.io/eviction-source": None}},
            "status": {"nodeName": _target(machine),
                       "evacuationNodeName": None,
                       **_taken_pods(machine, world),
                       **_without_need(machine),
                       "migrationState": {"endTimestamp": now()}}}


def _finish_due(machine, _world):
    of = state(machine)
    return bool(of.get("endTimestamp")) and not of.get("completed") and \
        _at(machine) == _target(machine)


def _clean_due(machine, _world):
    of = state(machine)
    return _is_received(machine) and bool(of.get("endTimestamp")) and \
        bool(of.get("completed"))


MACHINE_STEPS = (
    # The machine runs.
    Step("boot", _at, _boot_due, _boot),
    # It was told to go, and has shut down.
    Step("halt", _at, _halt_due, lambda *_: {"status": {
        "phase": "Succeeded"}}),
    # It has ended without having been told to.
    Step("crash", _at, _crash_due, lambda *_: {"status": {
        "phase": "Failed"}}),
    # The source has stopped the transfer because it was asked to.
    Step("abort", _source, _abort_due,
         lambda *_: _failed(ABORTED, abortStatus="Succeeded")),
    # The source reports what Played.fail() has planned.
    Step("fail", _source, _fail_due,
         lambda m, world: _failed(world.failure(key_of(m)).reason)),
    # The target listens.
    Step("prepare", _target, _prepare_due, _prepare),
    # The source has begun to send.
    Step("start", _source, _start_due, _start),
    # The guest runs on the target.
    Step("arrive", _target, _arrive_due, _arrive),
    # The machine is the target's.
    Step("switch", _target, _switch_due, _switch),
    # The target is done.
    Step("finish", _target, _finish_due,
         lambda *_: {"status": {"migrationState": {"completed": True}}}),
    # The target forgets about the migration.
    Step("clean", _target, _clean_due,
         lambda *_: {"metadata": {"labels": {TARGET_LABEL: None}}}),
)

STEPS = {"pods": POD_STEPS, "machines": MACHINE_STEPS}
NAMES = tuple(s.name for steps in STEPS.values() for s in steps)
