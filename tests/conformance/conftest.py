# SPDX-License-Identifier: Apache-2.0
"""What the conformance tests share.

The cluster is whatever the kubeconfig leads to. Tests keep to namespaces that
they made, and to cluster-wide objects with names that they made up; all of it
is removed at the end.
"""

import os
import tempfile

import pytest

from callbacks import Callbacks
from kubeapi import (PATCH_TYPES, Api, path_of, read_kubeconfig, wait_for,
                     wait_gone)
from objects import Kind, configmap, namespace, unique, widget_definition

OLD_WRITES = 2000  # so many until the first revision is forgotten
BOOKMARK_DEADLINE = 100  # seconds; one comes about every minute
VANISH_DEADLINE = 180  # of all namespaces together, at the end


def pytest_addoption(parser):
    group = parser.getgroup("conformance")
    group.addoption("--kubeconfig", default=os.environ.get("KUBECONFIG"),
                    help="the cluster; $KUBECONFIG")
    group.addoption("--callback-address", default="127.0.0.1",
                    help="where the API server finds this machine; tests of "
                         "webhooks and aggregation are skipped when it does "
                         "not")


def pytest_configure(config):
    config.addinivalue_line("markers", "first: runs before the others")
    config.addinivalue_line("markers", "last: runs after the others")


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: (item.get_closest_marker("first") is None,
                                 item.get_closest_marker("last") is not None))


@pytest.fixture(scope="session")
def access(request):
    """How to reach the cluster: what Api() takes."""
    path = request.config.getoption("--kubeconfig")
    assert path, "give --kubeconfig FILE or set KUBECONFIG"
    with tempfile.TemporaryDirectory(prefix="ferry-conformance-") as directory:
        yield read_kubeconfig(path, directory)


@pytest.fixture(scope="session")
def api(access):
    """The administrator's client."""
    client = Api(**access)
    yield client
    client.close()


@pytest.fixture
def clients(access, api):
    """Makes clients that are closed after the test."""
    made = []

    class Clients:
        @staticmethod
        def token(token):
            parts = {k: v for k, v in access.items()
                     if k in ("server", "ca_file", "insecure")}
            made.append(Api(token=token, **parts))
            return made[-1]

        @staticmethod
        def user(name, *groups):
            made.append(api.impersonating(name, *groups))
            return made[-1]

        @staticmethod
        def admin():
            made.append(Api(**access))
            return made[-1]

    yield Clients
    for client in made:
        client.close()


@pytest.fixture(scope="session")
def namespaces(api):
    """The namespaces that tests made; all must be gone at the end."""
    made = []
    yield made
    for name in made:
        wait_for(f"namespace {name} to go",
                 lambda name=name: api.request(
                     "GET", path_of("v1", "namespaces", name=name)
                 ).code == 404, VANISH_DEADLINE)


@pytest.fixture
def new_namespace(api, namespaces):
    """Makes namespaces, with what controllers put into each."""
    made = []

    def make(wait=True, **metadata):
        name = api.create(path_of("v1", "namespaces"),
                          namespace(**metadata))["metadata"]["name"]
        made.append(name)
        namespaces.append(name)
        if wait:
            wait_for(f"the service account of {name}", lambda: api.request(
                "GET", path_of("v1", "serviceaccounts", name, "default")
            ).code == 200)
        return name

    yield make
    for name in made:
        api.request("DELETE", path_of("v1", "namespaces", name=name))
        _let_go(api, path_of("v1", "configmaps", name))


def _let_go(api, path):
    """Takes the finalizers from what a test that failed left behind."""
    for item in api.get(path)["items"]:
        if item["metadata"].get("finalizers"):
            api.request("PATCH", f"{path}/{item['metadata']['name']}",
                        {"metadata": {"finalizers": None}}, headers={
                            "Content-Type": PATCH_TYPES["merge"]})


@pytest.fixture
def ns(new_namespace):
    """The name of a namespace of the test's own."""
    return new_namespace()


@pytest.fixture
def removed_later(api):
    """Given paths of cluster-wide objects, removes them after the test."""
    paths = []
    yield paths.append
    for path in reversed(paths):
        api.request("DELETE", path)
    for path in paths:
        wait_gone(api, path)


