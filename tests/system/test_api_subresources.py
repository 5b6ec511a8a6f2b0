# SPDX-License-Identifier: Apache-2.0
"""subresources.kubevirt.io: what virtctl asks for, and who may."""

import json
import os
import subprocess
import threading

import pytest

import kubeapi
from apis import FERRY_API
from kubeapi import wait_for
from lines import read_line
from played_objects import NODE_LABEL, PODS, VMIMS, VMIS, launcher, \
    namespaced, node, node_status, vm, vmi

DEADLINE = 60  # seconds
GROUP = "subresources.kubevirt.io"
VMS = "/apis/kubevirt.io/v1/virtualmachines"
RECOVERY = "VM recovery required: Volume migration failed, leaving some " \
    "volumes pointing to non-consistent targets; manual intervention is " \
    "needed to reassign them to their original volumes."


@pytest.fixture(scope="module", autouse=True)
def nodes(cluster, api):
    for name in ("node1", "node2"):
        cluster.api().create("/api/v1/nodes", node(name))
        cluster.api().patch(f"/api/v1/nodes/{name}/status", node_status())
    return api


def conflict(name, why, kind="virtualmachine"):
    return f'Operation cannot be fulfilled on {kind}.kubevirt.io "{name}": ' \
        + why


class World:
    """Machines of one namespace, and requests as virtctl makes them."""

    def __init__(self, api, namespace):
        self.api, self.namespace = api, namespace
        self.client = api.client()

    def vm(self, name="vm1", strategy="Always", status=None, running=None):
        body = vm(name, strategy)
        if running is not None:
            del body["spec"]["runStrategy"]
            body["spec"]["running"] = running
        self.client.create(namespaced(VMS, self.namespace), body)
        if status:
            self.client.patch(
                namespaced(VMS, self.namespace, name, "status"),
                {"status": status})
        return self

    def vmi(self, name="vm1", phase="Running", **status):
        body = vmi(name)
        self.client.create(namespaced(VMIS, self.namespace), body)
        self.made = self.api.controller().patch(
            namespaced(VMIS, self.namespace, name), {
                "metadata": {"labels": {NODE_LABEL: "node1"}},
                "status": {"phase": phase, "nodeName": "node1", **status}})
        return self

    def path(self, what, version="v1"):
        return f"/apis/{GROUP}/{version}/namespaces/{self.namespace}/{what}"

    def put(self, what, body=None, client=None, version="v1"):
        """virtctl sends no Content-Type."""
        data = json.dumps({} if body is None else body).encode()
        return (client or self.client).request(
            "PUT", self.path(what, version), data,
            {"Content-Type": [], "User-Agent": "Go-http-client/1.1"})

    def accepted(self, what, body=None, code=202, **more):
        answer = self.put(what, body, **more)
        assert (answer.code, answer.body) == (code, b""), answer

    def refused(self, code, message, what, body=None, **more):
        answer = self.put(what, body, **more)
        assert answer.code == code, answer
        status = answer.json()
        assert status["message"] == message
        return status

    def get_vm(self, name="vm1"):
        return self.client.get(namespaced(VMS, self.namespace, name))

    def get_vmi(self, name="vm1"):
        return self.client.get(namespaced(VMIS, self.namespace, name))

    def requests(self, name="vm1"):
        return self.get_vm(name).get("status", {}).get(
            "stateChangeRequests", [])

    def migrations(self):
        return self.client.get(namespaced(VMIMS, self.namespace))["items"]


@pytest.fixture
def world(api, namespace):
    return World(api, namespace)


