# SPDX-License-Identifier: Apache-2.0
"""A ferry-api of a test's own, beside its ferry-cluster.

    with Cluster() as cluster, Api(cluster) as api:
        api.handler("node1").patch(...)

It runs as the service account kubevirt-api with a certificate of its own and
is installed with what `ferry-api manifests` prints. When the constructor
returns, admission answers and the subresources are there.

The status of a VirtualMachineInstance is Ferry's own: what the administrator
writes to it is left out, as in KubeVirt. handler() and controller() are clients
that may.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile

from clusters import hold_port  # and puts kubeapi on the path
import kubeapi
from kubeapi import wait_for
from lines import read_line
from proxies import BUILD

FERRY_API = os.path.join(BUILD, "src", "webhook", "ferry-api")
NAMESPACE = "kubevirt"
ACCOUNT = "system:serviceaccount:" + NAMESPACE + ":"
ACCOUNT_GROUPS = ("system:serviceaccounts",
                  "system:serviceaccounts:" + NAMESPACE,
                  "system:authenticated")
SUBRESOURCES = "/apis/subresources.kubevirt.io/v1"
NODE_EXTRA = "Impersonate-Extra-Authentication.kubernetes.io%2fnode-Name"
STOP_DEADLINE = 60


class Api:
    """A running ferry-api that a cluster uses."""

    def __init__(self, cluster, *options):
        self.cluster = cluster
        self.options = options
        self.scratch = tempfile.mkdtemp(prefix="ferry-api-")
        self.log_path = os.path.join(self.scratch, "log")
        self.popen = None
        self.place = hold_port(cluster.address)
        self.port = self.place.getsockname()[1]
        self.at = f"{cluster.address}:{self.port}"
        self.clients = []
        try:
            self.make_certificate()
            self.kubeconfig = cluster.user_kubeconfig(
                ACCOUNT + "kubevirt-api", *ACCOUNT_GROUPS)
            self.start()
            self.install()
        except BaseException:
            self.close()
            raise

    def file(self, name):
        return os.path.join(self.scratch, name)

    def make_certificate(self):
        """A new certificate, and with it a new CA."""
        subprocess.run([FERRY_API, "certificate", "--name",
                        self.cluster.address, self.scratch], check=True)

    def start(self):
        """Starts it, again or for the first time, always on its port."""
        with open(self.log_path, "ab") as log:
            self.popen = subprocess.Popen(
                [FERRY_API, "serve", "--kubeconfig", self.kubeconfig,
                 "--listen", self.at, "--cert",
                 self.file("tls.crt"), "--key", self.file("tls.key"),
                 "--log-format", "json", *self.options],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        line = read_line(self.popen.stdout)
        assert line, f"ferry-api did not start:\n{self.log()}"
        assert json.loads(line)["port"] == self.port
        return self

    def manifests(self, *options):
        """What `ferry-api manifests` prints for this server."""
        return subprocess.run(
            [FERRY_API, "manifests", "--url", f"https://{self.at}",
             "--ca", self.file("ca.crt"), *options],
            check=True, stdout=subprocess.PIPE, text=True).stdout

    def install(self):
        """Makes the cluster call it, and waits until it does."""
        self.cluster.kubectl("apply", "-f", "-", stdin=self.manifests())
        self.wait_ready()

    def wait_ready(self):
        """Ready, its webhooks asked, and its subresources found."""
        direct, admin = self.direct(), self.client()
        wait_for("ferry-api",
                 lambda: direct.request("GET", "/readyz").code == 200)
        wait_for("its webhooks", lambda: self.denies(admin))
        for version in ("v1", "v1alpha3"):
            path = f"/apis/subresources.kubevirt.io/{version}"
            wait_for(path, lambda p=path: admin.request("GET", p).code == 200)

    @staticmethod
    def denies(admin):
        """A migration of nothing is refused by ferry-api alone."""
        answer = admin.request(
            "POST", "/apis/kubevirt.io/v1/namespaces/default/"
            "virtualmachineinstancemigrations?dryRun=All",
            {"apiVersion": "kubevirt.io/v1",
             "kind": "VirtualMachineInstanceMigration",
             "metadata": {"name": "nothing"}, "spec": {"vmiName": "nothing"}})
        return "does not exist" in answer.text()

    def direct(self, cert=None, key=None):
        """A client of the server itself, with a certificate or without."""
        client = kubeapi.Api(
            f"https://{self.at}", ca_file=self.file("ca.crt"),
            cert_file=cert, key_file=key)
        self.clients.append(client)
        return client

    def client(self, **headers):
        """The administrator, or whom the headers say."""
        client = self.cluster.api()
        client.own_headers = headers
        return client

    def account(self, name, **more):
        """One of Ferry's own service accounts."""
        return self.client(**{
            "Impersonate-User": ACCOUNT + name,
            "Impersonate-Group": [*ACCOUNT_GROUPS, "system:masters"], **more})

    def controller(self):
        return self.account("kubevirt-controller")

    def handler(self, node):
        """The agent of a node."""
        return self.account("kubevirt-handler", **{NODE_EXTRA: node})

    def metrics(self):
        """Names with labels, as they are written, to values."""
        text = self.direct().request("GET", "/metrics").text()
        lines = [line for line in text.splitlines()
                 if line and not line.startswith("#")]
        return {name: float(value) for name, value in
                (line.rsplit(" ", 1) for line in lines)}

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def stop(self):
        """As an operator would; its exit status."""
        self.popen.send_signal(signal.SIGTERM)
        code = self.popen.wait(STOP_DEADLINE)
        self.popen.stdout.close()
        return code

    def kill(self):
        """As a crash would."""
        self.popen.kill()
        self.popen.wait(STOP_DEADLINE)
        self.popen.stdout.close()

    def close(self):
        for client in self.clients:
            client.close()
        if self.popen and self.popen.poll() is None:
            self.kill()
        self.place.close()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
