# SPDX-License-Identifier: Apache-2.0
"""A machine moves between launchers, through two ferry-proxies."""

import os
import signal

import pytest

import gates
import rpc
from lab_space import wait_until
from launchers import PATIENCE, LauncherLab, Machine, Shared, make_vmi

# The guest rewrites 8 MiB/s: with less than that it never converges.
SLOW = "4Mi"


@pytest.fixture(scope="module", name="shared_lab")
def fixture_shared_lab():
    shared = Shared()
    yield shared
    shared.close()


@pytest.fixture
def launcher_lab(request, shared_lab):
    if shared_lab.lab is None:
        shared_lab.lab = LauncherLab()
        shared_lab.lab.start_proxies("--peer-timeout", "5s")
    yield shared_lab.lab
    if getattr(request.node, "lab_failed", False):
        shared_lab.close()


@pytest.fixture
def machine(request, launcher_lab, shared_lab):
    """Runs somewhere; unharmed by the test, or it fails."""
    if shared_lab.machine is None:
        vmi = make_vmi("vm1", dirty="16,2000",
                       disks=[{"name": "data", "disk": {"bus": "virtio"}}],
                       volumes=[{"name": "data",
                                 "emptyDisk": {"capacity": "32Mi"}}])
        shared_lab.machine = Machine(
            launcher_lab.new_pod(launcher_lab.a, vmi), has_disk=True)
        shared_lab.machine.boot()
    yield shared_lab.machine
    if shared_lab.machine and not getattr(request.node, "lab_failed", False):
        shared_lab.machine.check()


def test_a_machine_moves_with_its_disk_and_back(launcher_lab, machine):
    for _ in range(2):
        source = machine.pod
        before = machine.counter()
        move = launcher_lab.move(machine)
        record = move.succeed()
        assert record["mode"] == "PreCopy" and record["domainDetected"]
        assert machine.pod is not source
        machine.wait_alive()
        assert machine.counter() > before


def test_the_source_says_how_far_it_is(launcher_lab, machine):
    move = launcher_lab.move(machine, configuration={
        "bandwidthPerMigration": "16Mi"})
    move.wait_copying(4 << 20)

    def measured():
        """Disks come first; memory is part of it from then on."""
        record = move.source.migration()
        assert not record["completed"], f"it is over: {record}"
        seen = record["progress"]
        return seen if seen["iteration"] > 0 else None

    seen = wait_until(measured, PATIENCE, "memory to be sent")
    assert seen["bytesTotal"] > 128 << 20
    assert 0 <= seen["percent"] <= 100
    # Bandwidth holds for memory; what is between is QEMU's own measure.
    assert seen["rateBytesPerSecond"] < 32 << 20
    move.succeed()


def test_connections_in_parallel(launcher_lab, machine):
    launcher_lab.move(machine, parallel=4).succeed()


def test_a_paused_machine_stays_paused(launcher_lab, machine):
    machine.pod.call("pause")
    move = launcher_lab.move(machine)
    move.succeed()
    assert machine.pod.domain()["state"] == "Paused"
    assert machine.pod.call("unpause")["domain"]["state"] == "Running"


def test_a_migration_begins_once_and_excludes_others(launcher_lab, machine):
    move = launcher_lab.move(machine, configuration={
        "bandwidthPerMigration": SLOW})
    again = {"vmi": move.source.vmi, "migrationUid": move.uid, "block": True}
    assert move.source.call("migrate", **again)["migration"]["uid"] == move.uid
    with pytest.raises(rpc.RpcError) as refused:
        move.source.call("migrate", **{**again, "migrationUid": "another"})
    assert refused.value.kind == "Conflict"
    with pytest.raises(rpc.RpcError) as refused:
        move.target.call("prepare", vmi=move.target.vmi,
                         migrationUid="another", interfaces=[])
    assert refused.value.kind == "Conflict"
    move.cancel()
    move.fail()


def test_a_canceled_migration_leaves_the_machine_where_it_is(launcher_lab,
                                                             machine):
    move = launcher_lab.move(machine, configuration={
        "bandwidthPerMigration": SLOW})
    move.wait_copying()
    assert move.cancel()["migration"]["abortStatus"] == "Aborting"
    record = move.fail()
    assert record["reasonCode"] == "Canceled"
    assert record["abortStatus"] == "Succeeded"
    assert move.source.domain()["state"] == "Running"


def test_a_machine_that_does_not_converge_is_aborted_in_time(launcher_lab,
                                                             machine):
    # 160 MB of memory and disk: one second for each gigabyte begun.
    move = launcher_lab.move(machine, configuration={
        "bandwidthPerMigration": SLOW, "completionTimeoutPerGiB": 1})
    record = move.fail()
    assert record["reasonCode"] == "CompletionTimeout"
    assert "completionTimeoutPerGiB" in record["failureReason"]