def test_discovery_says_what_is_served(cluster, api):
    admin = cluster.api()
    group = admin.get(f"/apis/{GROUP}")
    assert group["preferredVersion"]["version"] == "v1"
    for version in ("v1", "v1alpha3"):
        served = admin.get(f"/apis/{GROUP}/{version}")
        assert served["kind"] == "APIResourceList"
        assert served["groupVersion"] == f"{GROUP}/{version}"
        assert {r["name"] for r in served["resources"]} == {
            "virtualmachines/start", "virtualmachines/stop",
            "virtualmachines/restart", "virtualmachines/migrate",
            "virtualmachines/evacuate/cancel",
            "virtualmachineinstances/pause",
            "virtualmachineinstances/unpause",
            "virtualmachineinstances/evacuate/cancel"}
        version = admin.get(f"/apis/{GROUP}/{version}/version")
        assert version["gitVersion"].startswith("v")
    assert api.direct().get(f"/apis/{GROUP}")["kind"] == "APIGroup"
    assert api.direct().get("/apis")["kind"] == "APIGroupList"


def test_a_machine_is_migrated(world):
    world.vm().vmi()
    world.accepted("virtualmachines/vm1/migrate",
                   {"addedNodeSelector": {"zone": "b"}})
    made, = world.migrations()
    assert made["metadata"]["name"].startswith("kubevirt-migrate-vm-")
    assert made["spec"] == {"vmiName": "vm1",
                            "addedNodeSelector": {"zone": "b"}}
    uid = made["metadata"]["uid"]
    world.refused(
        500, "Internal error occurred: admission webhook "
        '"migration-create-validator.kubevirt.io" denied the request: '
        f"in-flight migration detected. Active migration job ({uid}) is "
        "currently already in progress for VMI vm1.",
        "virtualmachines/vm1/migrate")
    assert len(world.migrations()) == 1


def test_the_older_version_does_the_same(world):
    world.vm().vmi()
    world.accepted("virtualmachines/vm1/migrate", version="v1alpha3")
    assert len(world.migrations()) == 1


def test_a_dry_run_changes_nothing(world):
    world.vm(strategy="Manual").vmi()
    world.accepted("virtualmachines/vm1/migrate", {"dryRun": ["All"]})
    world.accepted("virtualmachines/vm1/stop", {"dryRun": ["All"]})
    world.accepted("virtualmachines/vm1/restart", {"dryRun": ["All"]})
    world.accepted("virtualmachineinstances/vm1/pause", {"dryRun": ["All"]},
                   code=200)
    assert world.migrations() == []
    assert world.requests() == []
    assert "ferry.io/pause-requested" not in \
        world.get_vmi()["metadata"].get("annotations", {})
    world.refused(400, 'dryRun: only "All" is supported',
                  "virtualmachines/vm1/migrate", {"dryRun": ["Some"]})


def test_what_does_not_run_is_not_migrated(world):
    path = "virtualmachines/vm1/migrate"
    world.refused(404, 'virtualmachine.kubevirt.io "vm1" not found', path)
    world.vm()
    world.refused(404, 'virtualmachineinstance.kubevirt.io "vm1" not found',
                  path)
    world.vmi(phase="Scheduled")
    status = world.refused(409, conflict("vm1", "VM is not running"), path)
    assert status["reason"] == "Conflict"


# The machine's strategy, the phase of its instance (None: there is none), and
# what comes of it: a refusal, requests to the controller, or what the machine
# then says itself.
STARTS = [
    ("Halted", None, "Always"),
    ("Halted", "Succeeded", "Always"),
    ("Manual", None, ["Start"]),
    ("Manual", "Failed", ["Stop", "Start"]),
    ("Manual", "Succeeded", ["Stop", "Start"]),
    ("Manual", "Running", (409, "VM is already running")),
    ("Manual", "Scheduling", (409, "VM is already running")),
    ("RerunOnFailure", "Succeeded", ["Stop", "Start"]),
    ("RerunOnFailure", None, ["Start"]),
    ("RerunOnFailure", "Failed", (
        409, "RerunOnFailure does not support starting VM from failed "
        "state")),
    ("Always", None, (409, "Always does not support manual start requests")),
    ("Once", None, (409, "Once does not support manual start requests")),
]

