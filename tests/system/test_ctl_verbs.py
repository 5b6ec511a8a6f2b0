# SPDX-License-Identifier: Apache-2.0
"""The verbs of virtctl, as ferryctl and as `kubectl ferry`: texts, exit codes,
options, and what is said when something is wrong."""

import json
import os
import subprocess

import pytest
import yaml

from clusters import CLUSTER
from ctls import PATIENCE, World, compare, one_line, quoted, run, stranger
from kubeapi import wait_for
from kubectls import MINOR
from played_objects import NODES, VMIS, namespaced
from played_steps import status

KUBEVIRT = ["kubevirt.io", "subresources.kubevirt.io"]
VERBS = (("migrate", "vm1"), ("migrate-cancel", "vm1"),
         ("evacuate-cancel", "vm", "vm1"), ("start", "vm1"), ("stop", "vm1"),
         ("restart", "vm1"), ("pause", "vm", "vm1"), ("unpause", "vm", "vm1"),
         ("explain", "vm1"), ("preflight", "vm1"), ("top", "--once"))


@pytest.fixture(name="world", scope="module")
def world_():
    with World("verbs-a", "verbs-b") as made:
        made.machine("vm1")
        yield made


@pytest.fixture(name="other", scope="module")
def other_(world):
    """A namespace with a machine of the same name."""
    world.cluster.kubectl("create", "namespace", "other")
    world.machine("vm1", "other")
    return "other"


def wait_ended(world, name, namespace="default"):
    """The newest migration, once it has ended and its pods are gone."""
    def ended():
        found = world.migrations(name, namespace)
        return found[-1] if found and status(found[-1]).get("phase") in (
            "Succeeded", "Failed") else None

    migration = wait_for(f"the migration of {name}", ended)
    world.played.settle(f"{namespace}/{name}")
    return migration


def config_of(world):
    with open(world.cluster.kubeconfig, encoding="utf-8") as file:
        return yaml.safe_load(file)


def write_config(world, name, config):
    path = os.path.join(world.cluster.scratch, name)
    with open(path, "w", encoding="utf-8") as file:
        yaml.safe_dump(config, file)
    return path


# --- what works --------------------------------------------------------------

def test_migrate(world):
    assert world.told("migrate", "vm1") == \
        "VM vm1 was scheduled to migrate\n"
    assert status(wait_ended(world, "vm1"))["phase"] == "Succeeded"


def test_a_dry_run_changes_nothing(world):
    before = len(world.migrations("vm1"))
    assert world.told("migrate", "vm1", "--dry-run") == \
        "Dry Run execution\nVM vm1 was scheduled to migrate\n"
    assert world.told("stop", "vm1", "--dry-run") == \
        "Dry Run execution\nVM vm1 was scheduled to stop\n"
    assert world.told("migrate", "vm1", "--dry-run", "--wait") == \
        "Dry Run execution\nVM vm1 was scheduled to migrate\n"
    assert len(world.migrations("vm1")) == before
    assert status(world.vmi("vm1"))["phase"] == "Running"


def test_scripts_are_told_which_migration_it_is(world):
    world.machine("scripted")
    [line] = world.told("migrate", "scripted", "-o", "json").splitlines()
    migration = wait_ended(world, "scripted")
    found = json.loads(line)
    assert (found["migration"], found["vmi"]) == (
        migration["metadata"]["name"], "scripted")
    assert "phase" in found
    for words in ((), ("--wait",)):
        [line] = world.told("migrate", "scripted", "-o", "json", "--dry-run",
                            *words).splitlines()
        assert json.loads(line) == {"vmi": "scripted", "dryRun": True}
    assert len(world.migrations("scripted")) == 1


def test_scripts_of_who_may_not_look_are_told_that_it_was_taken(world):
    key = world.machine("unseen")
    mover = stranger(world.cluster, "blind", {
        "apiGroups": ["subresources.kubevirt.io"], "verbs": ["update"],
        "resources": ["*"]})
    assert json.loads(world.told("migrate", "unseen", "-o", "json",
                                 KUBECONFIG=mover)) == {"vmi": "unseen"}
    wait_ended(world, "unseen")
    world.played.settle(key)