def test_post_copy_finishes_what_does_not_converge(launcher_lab, machine):
    move = launcher_lab.move(machine, parallel=4, configuration={
        "bandwidthPerMigration": SLOW, "completionTimeoutPerGiB": 2,
        "allowPostCopy": True, "allowWorkloadDisruption": True})
    assert move.succeed()["mode"] == "PostCopy"


def is_broken(move, breaks):
    """Both sides know, and QEMU on the target listens again."""
    source, target = move.source.migration(), move.target.migration()
    return source.get("reasonCode") == target.get("reasonCode") \
        == "PostCopyFailed" and source["breaks"] == target["breaks"] \
        == target["listening"] == breaks


def test_a_post_copy_that_broke_is_taken_up_again(launcher_lab, machine):
    move = launcher_lab.move(machine, bandwidth=4 << 20, configuration={
        "bandwidthPerMigration": SLOW, "completionTimeoutPerGiB": 2,
        "allowPostCopy": True, "allowWorkloadDisruption": True})
    there = Machine(move.target)
    for breaks, bandwidth in ((1, 2 << 20), (2, 0)):
        mark = there.counter()
        wait_until(lambda m=mark: there.counter() > m, PATIENCE,
                   "the guest to count there")
        move.disconnect()
        wait_until(lambda b=breaks: is_broken(move, b), PATIENCE,
                   "it to stand")
        assert not move.source.migration()["completed"]
        # Without a way QEMU is not told to connect: it could not bear that.
        answer = move.source.call("recover", migrationUid=move.uid,
                                  listening=True)
        assert answer["migration"].get("reasonCode") != "PostCopyFailed"
        wait_until(lambda b=breaks: is_broken(move, b), PATIENCE,
                   "it to have been tried")
        move.connect(bandwidth)
        move.source.call("recover", migrationUid=move.uid, listening=True)
        wait_until(lambda b=breaks: move.target.migration()["mended"] == b,
                   PATIENCE, "it to go on")
    assert move.succeed()["mode"] == "PostCopy"


def test_an_abort_that_hangs_ends_when_its_streams_are_cut(launcher_lab,
                                                           machine):
    move = launcher_lab.move(machine, configuration={
        "bandwidthPerMigration": SLOW})
    move.wait_copying()
    frozen = move.target_node.proxy
    frozen.signal(signal.SIGSTOP)
    try:
        move.cancel()
        wait_until(lambda: move.source.migration()["cutStreams"], PATIENCE,
                   "the abort to be stuck")
        move.cut()
        record = move.wait_source()
    finally:
        frozen.signal(signal.SIGCONT)
    assert record["reasonCode"] == "Canceled"
    assert not record["cutStreams"]
    move.fail()


def test_an_abort_ends_although_libvirtd_hangs(launcher_lab, machine):
    move = launcher_lab.move(machine, configuration={
        "bandwidthPerMigration": SLOW})
    move.wait_copying()
    hung = move.source.processes("libvirtd")
    for pid in hung:
        os.kill(pid, signal.SIGSTOP)
    try:
        move.cancel()
        wait_until(lambda: move.source.migration()["cutStreams"], PATIENCE,
                   "the abort to be stuck")
        move.cut()
    finally:
        for pid in hung:
            os.kill(pid, signal.SIGCONT)
    assert move.fail()["reasonCode"] == "Canceled"
    assert move.source.domain()["state"] == "Running"


def test_a_pause_finishes_what_does_not_converge(launcher_lab, machine):
    # Less than the guest rewrites in a second. The rest has as much time again
    # as the whole: a few times what it needs, on a computer that is busy.
    move = launcher_lab.move(machine, configuration={
        "bandwidthPerMigration": "6Mi", "completionTimeoutPerGiB": 12,
        "allowWorkloadDisruption": True})
    move.succeed()
    assert machine.pod.domain()["state"] == "Running"


def test_streams_that_break_leave_the_machine_where_it_is(launcher_lab,
                                                          machine):
    move = launcher_lab.move(machine, configuration={
        "bandwidthPerMigration": SLOW})
    move.wait_copying()
    move.cut()
    record = move.fail()
    assert record["reasonCode"] in ("ConnectionLost", "TargetLost")


def test_an_unreachable_target_is_said_to_be_that(launcher_lab, machine):
    move = launcher_lab.move(machine, configuration={
        "bandwidthPerMigration": SLOW})
    move.cancel()
    move.fail()
    # The sockets of the last migration are gone.
    machine.pod.call("migrate", vmi=machine.pod.vmi, migrationUid="nobody",
                     block=True, parallel=0, configuration={})
    record = wait_until(
        lambda: machine.pod.migration()
        if machine.pod.migration()["completed"] else None,
        PATIENCE, "the migration to fail")
    assert record["reasonCode"] == "ConnectFailed"