STOPS = [
    ("Always", "Running", "Halted"),
    ("Always", None, "Halted"),
    ("Once", "Running", "Halted"),
    ("Manual", "Running", ["Stop"]),
    ("RerunOnFailure", "Scheduling", ["Stop"]),
    ("Manual", None, (409, "VM is not running")),
    ("Manual", "Succeeded", (409, "VM is not running")),
    ("Halted", None, (409, "VM is not running")),
    ("Halted", "Running", (
        409, "Halted only supports manual stop requests with a shorter "
        "graceperiod")),
]

RESTARTS = [
    ("Always", "Running", ["Stop", "Start"]),
    ("Manual", "Running", ["Stop", "Start"]),
    ("RerunOnFailure", "Failed", ["Stop", "Start"]),
    ("Halted", "Running", (
        409, "RunStategy Halted does not support manual restart requests")),
    ("Once", "Running", (
        409, "RunStategy Once does not support manual restart requests")),
    ("Always", None, (409, "VM is not running: Halted")),
]

CASES = [(action, *case) for action, cases in
         (("start", STARTS), ("stop", STOPS), ("restart", RESTARTS))
         for case in cases]


@pytest.mark.parametrize("action,strategy,phase,result", CASES)
def test_start_stop_and_restart_follow_the_strategy(
        world, action, strategy, phase, result):
    world.vm(strategy=strategy)
    if phase:
        world.vmi(phase=phase)
    what = f"virtualmachines/vm1/{action}"
    if isinstance(result, tuple):
        code, why = result
        world.refused(code, conflict("vm1", why), what)
        assert world.requests() == []
        return
    world.accepted(what)
    if isinstance(result, str):
        assert world.get_vm()["spec"]["runStrategy"] == result
        assert world.requests() == []
        return
    uid = world.made["metadata"]["uid"] if phase else None
    assert world.requests() == [
        {"action": "Stop", "uid": uid} if name == "Stop" else
        {"action": "Start"} for name in result]


def test_a_machine_with_running_keeps_it(world):
    world.vm(running=False)
    world.accepted("virtualmachines/vm1/start")
    assert world.get_vm()["spec"]["running"] is True
    world.vmi()
    world.accepted("virtualmachines/vm1/stop")
    assert world.get_vm()["spec"]["running"] is False


def test_a_machine_is_started_paused(world):
    world.vm(strategy="Halted")
    world.accepted("virtualmachines/vm1/start", {"paused": True})
    assert world.requests() == [
        {"action": "Start", "data": {"paused": "true"}}]
    assert world.get_vm()["spec"]["runStrategy"] == "Halted"


def test_what_was_asked_for_is_done_first_but_a_stop_goes_before(world):
    world.vm(strategy="Manual", status={
        "stateChangeRequests": [{"action": "Start"}],
        "startFailure": {"consecutiveFailCount": 1}})
    world.refused(500, "Internal error occurred: unable to complete request: "
                  "stop/start already underway", "virtualmachines/vm1/start")
    world.vmi()
    world.accepted("virtualmachines/vm1/stop")
    assert [r["action"] for r in world.requests()] == ["Stop"]
    assert "startFailure" not in world.get_vm()["status"]


def test_conditions_that_need_a_person_stop_it(world):
    world.vm(strategy="Manual", status={"conditions": [
        {"type": "ManualRecoveryRequired", "status": "True"},
        {"type": "VolumesChange", "status": "True"}]})
    world.refused(409, conflict("vm1", RECOVERY), "virtualmachines/vm1/start")
    world.vmi()
    world.refused(409, conflict("vm1", RECOVERY),
                  "virtualmachines/vm1/restart")


def test_a_forced_stop_shortens_the_time_first(world):
    world.vm(strategy="Halted").vmi()
    world.accepted("virtualmachines/vm1/stop", {"gracePeriod": 0})
    assert world.get_vmi()["spec"]["terminationGracePeriodSeconds"] == 0
    assert [r["action"] for r in world.requests()] == ["Stop"]
    world.refused(400, "gracePeriod has to be greater or equal to 0",
                  "virtualmachines/vm1/stop", {"gracePeriod": -1})


