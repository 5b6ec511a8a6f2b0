# SPDX-License-Identifier: Apache-2.0
"""Who may do what: each line of a table, tried with real credentials.

A request that is allowed may fail for another reason; one that is not is a
403 whatever it asks for. Writes are dry runs: no line depends on another.
"""

import pytest

from kubeapi import path_of, wait_for

VM = "/apis/kubevirt.io/v1/namespaces/{}"
SUBRESOURCES = "/apis/subresources.kubevirt.io/v1/namespaces/{}"
DRY = "?dryRun=All"


def bind(api, role, user, namespace=None):
    """Gives a cluster role to a user, in one namespace or everywhere."""
    kind = "RoleBinding" if namespace else "ClusterRoleBinding"
    path = path_of("rbac.authorization.k8s.io/v1", kind.lower() + "s",
                   namespace)
    api.create(path, {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind,
        "metadata": {"name": user.replace(":", "-")},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io",
                      "kind": "User", "name": user}]})


ROLES = {"cluster-admin": "root", "admin": "adam", "edit": "eve",
         "view": "victor", "kubevirt.io:migrate": "mike"}


@pytest.fixture(scope="module")
def users(cluster):
    """A client for each of the default roles; cluster-admin everywhere, the
    others in the namespace a; and one for somebody without any."""
    api = cluster.api()
    for name in ("a", "b"):
        api.create("/api/v1/namespaces", {
            "apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name}})
    for role, user in ROLES.items():
        bind(api, role, user, None if role == "cluster-admin" else "a")
    return {role: cluster.api(cluster.user_kubeconfig(user))
            for role, user in {**ROLES, "nobody": "nils"}.items()}


def config_map():
    return {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "x"}}


def migration():
    return {"apiVersion": "kubevirt.io/v1",
            "kind": "VirtualMachineInstanceMigration",
            "metadata": {"name": "x"}, "spec": {"vmiName": "v"}}


def role(*rules):
    return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
            "metadata": {"name": "x"}, "rules": list(rules)}