def test_a_killed_libvirtd_at_the_source_ends_the_migration_only(
        launcher_lab, machine):
    move = launcher_lab.move(machine, configuration={
        "bandwidthPerMigration": SLOW})
    move.wait_copying()
    for pid in move.source.processes("libvirtd"):
        os.kill(pid, signal.SIGKILL)
    record = move.fail()
    assert record["reasonCode"] in ("LibvirtLost", "ConnectionLost")
    wait_until(lambda: machine.pod.status()["libvirtUp"], PATIENCE,
               "libvirtd to be back")
    assert machine.pod.domain()["state"] == "Running"


def test_a_killed_qemu_at_the_target_ends_the_migration_only(launcher_lab,
                                                             machine):
    move = launcher_lab.move(machine, configuration={
        "bandwidthPerMigration": SLOW})
    move.wait_copying()
    for pid in move.target.processes("qemu"):
        os.kill(pid, signal.SIGKILL)
    record = move.fail()
    assert record["reasonCode"] in ("TargetLost", "ConnectionLost")
    assert move.source.domain()["state"] == "Running"


def test_a_target_that_dies_ends_the_migration_only(launcher_lab, machine):
    move = launcher_lab.move(machine, configuration={
        "bandwidthPerMigration": SLOW})
    move.wait_copying()
    move.target.kill()
    record = move.wait_source()
    assert record["failed"]
    move.disconnect()
    launcher_lab.node_of(move.target).pod = move.target
    assert machine.pod.domain()["state"] == "Running"


def hand_over(move, direction):
    """Until all has been copied, and the libvirtd of the source waits for the
    word of the other that the machine runs, which does not come."""
    move.wait_copying()
    move.gate.hold(direction)
    wait_until(lambda: gates.FINISH in move.gate.held[direction], PATIENCE,
               "the last call of libvirt")
    assert move.source.domain()["reason"] == "Migrating"


def wait_unconfirmed(move):
    def known():
        record = move.source.migration()
        assert not record["completed"], f"it is over: {record}"
        return record.get("reasonCode") == "Unconfirmed" and \
            move.source.domain()["state"] == "Paused"

    wait_until(known, PATIENCE, "the source to stand")
    with pytest.raises(rpc.RpcError) as refused:
        move.source.call("unpause")
    assert refused.value.kind == "Conflict"


def test_a_machine_that_was_not_handed_over_is_taken_back(launcher_lab,
                                                          machine):
    move = launcher_lab.move(machine, gated=True, configuration={
        "bandwidthPerMigration": "32Mi"})
    hand_over(move, gates.TO)
    move.gate.close()
    wait_unconfirmed(move)
    before = machine.counter()
    wait_until(lambda: move.target.migration()["failed"], PATIENCE,
               "the target to be without it")
    assert move.target.migration()["reasonCode"] == "NeverArrived"
    assert machine.counter() == before
    move.cancel()
    record = move.fail()
    assert record["reasonCode"] == "ConnectionLost"
    assert move.source.domain()["state"] == "Running"


def test_a_hand_over_that_failed_is_not_taken_for_the_next_one(launcher_lab,
                                                               machine):
    move = launcher_lab.move(machine, gated=True, configuration={
        "bandwidthPerMigration": "32Mi"})
    hand_over(move, gates.TO)
    for pid in move.target.processes("qemu"):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: move.target.domain()["state"] == "NoDomain", PATIENCE,
               "the target to be empty")
    # The target says no, and libvirt lets it run on here.
    move.gate.release(gates.TO)
    move.fail()
    move.gate.close()
    assert move.source.domain()["state"] == "Running"
    again = launcher_lab.move(machine, gated=True, configuration={
        "bandwidthPerMigration": SLOW})
    again.wait_copying()
    again.gate.close()
    record = again.fail()
    assert record["reasonCode"] == "ConnectionLost"
    assert again.source.domain()["state"] == "Running"


def test_a_machine_that_may_run_elsewhere_stands(launcher_lab, shared_lab,
                                                 machine):
    move = launcher_lab.move(machine, gated=True, configuration={
        "bandwidthPerMigration": "32Mi"})
    hand_over(move, gates.FROM)
    wait_until(lambda: move.target.migration()["completed"], PATIENCE,
               "the machine to arrive")
    move.gate.close()
    wait_unconfirmed(move)
    # It may have run for a moment, by the will of libvirt.
    before = machine.counter()
    machine.moved_to(move.target)
    machine.wait_alive()
    assert Machine(move.source).counter() == before
    # It hears no button; there is nothing to wait for.
    move.source.call("shutdown", graceSeconds=PATIENCE)
    assert move.source.wait_domain("Stopped")["reason"] == "Killed"
    assert move.source.wait_end() == 0
    move.disconnect()
    move.target.call("kill")
    assert move.target.wait_end() == 0
    shared_lab.machine = None


