# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes of a test's own instead of a ferry-cluster.

FERRY_KUBERNETES names a directory with kube-apiserver, kube-controller-manager
and kube-scheduler; etcd is the system's. `./run kubernetes` makes one and runs
the tests in a network namespace where ADDRESS is: Kubernetes takes no address
of 127.0.0.0/8 for a service, and what it asks has to be somewhere.

There is no kubelet: tests that use this play the nodes.
"""

import base64
import contextlib
import itertools
import json
import os
import subprocess
import tempfile

from clusters import REPOSITORY, STOP_DEADLINE, Cluster, hold_port
from kubeapi import wait_for

PROGRAMS = os.environ.get("FERRY_KUBERNETES")
ADDRESS = "192.0.2.1"
CRDS = os.path.join(REPOSITORY, "deploy", "crds")
ROLES = os.path.join(REPOSITORY, "deploy", "rbac")
# Of CDI and Multus: deploy/crds leaves them to these.
FOREIGN_CRDS = ("cdi.kubevirt.io_storageprofiles.yaml",
                "k8s.cni.cncf.io_network-attachment-definitions.yaml")
NODE_GRACE = "1h"  # nodes have no kubelet that renews their lease
START_DEADLINE = 180
PROBE = {"metadata": {"name": "probe"},
         "spec": {"containers": [{"name": "probe", "image": "none"}]}}

_KUBECONFIG = """apiVersion: v1
kind: Config
clusters:
- name: it
  cluster:
    server: {url}
    certificate-authority-data: {ca}
users:
- name: it
  user:
    client-certificate-data: {cert}
    client-key-data: {key}
contexts:
- name: it
  context: {{cluster: it, user: it}}
current-context: it
"""


# Lets it show a certificate when it asks webhooks, as ferry-cluster does.
_ADMISSION = """apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: MutatingAdmissionWebhook
  configuration: &asking
    apiVersion: apiserver.config.k8s.io/v1
    kind: WebhookAdmissionConfiguration
    kubeConfigFile: {file}
- name: ValidatingAdmissionWebhook
  configuration: *asking
"""


class Pki:
    """Authorities and certificates in a directory; names are kubeadm's."""

    def __init__(self, directory):
        self.dir = directory
        os.mkdir(directory)
        for name in ("ca", "front-proxy-ca"):
            self.openssl("req", "-x509", *self.new_key(name), "-subj",
                         f"/CN={name}", "-out", self.file(f"{name}.crt"))

    def file(self, name):
        return os.path.join(self.dir, name)

    def new_key(self, name):
        return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                "-nodes", "-keyout", self.file(f"{name}.key"))

    @staticmethod
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def sign(self, name, subject, extension="extendedKeyUsage=clientAuth",
             by="ca"):
        self.openssl("req", *self.new_key(name), "-subj", subject,
                     "-out", self.file(f"{name}.csr"))
        with open(self.file(f"{name}.ext"), "w", encoding="utf-8") as file:
            file.write(extension + "\n")
        self.openssl("x509", "-req", "-in", self.file(f"{name}.csr"),
                     "-CA", self.file(f"{by}.crt"),
                     "-CAkey", self.file(f"{by}.key"), "-CAcreateserial",
                     "-extfile", self.file(f"{name}.ext"),
                     "-out", self.file(f"{name}.crt"))

    def base64(self, name):
        with open(self.file(name), "rb") as file:
            return base64.b64encode(file.read()).decode()