def test_a_forced_restart_removes_the_pod(world):
    world.vm().vmi()
    pod = world.client.create(namespaced(PODS, world.namespace),
                              launcher(world.made, "node1"))["metadata"]["name"]
    path = namespaced(PODS, world.namespace, pod)
    world.client.patch(path + "/status", {"status": {"phase": "Running"}})
    world.refused(400, "For force restart, only gracePeriod=0 is supported "
                  "for now", "virtualmachines/vm1/restart",
                  {"gracePeriodSeconds": 5})
    world.refused(400, "gracePeriod has to be greater or equal to 0",
                  "virtualmachines/vm1/restart", {"gracePeriodSeconds": -5})
    world.accepted("virtualmachines/vm1/restart", {"gracePeriodSeconds": 0})
    answer = world.client.request("GET", path)
    assert answer.code == 404 or \
        answer.json()["metadata"]["deletionGracePeriodSeconds"] == 1
    # Without a pod that runs there is nothing to remove.
    world.client.patch(namespaced(VMS, world.namespace, "vm1", "status"),
                       {"status": {"stateChangeRequests": None}})
    world.accepted("virtualmachines/vm1/restart", {"gracePeriodSeconds": 0})


def test_bodies_that_are_none_are_told_so(world):
    world.vm().vmi()
    for body in (b"{", b"[]", b"7", b"\xff"):
        answer = world.client.request(
            "PUT", world.path("virtualmachines/vm1/migrate"), body)
        assert answer.code == 400, answer
        assert answer.json()["message"].startswith(
            "Can not unmarshal Request body to struct, error: ")
    answer = world.client.request(
        "PUT", world.path("virtualmachines/vm1/migrate"), b"")
    assert answer.code == 202


class Agent(threading.Thread):
    """A node's agent that answers requests to pause: one machine's."""

    def __init__(self, api, path, failure=""):
        super().__init__(daemon=True)
        self.client, self.path, self.failure = \
            api.handler("node1"), path, failure
        self.over = threading.Event()
        self.carried_out = []

    def run(self):
        while not self.over.wait(0.02):
            self.look(self.client.get(self.path))

    def look(self, machine):
        notes = machine["metadata"].get("annotations", {})
        asked = notes.get("ferry.io/pause-request-id")
        if not asked or asked == notes.get("ferry.io/pause-answered"):
            return
        pause = notes["ferry.io/pause-requested"] == "true"
        conditions = [{"type": "Paused", "status": "True",
                       "reason": "PausedByUser"}] if pause else []
        self.carried_out.append(pause)
        answer = {"metadata": {"annotations": {
            "ferry.io/pause-answered": asked}}}
        if self.failure:
            answer["metadata"]["annotations"]["ferry.io/pause-failure"] = \
                self.failure
        else:
            answer["status"] = {"conditions": conditions}
        self.client.patch(self.path, answer)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join(DEADLINE)
        self.client.close()


def test_pausing_ends_when_the_machine_is_paused(world):
    world.vmi("vmi1")
    pause, unpause = (f"virtualmachineinstances/vmi1/{action}"
                      for action in ("pause", "unpause"))
    world.refused(409, conflict("vmi1", "VMI is not paused",
                                "virtualmachineinstance"), unpause)
    with Agent(world.api, namespaced(VMIS, world.namespace, "vmi1")) as agent:
        world.accepted(pause, code=200)
        paused = world.get_vmi("vmi1")["status"]["conditions"]
        assert paused[0]["type"] == "Paused"
        world.refused(409, conflict("vmi1", "VMI is already paused",
                                    "virtualmachineinstance"), pause)
        world.accepted(unpause, code=200)
        assert world.get_vmi("vmi1")["status"]["conditions"] == []
        assert agent.carried_out == [True, False]


