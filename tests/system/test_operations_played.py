# SPDX-License-Identifier: Apache-2.0
"""The runbook where only the control plane matters: failures are brought about
on played nodes, what `ferryctl explain` says of them is checked, and the
commands of the entry are run.

ferry-cluster, ferry-api, ferry-controller, ferryctl and kubectl are real.
"""

import contextlib

import pytest

import played_objects as objects
from callbacks import Callbacks, review
from controllers import Controllers
from kubeapi import has_vanished, wait_for
from played import Played, wait_phase
from played_objects import PODS, VMIMS, VMIS, key_of, namespaced
from played_steps import migration_uid, status
from runbook_text import alerts, commands
from runbooks import Shell
from test_controller_evacuation import mark, migrations, wait_migration
from test_controller_machines import AsController, Machine

KUBEVIRTS = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts"
NODES = ("runbook-a", "runbook-b", "runbook-c")
PATIENCE = 180
LIMIT = {"parallelMigrationsPerCluster": 1}


@pytest.fixture(name="played", scope="module")
def played_(api):
    with Played(AsController(api), *NODES) as made:
        yield made


@pytest.fixture(name="controllers", scope="module")
def controllers_(cluster, api, played):
    del api, played  # they are there before
    with Controllers(cluster) as made:
        cluster.api().create(KUBEVIRTS, objects.kubevirt())
        made.leader()
        yield made


@pytest.fixture(name="launch")
def launch_(controllers, played, namespace):
    """Starts instances of one test; what is held of them is released."""
    del controllers
    launched = []

    def launch(name):
        launched.append(played.start(namespace, name,
                                     {"evictionStrategy": "LiveMigrate"}))
        return launched[-1]

    yield launch
    for step, of in list(played.held):
        if of in launched:
            played.release(step, of)


def shell_of(cluster, machine, migration=None):
    """A shell for the runbook's commands about a machine."""
    namespace, name = machine.split("/")
    return Shell(cluster, NS=namespace, VM=name, NODE=NODES[0],
                 MIGRATION=migration["metadata"]["name"] if migration else "")


def wait_gone(played, migration):
    path = namespaced(VMIMS, *key_of(migration).split("/"))
    wait_for(f"{path} to go", lambda: has_vanished(played.api, path),
             PATIENCE)


def test_a_queue_is_named_and_can_be_made_shorter(cluster, launch, played):
    played.api.patch(f"{KUBEVIRTS}/kubevirt", {"spec": {"configuration": {
        "migrations": LIMIT}}})
    first, second = launch("first"), launch("second")
    played.hold("arrive", first)
    going = played.migrate(first)
    wait_phase(played.api, going, "Running")
    waits = played.migrate(second)
    shell = shell_of(cluster, second, waits)
    finding = shell.wait_finding(["ClusterLimit"], "limits", "vmim",
                                 waits["metadata"]["name"])
    assert "The limit of 1 migrations in the cluster" in finding["message"]
    assert going["metadata"]["name"] in shell.part("limits", "Check")
    shell.part("limits", "Fix")
    wait_phase(played.api, waits, "Succeeded", deadline=PATIENCE)
    played.release("arrive", first)
    wait_phase(played.api, going, "Succeeded", deadline=PATIENCE)


def require_migration(played, machine):
    """What was changed in the machine needs one."""
    path = namespaced(VMIS, *machine.split("/"))
    need = {"type": "MigrationRequired", "status": "True",
            "reason": "AutoMigrationDueToLiveUpdate"}

    def written():
        """Unless somebody else has written meanwhile."""
        here = played.api.get(path)
        return played.api.request("PATCH", path, {
            "metadata": {"resourceVersion": here["metadata"][
                "resourceVersion"]},
            "status": {"conditions": [*status(here)["conditions"], need]}},
            {"Content-Type": "application/merge-patch+json"}).code == 200

    wait_for("the condition to be written", written)


