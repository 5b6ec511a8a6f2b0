# SPDX-License-Identifier: Apache-2.0
"""People of a cluster who may do some things and not others.

    kubeconfig = person(cluster, "olga", everywhere=["ferry.io:operate"])
"""

import json
import os

RBAC = "rbac.authorization.k8s.io/v1"
GROUP = "rbac.authorization.k8s.io"


def bind(cluster, name, kind, role, everywhere=False):
    """Gives a Role or ClusterRole to an account of the default namespace."""
    cluster.create({
        "apiVersion": RBAC,
        "kind": "ClusterRoleBinding" if everywhere else "RoleBinding",
        "metadata": {"name": f"{name}-{role.replace(':', '-')}"},
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": name,
                      "namespace": "default"}]})


def person(cluster, name, everywhere=(), here=(), rules=()):
    """The kubeconfig of a new account and no other credential: with these
    ClusterRoles in the cluster or in its namespace, or with rules there."""
    cluster.kubectl("create", "serviceaccount", name)
    for role in everywhere:
        bind(cluster, name, "ClusterRole", role, everywhere=True)
    for role in here:
        bind(cluster, name, "ClusterRole", role)
    if rules:
        cluster.create({"apiVersion": RBAC, "kind": "Role",
                        "metadata": {"name": name}, "rules": list(rules)})
        bind(cluster, name, "Role", name)
    config = json.loads(cluster.kubectl("config", "view", "--raw", "-o",
                                        "json"))
    token = cluster.kubectl("create", "token", name).strip()
    config["users"] = [{"name": user["name"], "user": {"token": token}}
                       for user in config["users"]]
    path = os.path.join(cluster.scratch, name + ".kubeconfig")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)
    return path