def test_an_added_node_selector_is_handed_on(world):
    world.machine("picky")
    target = next(n for n in world.nodes
                  if n != status(world.vmi("picky"))["nodeName"])
    world.told("migrate", "picky", "--addedNodeSelector",
               f"kubernetes.io/hostname={target},kubernetes.io/os=linux")
    migration = wait_ended(world, "picky")
    assert migration["spec"]["addedNodeSelector"] == {
        "kubernetes.io/hostname": target, "kubernetes.io/os": "linux"}
    assert status(world.vmi("picky"))["nodeName"] == target


def test_migrate_cancel_ends_it(world):
    key = world.machine("cancel")
    world.played.hold("arrive", key)
    world.told("migrate", "cancel")
    assert world.told("migrate-cancel", "cancel") == \
        "VM cancel was scheduled to migrate-cancel\n"
    wait_for("it to be over", lambda: not any(
        status(m).get("phase") not in ("Succeeded", "Failed")
        for m in world.migrations("cancel")))
    assert world.refused(1, "migrate-cancel", "cancel") == \
        "ferryctl: Found no migration to cancel for cancel\n"


def wait_begun(world, name, known=()):
    """A migration of the machine that has not ended; its uid."""
    return wait_for(f"a migration of {name}", lambda: next(
        (m["metadata"]["uid"] for m in world.migrations(name)
         if m["metadata"]["uid"] not in known and status(m).get(
             "phase") not in ("Succeeded", "Failed")), None), PATIENCE)


def test_a_cancel_says_what_makes_the_next_one(world):
    key = world.machine("leaves")
    world.played.hold("arrive", key)
    node = status(world.vmi("leaves"))["nodeName"]
    world.played.api.patch(namespaced(VMIS, "default", "leaves"),
                           {"status": {"evacuationNodeName": node}})
    first = wait_begun(world, "leaves")
    lines = world.told("migrate-cancel", "leaves").splitlines()
    assert lines == [
        "VM leaves was scheduled to migrate-cancel",
        f"It is still to leave node {node}, so another one follows. To let "
        "it stay:",
        "  ferryctl evacuate-cancel vmi leaves -n default"]
    wait_begun(world, "leaves", {first})
    world.told(*lines[2].split()[1:])
    assert world.told("migrate-cancel", "leaves") == \
        "VM leaves was scheduled to migrate-cancel\n"
    wait_for("it to be over", lambda: all(
        status(m).get("phase") == "Failed"
        for m in world.migrations("leaves")), PATIENCE)


def test_a_cancel_names_the_taint_that_makes_the_next_one(world):
    """On a node of its own: others would leave it, too."""
    world.played.add_node("verbs-alone", {"alone": "true"})
    key = world.machine("alone", spec={"nodeSelector": {"alone": "true"}})
    path = f"{NODES}/verbs-alone"
    world.played.api.patch(path, {"spec": {"taints": [
        {"key": "kubevirt.io/drain", "effect": "NoSchedule"}]}})
    wait_begun(world, "alone")
    first, second = world.told("migrate-cancel", "alone").splitlines()
    assert first == "VM alone was scheduled to migrate-cancel"
    assert second == 'Another one follows: Node "verbs-alone" has ' \
        'NodeDrainTaintKey "kubevirt.io/drain:NoSchedule"'
    world.played.api.patch(path, {"spec": {"taints": None}})
    world.run("migrate-cancel", "alone")
    wait_for("it to be over", lambda: not world.migrations("alone"),
             PATIENCE)
    world.played.settle(key)


def test_evacuate_cancel_of_both_kinds(world):
    world.played.hold("arrive", world.machine("stays"))
    node = status(world.vmi("stays"))["nodeName"]
    for kind in ("vm", "vmi"):
        world.played.api.patch(namespaced(VMIS, "default", "stays"),
                               {"status": {"evacuationNodeName": node}})
        assert world.told("evacuate-cancel", kind, "stays") == \
            "VM default/stays was canceled evacuation\n"
        assert "evacuationNodeName" not in status(world.vmi("stays"))