@contextlib.contextmanager
def drained(played, machine):
    """As the eviction webhook asks for a migration."""
    mark(played, machine)
    yield


@contextlib.contextmanager
def updated(played, machine):
    """As a change of the machine asks for one."""
    played.api.patch(f"{KUBEVIRTS}/kubevirt", {"spec": {
        "workloadUpdateStrategy": {
            "workloadUpdateMethods": ["LiveMigrate"]}}})
    try:
        require_migration(played, machine)
        yield
    finally:
        played.api.patch(f"{KUBEVIRTS}/kubevirt", {"spec": {
            "workloadUpdateStrategy": None}})


def wait_loop(played, machine):
    """The first migration, which has failed, and the one that waits to be
    tried after it."""
    first = wait_migration(played, machine)
    wait_phase(played.api, first, "Failed", deadline=PATIENCE)
    return first, wait_migration(played, machine, {first["metadata"]["uid"]})


def outdated(played):
    """How many machines need an update, as it was counted last."""
    return status(played.api.get(f"{KUBEVIRTS}/kubevirt")).get(
        "outdatedVirtualMachineInstanceWorkloads", 0)


def wait_next_look(played, launch):
    """Until updates have been planned once more."""
    before = outdated(played)
    require_migration(played, launch("changed-later"))
    wait_for("the next look at updates", lambda: outdated(played) > before,
             PATIENCE)


def check_ended(played, launch, machine, name):
    """Nobody makes another one: what is marked later is seen later."""
    later = launch(name)
    mark(played, later)
    wait_migration(played, later)
    assert len(migrations(played, machine)) == 1


@pytest.mark.parametrize("asked", [drained, updated])
def test_what_explain_says_to_type_ends_a_loop(cluster, launch, played,
                                               namespace, asked):
    """In the order in which it stands there; a cancel alone does not."""
    vm = Machine(cluster, played, namespace, objects.vm(
        asked.__name__, spec={"evictionStrategy": "LiveMigrate"}))
    vm.wait_status("Running")
    machine = vm.key
    node = status(played.settle(machine))["nodeName"]
    played.hold("arrive", machine)
    played.fail(machine, "out of luck")
    with asked(played, machine):
        first, second = wait_loop(played, machine)
        shell = shell_of(cluster, machine, second)
        told = shell.run('ferryctl migrate-cancel -n "$NS" "$VM"')
        said = f"VM {vm.name} was scheduled to migrate-cancel\n"
        assert told.startswith(said) and "follows" in told
        third = wait_migration(played, machine, {
            first["metadata"]["uid"], second["metadata"]["uid"]})
        finding = shell.wait_finding(["Backoff"], "back-off", "vmim",
                                     third["metadata"]["name"])
        *ends, again = [step["command"] for step in finding["remedies"]
                        if "command" in step]
        assert [shell.run(command) for command in ends][-1].startswith(said)
        wait_gone(played, third)
        if asked is updated:
            wait_next_look(played, launch)
        check_ended(played, launch, machine, f"after-{asked.__name__}")
        assert status(played.settle(machine))["nodeName"] == node
        played.release("arrive", machine)
        assert shell.run(again).endswith("Succeeded\n")


def test_a_pod_that_a_webhook_refuses_is_named_and_given_up(cluster, launch,
                                                            played):
    machine = launch("unwelcome")
    namespace = machine.split("/")[0]
    hooks = "/apis/admissionregistration.k8s.io/v1/" \
        "validatingwebhookconfigurations"
    with Callbacks("127.0.0.1") as callbacks:
        callbacks.answer("/deny", lambda request: (200, review(
            request, False, status={"message": "no pods today"})))
        played.api.create(hooks, callbacks.configuration(
            "ValidatingWebhookConfiguration", namespace, callbacks.hook(
                "pods", namespace, "/deny", ("pods",))))
        migration = played.migrate(machine)
        shell = shell_of(cluster, machine, migration)
        finding = shell.wait_finding(["TargetPodRefused"], "pod-refused",
                                     "vmim", migration["metadata"]["name"])
        assert "no pods today" in finding["message"]
        said = shell.part("pod-refused", "Check")
        assert "no pods today" in said
        assert f"webhookconfiguration.admissionregistration.k8s.io/{namespace}" \
            in said
        shell.part("pod-refused", "Fix")
        wait_gone(played, migration)
        played.api.delete(f"{hooks}/{namespace}")


