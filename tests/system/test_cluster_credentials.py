# SPDX-License-Identifier: Apache-2.0
"""Credentials: certificates, tokens, and what is none of them."""

import base64
import json
import os
import subprocess
import tempfile

import pytest

from clusters import Cluster
from kubeapi import Api, wait_for

TOKENS = ('adminsecret,ada,u1,"system:masters"\n'
          'plainsecret,paul,u2\n'
          'viewsecret,vera,u3,"viewers,others"\n')


@pytest.fixture(scope="module", name="cluster")
def cluster_():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "tokens")
        with open(path, "w", encoding="utf-8") as file:
            file.write(TOKENS)
        with Cluster("--token-file", path) as cluster:
            cluster.token_file = path
            yield cluster


def whoami(api):
    return api.create("/apis/authentication.k8s.io/v1/selfsubjectreviews", {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "SelfSubjectReview"})["status"]["userInfo"]


def unauthorized(api):
    status = api.refuse(401, "Unauthorized", "GET", "/api/v1/namespaces")
    assert status["message"] == "Unauthorized"


def test_a_certificate_names_user_and_groups(cluster):
    api = cluster.api(cluster.user_kubeconfig("nora", "g1", "g2"))
    assert whoami(api) == {"username": "nora", "groups": [
        "g1", "g2", "system:authenticated"]}


def test_the_token_file(cluster):
    assert whoami(cluster.api(token="viewsecret")) == {
        "username": "vera", "uid": "u3",
        "groups": ["viewers", "others", "system:authenticated"]}
    cluster.api(token="adminsecret").get("/api/v1/nodes")
    cluster.api(token="plainsecret").refuse(403, "Forbidden", "GET",
                                            "/api/v1/nodes")
    with open(cluster.token_file, "a", encoding="utf-8") as file:
        file.write("newsecret,nina,u4\n")
    api = cluster.api(token="newsecret")
    wait_for("the file to be read again",
             lambda: api.request("GET", "/version").code == 200)
    assert whoami(api)["username"] == "nina"


def request_token(cluster, account, **spec):
    return cluster.api().create(
        f"/api/v1/namespaces/default/serviceaccounts/{account}/token",
        {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
         "spec": spec})["status"]["token"]


def make_account(cluster, name):
    cluster.api().create(
        "/api/v1/namespaces/default/serviceaccounts",
        {"apiVersion": "v1", "kind": "ServiceAccount",
         "metadata": {"name": name}})


def test_tokens_of_service_accounts(cluster):
    make_account(cluster, "robot")
    token = request_token(cluster, "robot")
    me = whoami(cluster.api(token=token))
    assert me["username"] == "system:serviceaccount:default:robot"
    assert me["groups"] == ["system:serviceaccounts",
                            "system:serviceaccounts:default",
                            "system:authenticated"]
    # Another audience: not for this server.
    unauthorized(cluster.api(token=request_token(
        cluster, "robot", audiences=["elsewhere"])))
    # The account goes, and with it what its tokens are good for.
    admin = cluster.api()
    admin.delete("/api/v1/namespaces/default/serviceaccounts/robot")
    unauthorized(cluster.api(token=token))
    # One of the same name is somebody else.
    make_account(cluster, "robot")
    unauthorized(cluster.api(token=token))


def tampered(token):
    """The same token for another account, with the old signature."""
    head, claims, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(claims + "=="))
    claims["sub"] = "system:serviceaccount:kube-system:default"
    claims = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode()
    return ".".join((head, claims.rstrip("="), signature))


def unsigned(token):
    head = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    return ".".join((head, token.split(".")[1], ""))


def test_bad_tokens_are_nobody(cluster):
    make_account(cluster, "forged")
    token = request_token(cluster, "forged")
    whoami(cluster.api(token=token))
    for bad in ("nonsense", "a.b.c", token[:-4], token + "A", tampered(token),
                unsigned(token), ".", "..", "x" * 8000):
        unauthorized(cluster.api(token=bad))


def test_no_credentials_are_nobody(cluster):
    api = cluster.api(anonymous=True)
    unauthorized(api)
    for path in ("/version", "/readyz", "/api", "/apis/kubevirt.io/v1"):
        api.refuse(401, "Unauthorized", "GET", path)
    for value in ("Basic YTpi", "Bearer", "Bearer ", "bearer", "Digest x"):
        api.refuse(401, "Unauthorized", "GET", "/version",
                   headers={"Authorization": value})


