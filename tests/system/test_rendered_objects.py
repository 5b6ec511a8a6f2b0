# SPDX-License-Identifier: Apache-2.0
"""What the controller renders is what an API server takes.

The unit tests compare rendered objects with files; here the same files go to a
server, which refuses what it does not know. It takes them as they are: nothing
is dropped, nothing was written in another form.
"""

import glob
import json
import os

import pytest

from kubeapi import path_of

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir,
                    "data", "render")

PLURALS = {"Pod": "pods", "VirtualMachineInstance": "virtualmachineinstances"}


def load(name):
    with open(os.path.join(DATA, f"{name}.json"), encoding="utf-8") as data:
        return json.load(data)


def rendered():
    """The names of files with objects; others have patches and errors."""
    names = sorted(os.path.basename(path)[:-len(".json")]
                   for path in glob.glob(os.path.join(DATA, "*.out.json")))
    return [name for name in names if "kind" in load(name)]


def contains(value, part):
    """Whether part is in value, which may have more members."""
    if isinstance(part, dict):
        return isinstance(value, dict) and all(
            key in value and contains(value[key], inner)
            for key, inner in part.items())
    if isinstance(part, list):
        return isinstance(value, list) and len(value) == len(part) and all(
            contains(one, other) for one, other in zip(value, part))
    return value == part


@pytest.fixture(scope="module", name="api")
def api_(cluster):
    api = cluster.api()
    api.create("/apis/scheduling.k8s.io/v1/priorityclasses", {
        "metadata": {"name": "high"}, "value": 1000})
    return api


@pytest.mark.parametrize("name", rendered())
def test_the_server_takes_a_rendered_object_as_it_is(api, name):
    wanted = load(name)
    path = path_of(wanted["apiVersion"], PLURALS[wanted["kind"]], "default",
                   dryRun="All", fieldValidation="Strict")
    answer = api.request("POST", path, wanted)
    assert answer.code == 201, answer
    assert not answer.warnings()
    got = answer.json()
    # The server's own part; a default toleration may stand behind others.
    tolerations = wanted["spec"].pop("tolerations", [])
    assert got["spec"].get("tolerations", [])[:len(tolerations)] == \
        tolerations
    assert contains(got, wanted)


@pytest.mark.parametrize("name", ("handoff-first", "handoff-again"))
def test_a_handoff_is_taken_once(api, name):
    machine = load(f"{name}.in")["vmi"]
    machine["metadata"]["name"] = name
    del machine["metadata"]["uid"]
    path = path_of("kubevirt.io/v1", "virtualmachineinstances", "default")
    api.create(path, machine)
    patch = load(f"{name}.out")
    got = api.patch(f"{path}/{name}", patch, kind="json")
    assert got["status"]["migrationState"] == patch[1]["value"]
    assert got["metadata"]["labels"] == patch[3]["value"]
    # Who comes second finds that it is no longer as he saw it.
    again = api.request("PATCH", f"{path}/{name}", patch, headers={
        "Content-Type": "application/json-patch+json"})
    assert again.code == 422, again


def test_the_digest_that_a_target_needs_stays_in_the_status(api):
    pod = load("pod-minimal.out")
    del pod["metadata"]["ownerReferences"]
    path = path_of("v1", "pods", "default")
    name = api.create(path, pod)["metadata"]["name"]
    mounted = {"name": "root", "mountPath": "/root", "readOnly": True,
               "volumeStatus": {"image": {"imageRef": "sha256:" + "5e" * 32}}}
    container = {"name": "compute", "image": "i", "imageID": "i",
                 "ready": True, "restartCount": 0, "volumeMounts": [mounted]}
    got = api.patch(f"{path}/{name}/status",
                    {"status": {"containerStatuses": [container]}})
    assert got["status"]["containerStatuses"][0]["volumeMounts"] == [mounted]
    api.delete(f"{path}/{name}")