def test_a_machine_stops_starts_and_restarts(world):
    world.machine("life")
    uid = world.vmi("life")["metadata"]["uid"]
    assert world.told("restart", "life", "--force", "--grace-period=0") == \
        "VM life was scheduled to restart\n"
    wait_for("another instance", lambda: world.played.api.request(
        "GET", namespaced(VMIS, "default", "life")).json().get(
            "metadata", {}).get("uid") not in (None, uid))
    world.wait_status("life", "Running")
    assert world.told("restart", "life", "--force=true",
                      "--grace-period", "0", "--dry-run") == \
        "Dry Run execution\nVM life was scheduled to restart\n"
    assert world.told("stop", "life") == "VM life was scheduled to stop\n"
    world.wait_status("life", "Stopped")
    assert world.told("start", "life") == "VM life was scheduled to start\n"
    world.wait_status("life", "Running")


def test_a_pause_can_be_tried(world):
    """Nobody plays launchers; test_ctl_operator.py pauses a real guest."""
    assert world.told("pause", "vm", "vm1", "--dry-run") == \
        "Dry Run execution\nVMI vm1 was scheduled to pause\n"


def test_a_terminal_gets_the_same_words(world):
    """Every verb, typed; test_ctl_operator.py pauses a real guest."""
    key = world.machine("seated")
    uid = world.vmi("seated")["metadata"]["uid"]
    said = []

    def typed(*words, status_=0):
        line = quoted("ferryctl", *words)
        with world.terminal(line) as terminal:
            assert terminal.status() == status_, terminal.text()
            said.append(f"$ {line}\n" + terminal.text().split("[status ")[0])

    typed("migrate", "seated", "--dry-run")
    world.played.hold("arrive", key)
    typed("migrate", "seated")
    wait_begun(world, "seated")
    typed("migrate-cancel", "seated")
    wait_for("it to be over", lambda: not world.migrations("seated"),
             PATIENCE)
    typed("migrate-cancel", "seated", status_=1)
    typed("migrate", "seated", "--timeout", "5s", status_=1)
    typed("evacuate-cancel", "vmi", "seated")
    typed("pause", "vm", "seated", "--dry-run")
    typed("unpause", "vmi", "seated", status_=1)
    typed("restart", "seated", "--force", "--grace-period=0")
    wait_for("another instance", lambda: world.played.api.request(
        "GET", namespaced(VMIS, "default", "seated")).json().get(
            "metadata", {}).get("uid") not in (None, uid), PATIENCE)
    world.wait_status("seated", "Running")
    typed("stop", "seated")
    world.wait_status("seated", "Stopped")
    typed("start", "seated")
    world.wait_status("seated", "Running")
    world.played.release("arrive", key)
    compare("verbs.txt", "".join(said))


def test_every_way_to_say_where(world, other):
    config = config_of(world)
    config["contexts"].append({"name": "elsewhere", "context": {
        **config["contexts"][0]["context"], "namespace": other}})
    path = write_config(world, "two.kubeconfig", config)
    ways = (("-n", other), (f"-n={other}",), (f"-n{other}",),
            ("--namespace", other), (f"--namespace={other}",),
            ("--kubeconfig", path, "--context", "elsewhere"),
            (f"--kubeconfig={path}", "--context=elsewhere"))
    assert "Machine vm1" in world.told("explain", "vm1")
    for way in ways:
        for words in ((*way, "explain", "vm1", "-o", "json"),
                      ("explain", *way, "vm1", "-o", "json"),
                      ("explain", "vm1", "-ojson", *way)):
            page = json.loads(world.told(*words))
            assert page["namespace"] == other, words


# --- kubectl ferry -----------------------------------------------------------

def plugin(world, *words):
    return run(world.cluster, "kubectl", "ferry", *words)