def test_a_loop_says_which_try_it_is_when_and_why_and_can_be_ended(
        cluster, launch, played):
    machine = launch("unlucky")
    played.hold("arrive", machine)
    played.fail(machine, "out of luck")
    node = mark(played, machine)
    first, second = wait_loop(played, machine)
    shell = shell_of(cluster, machine, second)
    said = shell.wait_finding(["Backoff"], "back-off", "vmim",
                              second["metadata"]["name"])["message"]
    assert said.startswith("The next try is at 20")
    assert f"It is attempt 2: the one before, {first['metadata']['name']}" \
        in said
    assert "out of luck" in said
    assert f"{first['metadata']['name']}: Failed, ReportedByNode" in \
        shell.part("back-off", "Check")
    shell.part("back-off", "Fix")
    wait_gone(played, second)
    check_ended(played, launch, machine, "later")
    assert status(played.settle(machine))["nodeName"] == node


def test_what_ended_the_target_pod_is_told_when_it_is_gone(cluster, launch,
                                                            played):
    machine = launch("unstarted")
    played.hold("run", machine)
    migration = played.migrate(machine)
    uid = migration["metadata"]["uid"]
    target = wait_for("the target pod", lambda: next(
        (key for key, pod in played.pods(machine).items()
         if migration_uid(pod) == uid and pod["spec"].get("nodeName")), None),
        PATIENCE)
    played.api.patch(namespaced(PODS, *target.split("/"), "status"), {
        "status": {"phase": "Failed", "containerStatuses": [
            {"name": "compute", "ready": False, "restartCount": 0,
             "image": "i", "imageID": "", "state": {"terminated": {
                 "exitCode": 128, "reason": "StartError",
                 "message": "no such program"}}}]}})
    wait_phase(played.api, migration, "Failed", deadline=PATIENCE)
    wait_for("the pod to go", lambda: target not in played.pods(machine),
             PATIENCE)
    shell = shell_of(cluster, machine, migration)
    finding = shell.wait_finding(["TargetPodEnded"], "target-node-dies",
                                 "vmim", migration["metadata"]["name"])
    assert finding["message"].endswith(" during migration: no such program")
    assert "Scheduled" in shell.part("target-node-dies", "Check")


def test_a_pod_that_does_not_go_is_waited_for(cluster, launch, played):
    machine = launch("crowded")
    for step in ("remove", "end"):
        played.hold(step, machine)
    wait_phase(played.api, played.migrate(machine), "Succeeded",
               deadline=PATIENCE)
    second = played.migrate(machine)
    shell = shell_of(cluster, machine, second)
    shell.wait_finding(["PodsOfMachine"], "others-first", "vmim",
                       second["metadata"]["name"])
    told = shell.part("others-first", "Check")
    assert second["metadata"]["name"] in told
    assert told.count("virt-launcher-crowded-") == 2
    for step in ("remove", "end"):
        played.release(step, machine)
    wait_phase(played.api, second, "Succeeded", deadline=PATIENCE)