def test_a_pause_that_fails_says_why(world):
    world.vmi("vmi1")
    path = namespaced(VMIS, world.namespace, "vmi1")
    with Agent(world.api, path, "the domain is gone"):
        world.refused(500, "Internal error occurred: the domain is gone",
                      "virtualmachineinstances/vmi1/pause")
    # The next try is not taken for the failed one.
    with Agent(world.api, path):
        world.accepted("virtualmachineinstances/vmi1/pause", code=200)


def test_a_pause_that_nobody_answers_is_withdrawn(world):
    world.vmi("vmi1")
    world.refused(500, "Internal error occurred: the node's agent did not "
                  "answer in time", "virtualmachineinstances/vmi1/pause")
    wait_for("the withdrawal", lambda: "ferry.io/pause-request-id" not in
             world.get_vmi("vmi1")["metadata"].get("annotations", {}))
    notes = world.get_vmi("vmi1")["metadata"].get("annotations", {})
    assert "ferry.io/pause-requested" not in notes


def test_what_moves_or_does_not_run_is_not_paused(world):
    kind = "virtualmachineinstance"
    path = "virtualmachineinstances/%s/pause"
    world.refused(404, f'{kind}.kubevirt.io "none" not found', path % "none")
    world.vmi("waits", phase="Scheduled")
    world.refused(409, conflict("waits", "VM is not running", kind),
                  path % "waits")
    world.refused(409, conflict("waits", "VMI is not running", kind),
                  "virtualmachineinstances/waits/unpause")
    world.vmi("moves", migrationState={"migrationUid": "u"})
    world.refused(409, conflict(
        "moves", "Cannot pause VM 'moves' because it is currently being "
        "migrated", kind), path % "moves")
    world.vm("shot", status={"snapshotInProgress": "s"}).vmi("shot")
    world.refused(409, conflict("shot", "VM snapshot is in progress"),
                  "virtualmachineinstances/shot/unpause")


@pytest.mark.parametrize("kind", ["virtualmachines",
                                  "virtualmachineinstances"])
def test_an_evacuation_is_cancelled(cluster, world, kind):
    what = f"{kind}/vm1/evacuate/cancel"
    world.vm().vmi()
    world.accepted(what, {"evacuationNodeName": "node1"}, code=200)
    mark = {"status": {"evacuationNodeName": "node1"}}
    path = namespaced(VMIS, world.namespace, "vm1")
    world.api.controller().patch(path, mark)
    # Only the mark that the client has seen.
    answer = world.put(what, {"evacuationNodeName": "node2"})
    assert answer.code == 500, answer
    assert world.get_vmi()["status"]["evacuationNodeName"] == "node1"
    cluster.kubectl("taint", "node", "node1", "kubevirt.io/drain:NoSchedule")
    try:
        world.refused(400, 'Node "node1" has NodeDrainTaintKey '
                      '"kubevirt.io/drain:NoSchedule"', what,
                      {"evacuationNodeName": "node1"})
    finally:
        cluster.kubectl("taint", "node", "node1",
                        "kubevirt.io/drain:NoSchedule-")
    world.accepted(what, {"evacuationNodeName": "node1", "dryRun": ["All"]},
                   code=200)
    assert world.get_vmi()["status"]["evacuationNodeName"] == "node1"
    world.accepted(what, {"evacuationNodeName": "node1"}, code=200)
    assert "evacuationNodeName" not in world.get_vmi()["status"]


def test_two_at_once_are_one_after_the_other(world):
    """Requests that meet are tried again; nothing is lost or overwritten."""
    world.vm(strategy="Manual")
    codes = []

    def start():
        client = world.api.client()
        codes.append(world.put("virtualmachines/vm1/start",
                               client=client).code)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert sorted(codes) == [202] + [500] * 7
    assert world.requests() == [{"action": "Start"}]