READ_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
READ_NODES = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}
RBAC = "/apis/rbac.authorization.k8s.io/v1"
VMIM = VM.format("a") + "/virtualmachineinstancemigrations"
EVERYBODY = "CAEVMN"
# method, path, body, and who may: Cluster-admin, Admin, Edit, View, Migrate,
# Nobody in particular.
TABLE = [
    ("GET", "/version", None, EVERYBODY),
    ("GET", "/readyz", None, EVERYBODY),
    ("GET", "/apis", None, EVERYBODY),
    ("GET", "/openapi/v3", None, EVERYBODY),
    ("GET", "/metrics", None, "C"),
    ("GET", "/api/v1/namespaces/a/pods", None, "CAEV"),
    ("GET", "/api/v1/namespaces/a/pods?watch=true", None,
     "CAEV"),
    ("GET", "/api/v1/namespaces/a/pods/p", None, "CAEV"),
    ("GET", "/api/v1/namespaces/a/pods/p/log", None, "CAEV"),
    ("GET", "/api/v1/namespaces/b/pods", None, "C"),
    ("GET", "/api/v1/pods", None, "C"),
    ("GET", "/api/v1/namespaces/a", None, "CAEV"),
    ("GET", "/api/v1/namespaces", None, "C"),
    ("GET", "/api/v1/nodes", None, "C"),
    ("GET", "/api/v1/namespaces/a/secrets", None, "CAE"),
    ("GET", "/api/v1/namespaces/a/secrets/s", None, "CAE"),
    ("GET", "/api/v1/namespaces/a/configmaps", None, "CAEV"),
    ("GET", "/api/v1/namespaces/a/resourcequotas", None, "CAEV"),
    ("GET", "/api/v1/namespaces/a/events", None, "CAEV"),
    ("GET", f"{RBAC}/namespaces/a/roles", None, "CA"),
    ("GET", f"{RBAC}/clusterroles", None, "C"),
    ("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", None,
     "C"),
    ("POST", f"/api/v1/namespaces/a/configmaps{DRY}", config_map(), "CAE"),
    ("POST", f"/api/v1/namespaces/b/configmaps{DRY}", config_map(), "C"),
    ("PUT", f"/api/v1/namespaces/a/configmaps/x{DRY}", config_map(), "CAE"),
    ("DELETE", f"/api/v1/namespaces/a/configmaps/x{DRY}", None, "CAE"),
    ("DELETE", f"/api/v1/namespaces/a/configmaps{DRY}", None, "CAE"),
    ("POST", f"/api/v1/namespaces/a/pods/p/eviction{DRY}", {}, "CAE"),
    ("POST", f"/api/v1/namespaces/a/pods/p/binding{DRY}", {}, "C"),
    ("GET", "/api/v1/namespaces/a/pods/p/exec", None, "CAE"),
    # Only the first word after the name is what rules speak of.
    ("GET", "/api/v1/namespaces/a/pods/p/proxy/and/more", None, "CAE"),
    ("POST", f"/api/v1/namespaces/a/resourcequotas{DRY}", {}, "C"),
    ("POST", "/api/v1/namespaces/a/serviceaccounts/default/token",
     {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
      "spec": {}}, "CAE"),
    ("DELETE", f"/api/v1/namespaces/a{DRY}", None, "C"),
    # Roles: who may write them may still not give what he does not have.
    ("POST", f"{RBAC}/namespaces/a/roles{DRY}", role(READ_PODS), "CA"),
    ("POST", f"{RBAC}/namespaces/a/roles{DRY}", role(READ_NODES), "C"),
    # KubeVirt's kinds
    ("GET", f"{VM}/virtualmachines".format("a"), None, "CAEV"),
    ("GET", f"{VM}/virtualmachineinstances/v".format("a"), None, "CAEV"),
    ("GET", VMIM, None, "CAEVM"),
    ("GET", f"{VMIM}?watch=true", None, "CAEVM"),
    ("POST", f"{VMIM}{DRY}", migration(), "CM"),
    ("DELETE", f"{VMIM}/x{DRY}", None, "CM"),
    ("DELETE", f"{VMIM}{DRY}", None, "CM"),
    ("GET", VMIM.replace("/a/", "/b/"), None, "C"),
    ("POST", f"{VM}/virtualmachines{DRY}".format("a"), {}, "CAE"),
    ("PUT", f"{SUBRESOURCES}/virtualmachines/v/migrate".format("a"), {},
     "CM"),
    ("PUT", f"{SUBRESOURCES}/virtualmachines/v/start".format("a"), {},
     "CAE"),
    # Questions about oneself and about others
    ("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
     {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}},
     EVERYBODY),
    ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {},
     EVERYBODY),
    ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", {}, "C"),
    ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {}, "C"),
    ("POST",
     "/apis/authorization.k8s.io/v1/namespaces/a/localsubjectaccessreviews",
     {}, "CA"),
]
LETTERS = {"C": "cluster-admin", "A": "admin", "E": "edit", "V": "view",
           "M": "kubevirt.io:migrate", "N": "nobody"}


def allowed(api, method, path, body):
    # On a connection of its own: a watch that is allowed does not end.
    connection = api.connect()
    code = api.start(method, path, body, connection=connection).status
    connection.close()
    assert code != 401
    return code != 403


@pytest.mark.parametrize("method, path, body, who", TABLE,
                         ids=[f"{t[0]} {t[1]}" for t in TABLE])
def test_the_default_roles(users, method, path, body, who):
    found = "".join(letter for letter, role_name in LETTERS.items()
                    if allowed(users[role_name], method, path, body))
    assert found == who


def test_a_refusal_says_who_and_what(users):
    status = users["nobody"].refuse(403, "Forbidden", "GET", f"{VMIM}/m")
    assert status["message"] == (
        'virtualmachineinstancemigrations.kubevirt.io "m" is forbidden: User '
        '"nils" cannot get resource "virtualmachineinstancemigrations" in API '
        'group "kubevirt.io" in the namespace "a"')
    assert status["details"] == {
        "name": "m", "group": "kubevirt.io",
        "kind": "virtualmachineinstancemigrations"}
    status = users["nobody"].refuse(403, "Forbidden", "GET", "/metrics")
    assert status["message"] == \
        'forbidden: User "nils" cannot get path "/metrics"'