def test_a_machine_that_ran_unseen_is_not_said_never_to_have_arrived(
        launcher_lab, shared_lab, machine):
    move = launcher_lab.move(machine, gated=True, configuration={
        "bandwidthPerMigration": "32Mi"})
    hand_over(move, gates.TO)
    # The target's launcher is late: when it looks, nothing is there.
    launcher, = move.target.processes("ferry-launcher")
    heard = move.target.listen()
    os.kill(launcher, signal.SIGSTOP)
    move.gate.hold(gates.FROM)
    move.gate.release(gates.TO)
    wait_until(Machine(move.target).counter, PATIENCE,
               "the guest to count there")
    pid, = move.target.processes("qemu")
    os.kill(pid, signal.SIGKILL)
    move.gate.close()
    wait_unconfirmed(move)
    os.kill(launcher, signal.SIGCONT)
    # It says so and ends, sooner than one might ask.
    with heard:
        record = {"failed": False}
        while not record["failed"]:
            record = heard.notice().get("migration", record)
    assert record["reasonCode"] == "MachineEnded"
    assert record["domainReadyTimeUs"] > 0
    assert move.target.wait_end() == 1
    # Its disks may have gone on: it is not run from here again.
    move.source.call("kill")
    assert move.source.wait_domain("Crashed")["reason"] == "Killed"
    assert move.source.wait_end() == 1
    move.disconnect()
    shared_lab.machine = None


def test_half_a_machine_is_lost_with_its_target(launcher_lab, shared_lab,
                                                machine):
    move = launcher_lab.move(machine, bandwidth=4 << 20, configuration={
        "bandwidthPerMigration": SLOW, "completionTimeoutPerGiB": 2,
        "allowPostCopy": True, "allowWorkloadDisruption": True})
    there = Machine(move.target)
    wait_until(there.counter, PATIENCE, "the guest to count there")
    for pid in move.target.processes("qemu"):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: move.source.migration().get("reasonCode")
               == "PostCopyFailed", PATIENCE, "it to stand")
    with pytest.raises(rpc.RpcError) as refused:
        move.cancel()
    assert refused.value.kind == "Conflict"
    move.source.call("kill")
    domain = move.source.wait_domain("Crashed")
    assert domain["reason"] == "Killed" and "was lost" in domain["message"]
    assert move.source.migration()["reasonCode"] == "MachineEnded"
    assert move.source.wait_end() == 1
    move.disconnect()
    assert move.target.wait_end() == 1
    shared_lab.machine = None


def test_half_a_machine_that_waits_for_the_other_hears_no_button(
        launcher_lab, shared_lab, machine):
    move = launcher_lab.move(machine, bandwidth=4 << 20, configuration={
        "bandwidthPerMigration": SLOW, "completionTimeoutPerGiB": 2,
        "allowPostCopy": True, "allowWorkloadDisruption": True})
    there = Machine(move.target)
    wait_until(there.counter, PATIENCE, "the guest to count there")
    for pid in move.source.processes("qemu"):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: move.target.migration().get("reasonCode")
               == "PostCopyFailed", PATIENCE, "it to stand")
    move.target.call("shutdown", graceSeconds=10 * PATIENCE)
    assert move.target.wait_domain("Stopped")["reason"] == "Killed"
    assert move.target.wait_end() == 0
    move.disconnect()
    assert move.source.wait_end() == 1
    shared_lab.machine = None


def test_auto_converge_lets_a_busy_machine_finish(launcher_lab, machine):
    move = launcher_lab.move(machine, configuration={
        "bandwidthPerMigration": "6Mi", "allowAutoConverge": True,
        "completionTimeoutPerGiB": 600})
    throttled = []

    def arrived():
        if move.source.process.running():
            try:
                throttled.append(move.progress()["throttlePercent"])
            except (ConnectionError, OSError):
                pass
        return move.target.migration()["completed"]

    wait_until(arrived, PATIENCE, "the machine to arrive", interval=0.2)
    move.succeed()
    assert max(throttled) > 0


def test_a_machine_that_is_told_to_stop_is_stopped_in_its_grace(shared_lab,
                                                                machine):
    pod = machine.pod
    machine.check()
    pod.call("shutdown", graceSeconds=1)
    assert pod.wait_domain("Stopped")["reason"] == "Killed"
    assert pod.wait_end() == 0
    shared_lab.machine = None