ROLES = [
    # role, subresources that it may use
    ("kubevirt.io:view", set()),
    ("kubevirt.io:edit", {"virtualmachines/vm1/start",
                          "virtualmachines/vm1/stop",
                          "virtualmachineinstances/vm1/pause"}),
    ("kubevirt.io:admin", {"virtualmachines/vm1/start",
                           "virtualmachines/vm1/stop",
                           "virtualmachineinstances/vm1/pause",
                           "virtualmachines/vm1/evacuate/cancel",
                           "virtualmachineinstances/vm1/evacuate/cancel"}),
    ("kubevirt.io:migrate", {"virtualmachines/vm1/migrate"}),
]
ALL = set().union(*(allowed for _, allowed in ROLES))


def bind(world, user, role):
    world.client.create(
        f"/apis/rbac.authorization.k8s.io/v1/namespaces/{world.namespace}/"
        "rolebindings", {
            "metadata": {"generateName": "test-"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                        "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io",
                          "kind": "User", "name": user}]})


@pytest.mark.parametrize("role,allowed", ROLES)
def test_roles_say_who_may(world, role, allowed):
    world.vm(strategy="Manual").vmi()
    bind(world, "anna", role)
    anna = world.api.client(**{"Impersonate-User": "anna"})
    for what in sorted(ALL):
        answer = world.put(what, {"dryRun": ["All"]}, client=anna)
        assert (answer.code == 403) == (what not in allowed), (what, answer)


@pytest.fixture
def proxy(cluster, api):
    """Whom ferry-api believes: the front proxy of the API server."""
    client = api.direct(os.path.join(cluster.dir, "pki/front-proxy-client.crt"),
                        os.path.join(cluster.dir, "pki/front-proxy-client.key"))
    yield client
    client.close()


def remote(user, *groups):
    return {"X-Remote-User": user, "X-Remote-Group": list(groups)}


def test_ferry_api_asks_for_itself_who_may(world, proxy):
    """What the API server has let through is asked again, for the one whom
    the front proxy names, and with groups and extra values."""
    world.vm(strategy="Manual")
    path = world.path("virtualmachines/vm1/start")
    answer = proxy.request("PUT", path, b"{}", remote("bert", "nobodies"))
    assert answer.code == 403
    assert answer.json()["message"] == (
        'virtualmachines.subresources.kubevirt.io "vm1" is forbidden: '
        'User "bert" cannot update resource "virtualmachines/start" in API '
        f'group "{GROUP}" in the namespace "{world.namespace}"')
    answer = proxy.request("PUT", path, b"{}",
                           remote("carl", "x", "system:masters"))
    assert answer.code == 202
    assert proxy.request("GET", path).code == 401
    assert proxy.request("GET", path, headers=remote(
        "carl", "system:masters")).code == 405


def test_permission_that_is_taken_away_ends_soon(world, proxy):
    world.vm(strategy="Manual")
    path = world.path("virtualmachines/vm1/start")
    body = json.dumps({"dryRun": ["All"]})

    def ask():
        return proxy.request("PUT", path, body, remote("dora")).code

    assert ask() == 403
    bind(world, "dora", "kubevirt.io:edit")
    wait_for("the permission", lambda: ask() == 202)
    bindings = f"/apis/rbac.authorization.k8s.io/v1/namespaces/" \
        f"{world.namespace}/rolebindings"
    world.client.delete(bindings)
    wait_for("its end", lambda: ask() == 403)


def test_nobody_else_is_believed(cluster, api, world, tmp_path):
    """Headers count only with the front proxy's certificate and name."""
    world.vm(strategy="Manual")
    path = world.path("virtualmachines/vm1/start")
    pki = os.path.join(cluster.dir, "pki")
    headers = remote("kubernetes-admin", "system:masters")
    impostors = [
        api.direct(),
        # A certificate of the cluster, but not of the front proxy's CA.
        api.direct(f"{pki}/apiserver-kubelet-client.crt",
                   f"{pki}/apiserver-kubelet-client.key"),
        # One of the right CA, of another name.
        api.direct(*signed(f"{pki}/front-proxy-ca", "somebody", tmp_path)),
        # One of the right name, of a CA of its own.
        api.direct(*signed(None, "front-proxy-client", tmp_path)),
    ]
    for client in impostors:
        answer = client.request("PUT", path, b"{}", headers)
        assert answer.code == 401, answer
        client.close()
    assert world.requests() == []