def test_a_machine_that_ended_meanwhile_is_named_and_started(
        cluster, controllers, played, namespace):
    del controllers
    machine = Machine(cluster, played, namespace, objects.vm("ended",
                                                             "Manual"))
    shell = shell_of(cluster, machine.key)
    shell.run('ferryctl start -n "$NS" "$VM"')
    machine.wait_status("Running")
    played.hold("arrive", machine.key)
    migration = played.migrate(machine.key)
    wait_phase(played.api, migration, "Running")
    machine.end_guest("Succeeded")
    wait_phase(played.api, migration, "Failed", deadline=PATIENCE)
    shell.wait_finding(["MachineEnded"], "machine-not-running", "vmim",
                       migration["metadata"]["name"])
    assert "MachineEnded" in shell.part("machine-not-running", "Check")
    refused = shell.run('ferryctl migrate -n "$NS" "$VM"', may_fail=True)
    assert "not running" in refused
    played.release("arrive", machine.key)
    machine.wait_status("Stopped")
    shell.part("machine-not-running", "Fix")
    machine.wait_status("Running")


def test_a_state_that_somebody_removes_is_told(cluster, launch, played):
    machine = launch("touched")
    played.hold("arrive", machine)
    migration = played.migrate(machine)
    wait_phase(played.api, migration, "Running")
    played.api.patch(namespaced(VMIS, *machine.split("/")),
                     {"status": {"migrationState": None}})
    wait_phase(played.api, migration, "Failed", deadline=PATIENCE)
    shell = shell_of(cluster, machine, migration)
    shell.wait_finding(["StateCleared"], "state-changed", "vmim",
                       migration["metadata"]["name"])
    assert "kind: VirtualMachineInstance" in shell.part("state-changed",
                                                        "Check")


def report(played, machine, code):
    """A migration whose source reports this code; as it ended."""
    played.hold("arrive", machine)
    migration = played.migrate(machine)
    wait_phase(played.api, migration, "Running")
    played.api.patch(namespaced(VMIS, *machine.split("/")), {"status": {
        "migrationState": {"failed": True, "completed": True,
                           "endTimestamp": objects.now(),
                           "failureCode": code,
                           "failureReason": "as the node says it"}}})
    wait_phase(played.api, migration, "Failed", deadline=PATIENCE)
    return migration


def test_a_node_that_reports_a_broken_post_copy_is_understood(
        cluster, launch, played):
    machine = launch("halved")
    migration = report(played, machine, "PostCopyFailed")
    shell = shell_of(cluster, machine, migration)
    shell.wait_finding(["PostCopyFailed"], "post-copy-broken", "vmim",
                       migration["metadata"]["name"])
    assert "unprivileged_userfaultfd" in shell.part("post-copy-broken",
                                                    "Check", may_fail=True)


def test_a_node_that_reports_another_disk_is_understood(cluster, launch,
                                                        played):
    machine = launch("other")
    migration = report(played, machine, "TargetDisk")
    shell = shell_of(cluster, machine, migration)
    shell.wait_finding(["TargetDisk"], "disk-differs", "vmim",
                       migration["metadata"]["name"])
    assert "SuccessfulCreate" in shell.part("disk-differs", "Check")


def test_who_makes_migrations_is_seen(cluster, launch, played):
    machine = launch("mover")
    asked = played.migrate(machine)
    wait_phase(played.api, asked, "Succeeded", deadline=PATIENCE)
    played.settle(machine)
    node = mark(played, machine)
    made = wait_migration(played, machine, {asked["metadata"]["uid"]})
    wait_phase(played.api, made, "Succeeded", deadline=PATIENCE)
    told = shell_of(cluster, machine).part("kubevirtvmiexcessivemigrations",
                                           "Check").splitlines()
    assert {(line.split()[0], line.split()[2]) for line in told} == {
        ("NAME", "EVACUATES"), (asked["metadata"]["name"], "<none>"),
        (made["metadata"]["name"], node)}


@pytest.mark.parametrize("name", [
    name for name, parts in alerts().items()
    if any(commands(part) for part in parts.values())])
def test_what_is_to_be_typed_after_an_alert_is_understood(cluster, launch,
                                                          name):
    shell = shell_of(cluster, launch("alarmed"))
    for part, text in alerts()[name].items():
        if commands(text):
            shell.part(name, part)