def test_kubectl_runs_it_as_a_plugin(world, other):
    done = plugin(world, "migrate", "vm1")
    assert (done.returncode, done.stdout, done.stderr) == \
        (0, "VM vm1 was scheduled to migrate\n", "")
    assert status(wait_ended(world, "vm1"))["phase"] == "Succeeded"
    for words in (("-n", other, "explain", "vm1"),
                  ("explain", "vm1", "-n", other),
                  ("--context", config_of(world)["current-context"],
                   "explain", "vm1", f"--namespace={other}")):
        done = plugin(world, *words, "-o", "json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["namespace"] == other


def test_a_plugin_says_what_was_typed(world):
    assert plugin(world, "--help").stdout.startswith(
        "usage: kubectl ferry COMMAND [options]\n")
    assert plugin(world, "migrate", "--help").stdout.startswith(
        "usage: kubectl ferry migrate [options] VM\n")
    assert "kubectl ferry cluster up" in plugin(
        world, "cluster", "up", "--help").stdout
    for words, status_ in ((("nix",), 2), (("cluster", "nix"), 2),
                           (("migrate",), 1),
                           (("migrate", "--nix", "vm1"), 1)):
        done = plugin(world, *words)
        line = one_line(done, status_ if MINOR >= 26 else done.returncode,
                        "kubectl ferry")
        assert "see kubectl ferry" in line and "ferryctl" not in line


# --- what is wrong is said in one line ---------------------------------------

@pytest.mark.parametrize("words, status_, part", [
    (("migrate", "nix"), 1, 'virtualmachine.kubevirt.io "nix" not found'),
    (("migrate", "vm1", "-n", "nowhere"), 1, '"vm1" not found'),
    (("migrate", "../vm1"), 1, "could not find the requested resource"),
    (("migrate-cancel", "nix"), 1, "Found no migration to cancel for nix"),
    (("evacuate-cancel", "vm", "nix"), 1, '"nix" not found'),
    (("migrate", "nix"), 1,
     "ferryctl: Error migrating VirtualMachine virtualmachine."),
    (("start", "nix"), 1,
     "ferryctl: Error starting VirtualMachine virtualmachine."),
    (("start", "vm1"), 1, "VM is already running"),
    (("stop", "nix"), 1,
     "ferryctl: Error stopping VirtualMachine virtualmachine."),
    (("restart", "nix"), 1,
     "ferryctl: Error restarting VirtualMachine virtualmachine."),
    (("pause", "vmi", "nix"), 1, "Error pausing VirtualMachineInstance nix: "),
    (("unpause", "vmi", "vm1"), 1, "VMI is not paused"),
    (("migrate",), 1, "VM is missing; see ferryctl migrate --help"),
    (("migrate", "vm1", "vm2"), 1, "unexpected argument 'vm2'"),
    (("migrate", "vm1", "--nix"), 1, "unknown option '--nix'"),
    (("migrate", "vm1", "--addedNodeSelector", "x"), 1, "'x' is no KEY=VALUE"),
    (("migrate", "vm1", "--wait", "-o", "yaml"), 1, "'yaml' is not json"),
    (("migrate", "vm1", "--wait=perhaps"), 1, "must be true or false"),
    (("restart", "vm1", "--force"), 1,
     "Must both use --force=true and set --grace-period."),
    (("restart", "vm1", "--grace-period=0"), 1,
     "Must both use --force=true and set --grace-period."),
    (("restart", "vm1", "--force", "--grace-period=5"), 1,
     "Error restarting VirtualMachine "),
    (("migrate", "vm1", "-o", "yaml"), 1, "'yaml' is not json"),
    (("migrate", "vm1", "--timeout", "5s"), 1,
     "--timeout says how long to wait: it needs --wait"),
    (("pause", "pod", "vm1"), 1, "'pod' is neither vm nor vmi"),
    (("top", "x"), 2, "unexpected argument 'x'"),
    (("top", "--once", "-o", "yaml"), 2, "'yaml' is not json"),
    (("top", "--interval", "1ms"), 2, "--interval is '1ms'"),
    (("completion", "tcsh"), 2, "'tcsh' is neither bash, zsh nor fish"),
    (("nix",), 2, "unknown command 'nix'; see ferryctl --help"),
    ((), 2, "no command was given; see ferryctl --help"),
    (("-n", "other"), 2, "no command was given; see ferryctl --help"),
    (("--context", "nix", "migrate", "vm1"), 1, "there is no context 'nix'"),
    (("--kubeconfig", "/nix", "migrate", "vm1"), 1, "/nix"),
])
def test_wrong_words(world, words, status_, part):
    assert part in world.refused(status_, *words)


def test_who_may_not_is_told_so(world):
    nobody = stranger(world.cluster, "nobody")
    for words in VERBS:
        line = world.refused(1, *words, KUBECONFIG=nobody)
        assert "forbidden" in line and "nobody" in line, line


def test_who_may_is_asked_for_no_more_rights_than_needed(world):
    reader = stranger(
        world.cluster, "mover",
        {"apiGroups": KUBEVIRT, "verbs": ["get", "list", "watch", "update"],
         "resources": ["*"]})
    out = world.told("migrate", "vm1", "--wait", KUBECONFIG=reader)
    assert out.endswith("Succeeded\n")
    table = world.told("top", "--once", KUBECONFIG=reader)
    assert "Not seen: cannot list nodes: " in table and "vm1" in table
    assert "Not seen: other namespaces: cannot list " in table


def test_a_server_that_is_away_is_told_at_once(world):
    """That it is not tried again is seen in src/kube/client_test.c."""
    for words in VERBS:
        line = world.refused(1, *words, "--server", "https://127.0.0.1:1")
        assert "connection refused" in line


def test_a_host_that_is_not_there(world):
    line = world.refused(1, "migrate", "vm1", "--server",
                         "https://nowhere.invalid:6443")
    assert "nowhere.invalid: no such host" in line


def test_what_is_no_api_server(world):
    """ferry-api's port, with a certificate of somebody else."""
    line = world.refused(1, "migrate", "vm1", "--server",
                         f"https://127.0.0.1:{world.api.port}")
    assert "x509: certificate signed by unknown authority" in line


def test_an_expired_certificate_is_named(world):
    """Signed by the cluster's own CA, a year ago, for a day."""
    scratch = world.cluster.scratch
    key, request, cert = (os.path.join(scratch, f"old.{end}")
                          for end in ("key", "csr", "crt"))
    pki = os.path.join(world.cluster.dir, "pki")
    subprocess.run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key,
                    "-out", request, "-subj", "/O=system:masters/CN=old"],
                   check=True, stderr=subprocess.DEVNULL)
    with open(os.path.join(scratch, "index"), "w", encoding="ascii"):
        pass
    settings = os.path.join(scratch, "ca.cnf")
    with open(settings, "w", encoding="ascii") as file:
        file.write("[ca]\ndefault_ca=d\n[d]\n"
                   f"database={scratch}/index\nnew_certs_dir={scratch}\n"
                   "default_md=sha256\npolicy=p\nrand_serial=yes\n"
                   "unique_subject=no\n[p]\ncommonName=supplied\n"
                   "organizationName=supplied\n"
                   "[e]\nextendedKeyUsage=clientAuth\n")
    subprocess.run(["openssl", "ca", "-batch", "-config", settings, "-cert",
                    os.path.join(pki, "ca.crt"), "-keyfile",
                    os.path.join(pki, "ca.key"), "-in", request,
                    "-out", cert, "-notext", "-extensions", "e", "-startdate",
                    "20250101000000Z", "-enddate", "20250102000000Z"],
                   check=True, stderr=subprocess.DEVNULL)
    config = config_of(world)
    config["users"][0]["user"] = {"client-certificate": cert,
                                  "client-key": key}
    path = write_config(world, "old.kubeconfig", config)
    for words in VERBS:
        line = world.refused(1, *words, KUBECONFIG=path)
        assert "the client certificate has expired (2025-01-02T00:00:00Z)" \
            in line, line


def test_no_kubeconfig_at_all(world):
    line = world.refused(1, "migrate", "vm1", KUBECONFIG="",
                         HOME=world.cluster.scratch)
    assert "no API server: no kubeconfig, and not in a pod" in line
    assert os.path.exists(CLUSTER)