def signed(ca, name, directory):
    """Paths of a certificate and its key; self-signed without a CA."""
    key, cert = directory / f"{name}.key", directory / f"{name}.crt"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
               "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1",
               "-subj", f"/CN={name}", "-keyout", str(key), "-out", str(cert),
               "-addext", "extendedKeyUsage=clientAuth"]
    if ca:
        command += ["-CA", ca + ".crt", "-CAkey", ca + ".key"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL,
                   timeout=DEADLINE)
    return str(cert), str(key)


def test_headers_of_clients_do_not_reach_it(world):
    """The API server drops them, whoever sends them."""
    world.vm(strategy="Manual")
    eve = world.api.client(**{"Impersonate-User": "eve",
                              **remote("kubernetes-admin", "system:masters")})
    answer = world.put("virtualmachines/vm1/start", client=eve)
    assert answer.code == 403
    assert "eve" in answer.json()["message"]


@pytest.mark.parametrize("path", [
    "virtualmachines/vm1/none", "virtualmachines/vm1", "virtualmachines",
    "virtualmachines//migrate", "virtualmachines/../migrate",
    "virtualmachines/VM1/migrate", "virtualmachineinstances/vm1/migrate",
    "virtualmachines/vm1/migrate/more", "virtualmachines/vm%2f1/migrate"])
def test_paths_that_lead_nowhere_are_not_found(world, proxy, path):
    answer = proxy.request("PUT", world.path(path), b"{}",
                           remote("x", "system:masters"))
    assert answer.code == 404


def test_operators_can_say_whom_to_believe(cluster, api, tmp_path):
    """Options instead of the ConfigMap; any name of that CA, or some."""
    ca_cert, ca_key = signed(None, "my-ca", tmp_path)
    ours = signed(ca_cert[:-len(".crt")], "my-proxy", tmp_path)
    assert ca_key.endswith("my-ca.key")
    for names, code in ((["my-proxy"], 404), (["other"], 401), ([], 404)):
        options = [f"--requestheader-allowed-name={name}" for name in names]
        with Second(api, "--requestheader-client-ca", ca_cert,
                    *options) as second:
            client = kubeapi.Api(second.url, ca_file=api.file("ca.crt"),
                                 cert_file=ours[0], key_file=ours[1])
            wait_for("it", lambda c=client: c.request(
                "GET", "/readyz").code == 200)
            answer = client.request(
                "PUT", f"/apis/{GROUP}/v1/namespaces/default/virtualmachines/"
                "none/start", b"{}", remote("x", "system:masters"))
            client.close()
            assert answer.code == code, (names, answer)


class Second:
    """Another ferry-api of the same cluster, which it does not call."""

    def __init__(self, api, *options):
        self.api, self.options = api, options

    def __enter__(self):
        self.popen = subprocess.Popen(
            [FERRY_API, "serve", "--kubeconfig", self.api.kubeconfig,
             "--listen", f"{self.api.cluster.address}:0",
             "--cert", self.api.file("tls.crt"),
             "--key", self.api.file("tls.key"), *self.options],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            line = read_line(self.popen.stdout, DEADLINE)
            assert line, "ferry-api did not start"
        except BaseException:
            self.popen.kill()
            self.popen.wait(DEADLINE)
            raise
        self.url = f"https://{self.api.cluster.address}:" \
                   f"{json.loads(line)['port']}"
        return self

    def __exit__(self, *_):
        self.popen.terminate()
        assert self.popen.wait(DEADLINE) == 0
        self.popen.stdout.close()