def establish(api, definition):
    """Creates a CustomResourceDefinition and waits until it is served."""
    made = api.create(path_of("apiextensions.k8s.io/v1",
                              "customresourcedefinitions"), definition)
    kind = Kind(made)

    def established():
        now = api.get(kind.definition_path)
        return any(c["type"] == "Established" and c["status"] == "True"
                   for c in now.get("status", {}).get("conditions") or ())

    wait_for(f"{kind.plural} to be established", established)
    for version in definition["spec"]["versions"]:
        path = kind.path(version=version["name"])
        wait_for(f"{path} to be served",
                 lambda path=path: api.request("GET", path).code == 200)
    return kind


@pytest.fixture(scope="session")
def widgets(api):
    """A kind with schema, defaults, status, columns and two versions."""
    kind = establish(api, widget_definition(
        f"c{unique()}.conformance.ferry.io"))
    yield kind
    api.delete(kind.definition_path)
    wait_gone(api, kind.definition_path)


@pytest.fixture
def define(api):
    """Makes further kinds, which are removed after the test."""
    made = []

    def make(definition):
        made.append(establish(api, definition))
        return made[-1]

    yield make
    for kind in made:
        api.request("DELETE", kind.definition_path)
        wait_gone(api, kind.definition_path)


@pytest.fixture(scope="session")
def server_version(api):
    """(1, 26) and the like."""
    version = api.get("/version")
    return int(version["major"]), int(version["minor"].rstrip("+"))


@pytest.fixture(scope="session")
def callback_server(request):
    """An HTTPS server in this process, for webhooks and aggregated APIs."""
    with Callbacks(request.config.getoption("--callback-address")) as server:
        yield server


@pytest.fixture(scope="session")
def callbacks_reachable(api, namespaces, callback_server):
    """Why the API server cannot call the test's, or None."""
    name = api.create(path_of("v1", "namespaces"),
                      namespace())["metadata"]["name"]
    namespaces.append(name)
    hooks = path_of("admissionregistration.k8s.io/v1",
                    "validatingwebhookconfigurations")
    hook = callback_server.hook("probe", name, path="/allow",
                                resources=["configmaps"], timeout=5)
    api.create(hooks, callback_server.configuration(
        "ValidatingWebhookConfiguration", name, hook))
    dry = path_of("v1", "configmaps", name, dryRun="All")
    probe = {"metadata": {"name": "probe"}}
    try:
        def answered():
            answer = api.request("POST", dry, probe)
            return answer if answer.code >= 500 or callback_server.calls(
                "/allow") else None
        answer = wait_for("the webhook to be called", answered)
        return None if answer.code == 201 else answer.json()["message"]
    finally:
        api.delete(f"{hooks}/{name}")
        api.request("DELETE", path_of("v1", "namespaces", name=name))


@pytest.fixture
def callbacks(callback_server, callbacks_reachable):
    """The HTTPS server, if the API server reaches it."""
    if callbacks_reachable:
        pytest.skip(f"the API server does not reach this machine at "
                    f"{callback_server.address}: {callbacks_reachable}")
    callback_server.reset()
    return callback_server


@pytest.fixture(scope="session")
def long_watch(api, namespaces):
    """A watch with bookmarks, of an object that never changes."""
    name = api.create(path_of("v1", "namespaces"),
                      namespace())["metadata"]["name"]
    namespaces.append(name)
    made = api.create(path_of("v1", "configmaps", name), configmap("a"))
    start = made["metadata"]["resourceVersion"]
    with api.watch(path_of("v1", "configmaps", name, resourceVersion=start,
                           allowWatchBookmarks="true",
                           fieldSelector="metadata.name=a")) as watch:
        watch.start = int(start)
        watch.connection.sock.settimeout(BOOKMARK_DEADLINE)
        yield watch
    api.request("DELETE", path_of("v1", "namespaces", name=name))


@pytest.fixture
def forgotten(api, ns):
    """A resourceVersion that is too old for any watch."""
    path = path_of("v1", "configmaps", ns, "busy")
    api.create(path_of("v1", "configmaps", ns), {"metadata": {"name": "busy"}})
    for number in range(OLD_WRITES):
        if number % 100 == 0:
            with api.watch(path_of("v1", "configmaps", ns, resourceVersion=1,
                                   timeoutSeconds=1)) as watch:
                first = watch.next()
            if first and first["type"] == "ERROR":
                return 1
        api.patch(path, {"data": {"n": str(number)}})
    pytest.skip(f"{OLD_WRITES} writes later the server still knows its first "
                f"revision")