def test_nobody_gives_away_what_he_does_not_have(users):
    status = users["admin"].refuse(
        403, "Forbidden", "POST", f"{RBAC}/namespaces/a/roles{DRY}",
        role(READ_NODES))
    assert ('user "adam" (groups=["system:authenticated"]) is attempting to '
            "grant RBAC permissions not currently held") in status["message"]
    binding = {"apiVersion": "rbac.authorization.k8s.io/v1",
               "kind": "RoleBinding", "metadata": {"name": "x"},
               "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                           "kind": "ClusterRole", "name": "cluster-admin"},
               "subjects": []}
    users["admin"].refuse(403, "Forbidden", "POST",
                          f"{RBAC}/namespaces/a/rolebindings{DRY}", binding)
    binding["roleRef"]["name"] = "view"
    users["admin"].create(f"{RBAC}/namespaces/a/rolebindings{DRY}", binding)


def test_names_subresources_and_groups_of_a_rule(cluster, users):
    del users  # for the namespaces
    admin = cluster.api()
    path = f"{RBAC}/namespaces/b/roles"
    admin.create(path, {**role(
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"],
         "resourceNames": ["mine"]},
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
        {"apiGroups": ["kubevirt.io"], "resources": ["*/status"],
         "verbs": ["patch"]}), "metadata": {"name": "narrow"}})
    admin.create(f"{RBAC}/namespaces/b/rolebindings", {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "narrow"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
                    "name": "narrow"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io",
                      "kind": "Group", "name": "narrow"}]})
    api = cluster.api(cluster.user_kubeconfig("someone", "narrow"))
    base, vm = "/api/v1/namespaces/b", VM.format("b")
    for method, path, may in (
            ("GET", f"{base}/configmaps/mine", True),
            ("GET", f"{base}/configmaps/other", False),
            ("GET", f"{base}/configmaps", False),
            ("GET", f"{base}/pods/p/log", True),
            ("GET", f"{base}/pods/p", False),
            ("PATCH", f"{vm}/virtualmachineinstancemigrations/m/status",
             True),
            ("PATCH", f"{vm}/virtualmachineinstancemigrations/m", False)):
        assert allowed(api, method, path, {}) == may, path
    admin.delete(f"{RBAC}/namespaces/b/rolebindings/narrow")
    wait_for("the right to be gone", lambda: not allowed(
        api, "GET", f"{base}/configmaps/mine", None))


def test_a_new_role_with_the_label_is_gathered(cluster, users):
    aggregate = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": {"name": "more-view", "labels": {
            "rbac.authorization.k8s.io/aggregate-to-view": "true"}},
        "rules": [{"apiGroups": ["example.com"], "resources": ["things"],
                   "verbs": ["list"]}]}
    path = "/apis/example.com/v1/namespaces/a/things"
    assert not allowed(users["view"], "GET", path, None)
    cluster.api().create(f"{RBAC}/clusterroles", aggregate)
    for name in ("view", "edit", "admin"):
        wait_for(f"{name} to have it", lambda name=name: allowed(
            users[name], "GET", path, None))
    assert not allowed(users["nobody"], "GET", path, None)


def test_impersonation_needs_the_right_to(cluster, users):
    status = users["view"].impersonating("zoe").refuse(
        403, "Forbidden", "GET", "/api/v1/nodes")
    assert status["message"] == (
        'users "zoe" is forbidden: User "victor" cannot impersonate resource '
        '"users" in API group "" at the cluster scope')
    admin = cluster.api()
    admin.impersonating("zoe", "system:masters").get("/api/v1/nodes")
    admin.impersonating("zoe").refuse(403, "Forbidden", "GET",
                                      "/api/v1/nodes")
