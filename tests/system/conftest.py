# SPDX-License-Identifier: Apache-2.0
"""What the system tests share.

Every test that runs a guest gets the lab that the test before left, because
booting takes longer than migrating; after a failure it is built anew, so that
one failure cannot cause another.
"""

import os
import uuid

import pytest

from apis import Api
from clusters import Cluster
from controllers import Controllers
import kubernetes
from lab import Lab
from played import Played
from played_objects import kubevirt
from proxies import Bench
from trips import KUBEVIRTS, changed

PEER_TIMEOUT = 5  # seconds; the proxies' default would make tests slow
LOG_SHOWN = 40000  # bytes of a cluster's log, where a test fails
# Fixtures whose logs() are shown where a test fails.
WITH_LOGS = ("apis", "bench", "controllers")
# Files that take minutes, since guests do: begun first, so that at the end no
# process has to wait for another's.
LONG = ("test_vm_", "test_launcher_", "test_operations", "test_migration",
        "test_controller_")


def pytest_collection_modifyitems(items):
    """Long files first; the order in a file stays."""
    def rank(item):
        name = os.path.basename(str(item.fspath))
        return next((number for number, prefix in enumerate(LONG)
                     if name.startswith(prefix)), len(LONG))

    items.sort(key=rank)


class _Shared:
    """The lab and the guest that later tests may use."""

    def __init__(self):
        self.lab = None
        self.guest = None

    def close(self):
        lab, self.lab, self.guest = self.lab, None, None
        if lab:
            lab.close()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    for name in WITH_LOGS:
        used = item.funcargs.get(name)
        if report.failed and used is not None:
            report.sections.append((name, used.logs()))
    cluster_used = item.funcargs.get("cluster") or getattr(
        item.funcargs.get("kills"), "cluster", None)
    if report.failed and cluster_used is not None:
        report.sections.append(("ferry-cluster",
                                cluster_used.log()[-LOG_SHOWN:]))
    api_used = item.funcargs.get("api")
    if report.failed and isinstance(api_used, Api):
        report.sections.append(("ferry-api", api_used.log()[-LOG_SHOWN:]))
    site_used = item.funcargs.get("site")
    if report.failed and site_used is not None:
        report.sections.append(("ferry-kubelet", site_used.logs()))
    shared = getattr(item, "funcargs", {}).get("shared_lab")
    if not report.failed or shared is None:
        return
    if shared.lab:
        report.sections.append(("lab", shared.lab.logs()))
    item.lab_failed = True


@pytest.fixture(scope="module")
def shared_lab():
    shared = _Shared()
    yield shared
    shared.close()


@pytest.fixture
def lab(request, shared_lab):
    """Two nodes, both with a running ferry-proxy."""
    assert os.geteuid() == 0, "these tests need root: namespaces and libvirtd"
    if shared_lab.lab is None:
        shared_lab.lab = Lab()
        shared_lab.lab.make_certificates()
    for node in (shared_lab.lab.a, shared_lab.lab.b):
        if not node.proxy or not node.proxy.running():
            shared_lab.lab.start_proxy(node, "--peer-timeout",
                                       f"{PEER_TIMEOUT}s")
    yield shared_lab.lab
    if getattr(request.node, "lab_failed", False):
        shared_lab.close()


@pytest.fixture
def guest(request, lab, shared_lab):
    """A guest that runs somewhere; unharmed by the test, or it fails.

    It rewrites 8 MiB/s of 32 MiB, so that a migration with less bandwidth than
    that goes on for as long as a test wants.
    """
    if shared_lab.guest is None:
        shared_lab.guest = lab.start_guest(lab.a, dirty="32,2000")
    yield shared_lab.guest
    if not getattr(request.node, "lab_failed", False):
        shared_lab.guest.check()


@pytest.fixture
def disk_guest(request, lab, shared_lab):
    """A guest with a disk that it writes to; for one test."""
    if shared_lab.guest:
        shared_lab.guest.destroy()
        shared_lab.guest = None
    made = lab.start_guest(lab.a, dirty="8,200", disk_mib=32)
    yield made
    if not getattr(request.node, "lab_failed", False):
        made.check()
    made.destroy()


@pytest.fixture
def bench():
    """Certificates, directories and processes of one test, without guests."""
    assert os.geteuid() == 0, "these tests need root: users and sandboxes"
    made = Bench()
    yield made
    made.close()


@pytest.fixture(scope="module")
def cluster(request):
    """A ferry-cluster for the tests of one file.

    Its options are the file's CLUSTER_OPTIONS. Nodes need no kubelet that
    renews their lease unless these say something else. With FERRY_KUBERNETES
    it is Kubernetes itself, which has no such options.
    """
    options = getattr(request.module, "CLUSTER_OPTIONS",
                      ("--node-grace", "1h"))
    with kubernetes.Kubernetes() if kubernetes.PROGRAMS \
            else Cluster(*options) as made:
        yield made


@pytest.fixture(scope="module")
def api(cluster):
    """A ferry-api beside the cluster of the file, used by it."""
    with Api(cluster) as made:
        yield made


@pytest.fixture
def namespace(cluster):
    """A namespace that one test has for itself."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    cluster.api().create("/api/v1/namespaces", {
        "apiVersion": "v1", "kind": "Namespace", "metadata": {
            "name": name,
            # Kubernetes does it itself since 1.21.
            "labels": {"kubernetes.io/metadata.name": name}}})
    cluster.wait_namespace(name)
    return name


@pytest.fixture(scope="module")
def played(cluster, request):
    """The nodes that the tests of one file play: the file's NODES."""
    with Played(cluster, *request.module.NODES) as made:
        yield made


@pytest.fixture(scope="module")
def controllers(cluster, request):
    """A ferry-controller for the tests of one file, which leads.

    The file's MIGRATIONS are what the KubeVirt object says about migrations;
    with FAULTS there is a proxy in between that injects them.
    """
    with Controllers(cluster, faults=getattr(request.module, "FAULTS",
                                             False)) as made:
        cluster.api().create(KUBEVIRTS, kubevirt(request.module.MIGRATIONS))
        made.leader()
        yield made


@pytest.fixture
def machine(controllers, played, namespace):
    """A machine that runs; what a test holds of it is released."""
    del controllers
    made = played.start(namespace, "vm")
    yield made
    for step in [s for s, of in list(played.held) if of == made]:
        played.release(step, made)


@pytest.fixture
def configure(cluster, controllers):
    """Changes the KubeVirt object for one test."""
    del controllers
    with changed(cluster.api()) as change:
        yield change