class Kubernetes(Cluster):
    """The programs of Kubernetes, and Ferry's kinds in them."""

    address = ADDRESS

    def __init__(self):
        self.scratch = tempfile.mkdtemp(prefix="ferry-kubernetes-")
        self.apis = []
        self.processes = []
        self.users = itertools.count()
        self.places = [hold_port(ADDRESS) for _ in range(3)]
        self.port, self.etcd, self.etcd_peer = (
            place.getsockname()[1] for place in self.places)
        self.url = f"https://{ADDRESS}:{self.port}"
        self.log_path = os.path.join(self.scratch, "kube-apiserver.log")
        self.dir = self.scratch
        self.pki = Pki(os.path.join(self.dir, "pki"))
        try:
            self.kubeconfig = self.user_kubeconfig("admin", "system:masters")
            self.start()
            self.install_kinds()
        except BaseException:
            self.close()
            raise

    def start(self):
        self.make_credentials()
        self.start_etcd()
        self.start_apiserver()
        wait_for("kube-apiserver", self.is_ready, START_DEADLINE)
        self.start_managers()
        self.wait_namespace("default")

    def wait_namespace(self, name):
        pods = f"/api/v1/namespaces/{name}/pods?dryRun=All"
        client = self.api()
        wait_for(f"pods to be let into {name}", lambda: client.request(
            "POST", pods, PROBE).code == 201, START_DEADLINE)

    def make_credentials(self):
        self.pki.sign("apiserver", "/CN=kube-apiserver",
                      f"subjectAltName=IP:{ADDRESS}")
        self.pki.sign("apiserver-kubelet-client",
                      "/O=system:masters/CN=kube-apiserver-kubelet-client")
        self.pki.sign("front-proxy-client", "/CN=front-proxy-client",
                      by="front-proxy-ca")
        account = self.pki.file("sa.key")
        self.pki.openssl("genrsa", "-out", account, "2048")
        self.pki.openssl("rsa", "-in", account, "-pubout", "-out",
                         self.pki.file("sa.pub"))

    def write(self, name, text):
        path = os.path.join(self.scratch, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def write_admission(self):
        asking = self.write("webhooks.kubeconfig", json.dumps({
            "apiVersion": "v1", "kind": "Config", "users": [{
                "name": "*", "user": {
                    "client-certificate": self.pki.file(
                        "front-proxy-client.crt"),
                    "client-key": self.pki.file("front-proxy-client.key")}}]}))
        return self.write("admission.yaml", _ADMISSION.format(file=asking))

    def run(self, program, *arguments):
        """Starts a program, with a log that has its name."""
        name = os.path.basename(program)
        with open(os.path.join(self.scratch, f"{name}.log"), "wb") as log:
            self.processes.append(subprocess.Popen(
                [program, *arguments], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, cwd=self.scratch))

    def start_etcd(self):
        client = f"http://{ADDRESS}:{self.etcd}"
        self.run("/usr/bin/etcd", "--data-dir", "etcd",
                 "--listen-client-urls", client,
                 "--advertise-client-urls", client, "--listen-peer-urls",
                 f"http://{ADDRESS}:{self.etcd_peer}", "--log-level", "warn")

    def start_apiserver(self):
        file = self.pki.file
        self.run(os.path.join(PROGRAMS, "kube-apiserver"),
                 f"--etcd-servers=http://{ADDRESS}:{self.etcd}",
                 f"--bind-address={ADDRESS}", f"--secure-port={self.port}",
                 f"--advertise-address={ADDRESS}",
                 f"--tls-cert-file={file('apiserver.crt')}",
                 f"--tls-private-key-file={file('apiserver.key')}",
                 f"--client-ca-file={file('ca.crt')}",
                 "--authorization-mode=Node,RBAC",
                 "--enable-admission-plugins=NodeRestriction",
                 "--service-cluster-ip-range=198.51.100.0/24",
                 "--service-account-issuer=https://kubernetes.default.svc",
                 f"--service-account-key-file={file('sa.pub')}",
                 f"--service-account-signing-key-file={file('sa.key')}",
                 "--requestheader-client-ca-file="
                 f"{file('front-proxy-ca.crt')}",
                 "--requestheader-allowed-names=front-proxy-client",
                 "--requestheader-username-headers=X-Remote-User",
                 "--requestheader-group-headers=X-Remote-Group",
                 "--requestheader-extra-headers-prefix=X-Remote-Extra-",
                 f"--proxy-client-cert-file={file('front-proxy-client.crt')}",
                 f"--proxy-client-key-file={file('front-proxy-client.key')}",
                 f"--admission-control-config-file={self.write_admission()}",
                 "--enable-aggregator-routing", "--allow-privileged")

    def is_ready(self):
        for process in self.processes:
            assert process.poll() is None, \
                f"{process.args[0]} ended:\n{self.log()}"
        return self.kubectl_raw("get", "--raw", "/readyz").returncode == 0

    def start_managers(self):
        manager = self.user_kubeconfig("system:kube-controller-manager")
        scheduler = self.user_kubeconfig("system:kube-scheduler")
        self.run(os.path.join(PROGRAMS, "kube-controller-manager"),
                 f"--kubeconfig={manager}",
                 f"--authentication-kubeconfig={manager}",
                 f"--authorization-kubeconfig={manager}",
                 "--service-account-private-key-file="
                 f"{self.pki.file('sa.key')}",
                 f"--root-ca-file={self.pki.file('ca.crt')}",
                 "--use-service-account-credentials", "--leader-elect=false",
                 f"--node-monitor-grace-period={NODE_GRACE}",
                 "--secure-port=0")
        self.run(os.path.join(PROGRAMS, "kube-scheduler"),
                 f"--kubeconfig={scheduler}",
                 f"--authentication-kubeconfig={scheduler}",
                 f"--authorization-kubeconfig={scheduler}",
                 "--leader-elect=false", "--secure-port=0")

    def install_kinds(self):
        foreign = [f"-f{os.path.join(CRDS, name)}" for name in FOREIGN_CRDS]
        self.kubectl("apply", "-k", CRDS)
        self.kubectl("apply", *foreign)
        self.kubectl("apply", "-f", ROLES)
        self.kubectl("wait", "--for=condition=Established", "crd", "--all")

    def user_kubeconfig(self, user, *groups):
        name = f"user{next(self.users)}"
        self.pki.sign(name, "".join(f"/O={g}" for g in groups) + f"/CN={user}")
        return self.write(f"{name}.kubeconfig", _KUBECONFIG.format(
            url=self.url, ca=self.pki.base64("ca.crt"),
            cert=self.pki.base64(f"{name}.crt"),
            key=self.pki.base64(f"{name}.key")))

    def stop(self):
        for process in reversed(self.processes):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(STOP_DEADLINE)
            if process.poll() is None:
                process.kill()
                process.wait(STOP_DEADLINE)
        self.processes.clear()

    def close(self):
        self.stop()
        for place in self.places:
            place.close()
        super().close()