def openssl_cert(directory, ca, days="1", subject="/O=system:masters/CN=x",
                 usage="clientAuth"):
    """A client certificate that the CA in this directory has signed."""
    cert, key, request, extensions = (
        os.path.join(directory, f"client.{end}")
        for end in ("crt", "key", "csr", "ext"))
    with open(extensions, "w", encoding="utf-8") as file:
        file.write("basicConstraints=critical,CA:FALSE\n"
                   f"extendedKeyUsage={usage}\n")
    for command in (
            ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-keyout", key, "-out", request, "-subj", subject],
            ["x509", "-req", "-in", request, "-CA", f"{ca}/ca.crt", "-CAkey",
             f"{ca}/ca.key", "-days", days, "-extfile", extensions, "-out",
             cert]):
        subprocess.run(["openssl", *command], check=True, capture_output=True)
    return cert, key


@pytest.fixture(scope="module", name="foreign")
def foreign_():
    """A CA with the name of the cluster's, and another key."""
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-keyout",
             f"{directory}/ca.key", "-out", f"{directory}/ca.crt", "-subj",
             "/CN=kubernetes"], check=True, capture_output=True)
        yield directory


@pytest.mark.parametrize("what, more, code", [
    ("good", {}, 200),
    ("expired", {"days": "-1"}, 401),
    ("for servers", {"usage": "serverAuth"}, 401),
    ("without a name", {"subject": "/O=system:masters"}, 401),
])
def test_certificates_from_elsewhere(cluster, tmp_path, what, more, code):
    del what
    pki = os.path.join(cluster.dir, "pki")
    cert, key = openssl_cert(str(tmp_path), pki, **more)
    api = Api(cluster.url, f"{pki}/ca.crt", cert, key)
    answer = api.request("GET", "/api/v1/namespaces")
    api.close()
    assert answer.code == code, answer


def test_a_foreign_authority_is_nobody(cluster, foreign, tmp_path):
    """Not even after others with the same session cache have come in."""
    cluster.api().get("/api/v1/namespaces")
    cert, key = openssl_cert(str(tmp_path), foreign)
    bad = Api(cluster.url, os.path.join(cluster.dir, "pki", "ca.crt"), cert,
              key)
    for _ in range(3):
        unauthorized(bad)
        bad.close()


def test_tokens_tell_the_node_of_their_pod(cluster):
    admin = cluster.api()
    admin.create("/api/v1/nodes", {"metadata": {"name": "node1"}})
    admin.create("/api/v1/namespaces/default/pods", {
        "metadata": {"name": "placed"},
        "spec": {"nodeName": "node1",
                 "containers": [{"name": "c", "image": "i"}]}})
    for kind, name in (("Pod", "placed"), ("Node", "node1")):
        token = admin.create(
            "/api/v1/namespaces/default/serviceaccounts/default/token",
            {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": kind,
                                         "name": name}}})["status"]["token"]
        extra = whoami(cluster.api(token=token))["extra"]
        assert extra["authentication.kubernetes.io/node-name"] == ["node1"]


def test_aggregated_servers_are_told_whom_to_believe():
    """Also after somebody has changed it, and the cluster starts again."""
    path = "/api/v1/namespaces/kube-system/configmaps/" \
        "extension-apiserver-authentication"
    with Cluster() as cluster:
        for _ in range(2):
            admin = cluster.api()
            data = wait_for("the ConfigMap", lambda a=admin: published(a, path))
            with open(os.path.join(cluster.dir, "pki/front-proxy-ca.crt"),
                      encoding="utf-8") as file:
                assert data["requestheader-client-ca-file"] == file.read()
            assert json.loads(data["requestheader-allowed-names"]) == \
                ["front-proxy-client"]
            assert json.loads(data["requestheader-username-headers"]) == \
                ["X-Remote-User"]
            admin.patch(path, {"data": {"requestheader-allowed-names": "[]"}})
            cluster.stop()
            cluster.start()


def published(api, path):
    """What the ConfigMap has, once it is as the server writes it."""
    answer = api.request("GET", path)
    if answer.code == 404:
        return None
    data = answer.json()["data"]
    return data if data["requestheader-allowed-names"] != "[]" else None
