# SPDX-License-Identifier: Apache-2.0
"""ferry-api that answers reviews of the API server only: it is known by its
certificate, which is another matter than whom it may speak for."""

import os
import subprocess

import pytest

from apis import SUBRESOURCES, Api
from kubeapi import wait_for

PATHS = ("/migration-mutate-create", "/pod-eviction-validate",
         "/nodes-validate-update", "/kubevirt-validate-create")
REVIEW = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
          "request": {"uid": "u1", "operation": "CREATE",
                      "resource": {"group": "kubevirt.io", "version": "v1",
                                   "resource":
                                   "virtualmachineinstancemigrations"},
                      "object": {"metadata": {"name": "m"},
                                 "spec": {"vmiName": "x"}}}}


class Apart(Api):
    """One that the cluster does not know of."""

    def install(self):
        direct = self.direct()
        wait_for("ferry-api",
                 lambda: direct.request("GET", "/readyz").code == 200)


def pki(cluster, name):
    return os.path.join(cluster.dir, "pki", name)


def signed(cluster, ca, name, directory):
    """A client certificate of one of the cluster's authorities; its paths."""
    key, cert = directory / f"{name}.key", directory / f"{name}.crt"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
         "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1", "-subj",
         f"/CN={name}", "-keyout", str(key), "-out", str(cert), "-addext",
         "extendedKeyUsage=clientAuth", "-CA", pki(cluster, ca + ".crt"),
         "-CAkey", pki(cluster, ca + ".key")],
        check=True, stderr=subprocess.DEVNULL)
    return str(cert), str(key)


@pytest.fixture(name="api", scope="module")
def _api(cluster):
    """Installed, so the cluster's own questions are answered."""
    with Api(cluster, "--webhook-client-ca",
             pki(cluster, "front-proxy-ca.crt")) as made:
        yield made


def test_nobody_else_gets_an_answer(cluster, api, tmp_path):
    """Neither without a certificate nor with one of another authority."""
    strangers = (api.direct(),
                 api.direct(*signed(cluster, "ca", "front-proxy-client",
                                    tmp_path)))
    for client in strangers:
        for path in PATHS:
            answer = client.request("POST", path, REVIEW)
            assert answer.code == 403, answer
            assert "--webhook-client-ca" in answer.json()["message"]
        # What is no review is for everybody, as before.
        assert client.request("GET", "/healthz").code == 200
        assert client.request("GET", "/readyz").code == 200


def test_the_api_server_gets_one(cluster, api):
    client = api.direct(pki(cluster, "front-proxy-client.crt"),
                        pki(cluster, "front-proxy-client.key"))
    answer = client.request("POST", PATHS[0], REVIEW)
    assert answer.code == 200, answer
    assert answer.json()["response"]["allowed"]
    assert api.denies(api.client())


def test_who_may_ask_may_not_speak_for_others(cluster, tmp_path):
    """With the authority that signs everybody's certificates, as an operator
    may choose it: a name that the front proxy has is worth nothing then."""
    with Apart(cluster, "--webhook-client-ca", pki(cluster, "ca.crt")) as own:
        client = own.direct(*signed(cluster, "ca", "front-proxy-client",
                                    tmp_path))
        assert client.request("POST", PATHS[0], REVIEW).code == 200
        answer = client.request(
            "PUT", f"{SUBRESOURCES}/namespaces/default/virtualmachines/vm1/"
            "start", {}, {"X-Remote-User": "admin",
                          "X-Remote-Group": "system:masters"})
        assert answer.code == 401, answer


def test_an_authority_that_is_none_is_said(cluster, tmp_path):
    empty = tmp_path / "empty.crt"
    empty.write_text("", encoding="utf-8")
    with pytest.raises(AssertionError, match="did not start"):
        Api(cluster, "--webhook-client-ca", str(empty))
