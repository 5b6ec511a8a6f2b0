# SPDX-License-Identifier: Apache-2.0
"""Who may do what: RBAC, impersonation, tokens, and the reviews."""

import base64
import json

import pytest

from kubeapi import path_of, wait_for
from objects import configmap, pod, unique

RBAC = "rbac.authorization.k8s.io/v1"
AUTHZ = "authorization.k8s.io/v1"
AUTHN = "authentication.k8s.io/v1"


@pytest.fixture
def user():
    return f"conformance-{unique()}"


@pytest.fixture
def grant(api, ns, user):
    """Gives the user (or another subject) rules in the namespace."""
    def make(*rules, subject=None, name="granted"):
        subject = subject or {"kind": "User", "name": user,
                              "apiGroup": "rbac.authorization.k8s.io"}
        api.create(path_of(RBAC, "roles", ns),
                   {"metadata": {"name": name}, "rules": list(rules)})
        api.create(path_of(RBAC, "rolebindings", ns), {
            "metadata": {"name": name}, "subjects": [subject],
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                        "kind": "Role", "name": name}})
    return make


def rule(verbs, resources, groups="", **more):
    return {"apiGroups": groups.split(","), "verbs": verbs.split(","),
            "resources": resources.split(","), **more}


def allowed(client, method, path, body=None):
    """Waits until it is, as grants take a moment to be known."""
    wait_for(f"{method} {path} to be allowed", lambda: client.request(
        method, path, body).code not in (403,))


def test_nothing_is_allowed_at_first(clients, ns, user, widgets):
    client = clients.user(user)
    status = client.refuse(403, "Forbidden", "GET",
                           widgets.path(ns, "a"))
    assert status["message"] == (
        f'{widgets.resource} "a" is forbidden: User "{user}" cannot get '
        f'resource "widgets" in API group "{widgets.group}" in the namespace '
        f'"{ns}"')
    assert status["details"] == {"name": "a", "group": widgets.group,
                                 "kind": "widgets"}
    status = client.refuse(403, "Forbidden", "GET", path_of("v1", "pods"))
    assert status["message"] == (
        f'pods is forbidden: User "{user}" cannot list resource "pods" in '
        f'API group "" at the cluster scope')
    status = client.refuse(403, "Forbidden", "PUT",
                           path_of("v1", "pods", ns, "p", "status"), "{")
    assert 'cannot update resource "pods/status"' in status["message"]
    status = client.refuse(403, "Forbidden", "DELETE",
                           path_of("v1", "pods", ns))
    assert "cannot deletecollection resource" in status["message"]
    status = client.refuse(403, "Forbidden", "GET",
                           path_of("v1", "pods", ns, watch="true"))
    assert "cannot watch resource" in status["message"]
    status = client.refuse(403, "Forbidden", "GET", "/metrics")
    assert status["message"] == (f'forbidden: User "{user}" cannot get path '
                                 f'"/metrics"')


def test_a_role_allows_what_it_says(api, clients, ns, user, grant):
    grant(rule("get,list", "configmaps"))
    client = clients.user(user)
    path = path_of("v1", "configmaps", ns)
    allowed(client, "GET", path)
    client.get(path)
    client.refuse(404, "NotFound", "GET", path + "/none")
    client.refuse(403, "Forbidden", "POST", path, configmap("a"))
    client.refuse(403, "Forbidden", "DELETE", path + "/a")
    client.refuse(403, "Forbidden", "GET", path_of("v1", "secrets", ns))
    client.refuse(403, "Forbidden", "GET", path_of("v1", "configmaps"))
    client.refuse(403, "Forbidden", "GET",
                  path_of("v1", "configmaps", "default"))
    api.delete(path_of(RBAC, "rolebindings", ns, "granted"))
    wait_for("it to be taken away",
             lambda: client.request("GET", path).code == 403)


def test_a_role_may_name_objects(clients, ns, user, grant, api):
    grant(rule("get,delete", "configmaps", resourceNames=["mine"]))
    path = path_of("v1", "configmaps", ns)
    client = clients.user(user)
    allowed(client, "GET", path + "/mine")
    client.refuse(404, "NotFound", "GET", path + "/mine")
    client.refuse(403, "Forbidden", "GET", path + "/other")
    client.refuse(403, "Forbidden", "GET", path)


def test_subresources_are_granted_apart(api, clients, ns, user, grant,
                                        widgets):
    api.create(widgets.path(ns), widgets.make("a"))
    grant(rule("patch", "widgets/status", widgets.group))
    client = clients.user(user)
    wait_for("the grant", lambda: client.request(
        "PATCH", widgets.path(ns, "a", "status"),
        {"status": {"phase": "x"}},
        {"Content-Type": "application/merge-patch+json"}).code == 200)
    client.refuse(403, "Forbidden", "PATCH", widgets.path(ns, "a"),
                  {"spec": {"size": 2}}, kind="merge")


def test_groups_are_subjects_too(clients, ns, user, grant):
    grant(rule("*", "*", "*"), subject={
        "kind": "Group", "name": f"{user}-group",
        "apiGroup": "rbac.authorization.k8s.io"})
    path = path_of("v1", "configmaps", ns)
    client = clients.user("somebody", f"{user}-group")
    allowed(client, "GET", path)
    client.create(path, configmap("a"))
    clients.user("somebody").refuse(403, "Forbidden", "GET", path)


def test_a_cluster_role_is_bound_everywhere_or_somewhere(
        api, clients, new_namespace, user, removed_later):
    ns, other = new_namespace(), new_namespace()
    name = f"conformance-{unique()}"
    removed_later(path_of(RBAC, "clusterroles", name=name))
    api.create(path_of(RBAC, "clusterroles"), {
        "metadata": {"name": name}, "rules": [
            rule("list", "configmaps,nodes"),
            {"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]})
    subjects = [{"kind": "User", "name": user,
                 "apiGroup": "rbac.authorization.k8s.io"}]
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
           "name": name}
    api.create(path_of(RBAC, "rolebindings", ns), {
        "metadata": {"name": name}, "subjects": subjects, "roleRef": ref})
    client = clients.user(user)
    allowed(client, "GET", path_of("v1", "configmaps", ns))
    client.refuse(403, "Forbidden", "GET", path_of("v1", "configmaps", other))
    client.refuse(403, "Forbidden", "GET", path_of("v1", "nodes"))
    removed_later(path_of(RBAC, "clusterrolebindings", name=name))
    api.create(path_of(RBAC, "clusterrolebindings"), {
        "metadata": {"name": name}, "subjects": subjects, "roleRef": ref})
    allowed(client, "GET", path_of("v1", "nodes"))
    client.get(path_of("v1", "configmaps", other))
    client.get("/metrics")


def test_cluster_roles_are_aggregated(api, removed_later):
    label, name = f"conformance.ferry.io/{unique()}", f"cf-{unique()}"
    part = f"{name}-part"
    for each in (name, part):
        removed_later(path_of(RBAC, "clusterroles", name=each))
    api.create(path_of(RBAC, "clusterroles"), {
        "metadata": {"name": name}, "rules": [], "aggregationRule": {
            "clusterRoleSelectors": [{"matchLabels": {label: "true"}}]}})
    rules = [rule("get", "configmaps")]
    api.create(path_of(RBAC, "clusterroles"), {
        "metadata": {"name": part, "labels": {label: "true"}},
        "rules": rules})
    path = path_of(RBAC, "clusterroles", name=name)
    wait_for("the rules to be put together",
             lambda: api.get(path).get("rules") == rules)
    api.delete(path_of(RBAC, "clusterroles", name=part))
    wait_for("the rules to go", lambda: not api.get(path).get("rules"))


def test_the_usual_roles_are_there(api, clients, ns, user, widgets):
    for name in ("cluster-admin", "admin", "edit", "view",
                 "system:basic-user", "system:discovery"):
        api.get(path_of(RBAC, "clusterroles", name=name))
    api.create(path_of(RBAC, "rolebindings", ns), {
        "metadata": {"name": "viewer"},
        "subjects": [{"kind": "User", "name": user,
                      "apiGroup": "rbac.authorization.k8s.io"}],
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole", "name": "view"}})
    client = clients.user(user)
    allowed(client, "GET", path_of("v1", "configmaps", ns))
    client.get(path_of("v1", "pods", ns))
    client.refuse(403, "Forbidden", "GET", path_of("v1", "secrets", ns))
    client.refuse(403, "Forbidden", "POST", path_of("v1", "configmaps", ns),
                  configmap("a"))


def test_nobody_gives_more_than_he_has(api, clients, ns, user, grant):
    grant(rule("get", "configmaps"),
          rule("create,get", "roles,rolebindings",
               "rbac.authorization.k8s.io"))
    client = clients.user(user)
    roles = path_of(RBAC, "roles", ns)
    allowed(client, "GET", roles + "/granted")
    status = client.refuse(403, "Forbidden", "POST", roles, {
        "metadata": {"name": "more"}, "rules": [rule("get", "secrets")]})
    assert "is attempting to grant RBAC permissions not currently held" in \
        status["message"]
    client.create(roles, {"metadata": {"name": "less"},
                          "rules": [rule("get", "configmaps")]})
    status = client.refuse(403, "Forbidden", "POST",
                           path_of(RBAC, "rolebindings", ns), {
                               "metadata": {"name": "boss"},
                               "subjects": [{
                                   "kind": "User", "name": user,
                                   "apiGroup": "rbac.authorization.k8s.io"}],
                               "roleRef": {
                                   "apiGroup": "rbac.authorization.k8s.io",
                                   "kind": "ClusterRole",
                                   "name": "cluster-admin"}})
    assert "is attempting to grant RBAC permissions not currently held" in \
        status["message"]


def test_the_role_of_a_binding_stays(api, ns, grant):
    grant(rule("get", "configmaps"))
    status = api.refuse(422, "Invalid", "PATCH",
                        path_of(RBAC, "rolebindings", ns, "granted"),
                        {"roleRef": {"name": "other"}}, kind="merge")
    assert "cannot change roleRef" in status["message"]


def test_groups_are_not_impersonated_alone(api, ns):
    answer = api.request("GET", path_of("v1", "pods", ns), headers={
        "Impersonate-Group": "g"})
    assert answer.code == 500, answer
    assert "without impersonating a user" in answer.text()


def test_impersonation_must_be_allowed(api, clients, ns, user):
    name = f"{user}-sa"
    api.create(path_of("v1", "serviceaccounts", ns),
               {"metadata": {"name": name}})
    token = make_token(api, ns, name)["status"]["token"]
    holder = clients.token(token)
    status = holder.refuse(403, "Forbidden", "GET",
                           path_of("v1", "pods", ns),
                           headers={"Impersonate-User": "bob"})
    assert status["message"] == (
        f'users "bob" is forbidden: User "system:serviceaccount:{ns}:{name}" '
        f'cannot impersonate resource "users" in API group "" at the cluster '
        f'scope')


def make_token(api, ns, name, **spec):
    return api.create(path_of("v1", "serviceaccounts", ns, name, "token"), {
        "apiVersion": AUTHN, "kind": "TokenRequest", "spec": spec})


def claims(token):
    part = token.split(".")[1]
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_tokens_speak_for_service_accounts(api, clients, ns, grant):
    path = path_of("v1", "serviceaccounts", ns, "robot")
    account = api.create(path_of("v1", "serviceaccounts", ns),
                         {"metadata": {"name": "robot"}})
    answer = make_token(api, ns, "robot")
    assert answer["kind"] == "TokenRequest"
    assert answer["status"]["expirationTimestamp"] > "2020"
    token = answer["status"]["token"]
    inside = claims(token)
    assert inside["sub"] == f"system:serviceaccount:{ns}:robot"
    assert inside["exp"] - inside["iat"] >= 3600
    assert inside["kubernetes.io"]["namespace"] == ns
    assert inside["kubernetes.io"]["serviceaccount"] == {
        "name": "robot", "uid": account["metadata"]["uid"]}
    client = clients.token(token)
    where = path_of("v1", "configmaps", ns)
    status = client.refuse(403, "Forbidden", "GET", where)
    assert f'User "system:serviceaccount:{ns}:robot" cannot' in \
        status["message"]
    grant(rule("list", "configmaps"), subject={
        "kind": "ServiceAccount", "name": "robot", "namespace": ns})
    allowed(client, "GET", where)
    client.get(where)
    api.delete(path)
    wait_for("the token to die", lambda: client.request(
        "GET", where).code == 401)


def test_a_token_may_be_bound_to_a_pod(api, clients, ns):
    made = api.create(path_of("v1", "pods", ns), pod("p"))
    token = make_token(api, ns, "default", boundObjectRef={
        "kind": "Pod", "apiVersion": "v1", "name": "p",
        "uid": made["metadata"]["uid"]})["status"]["token"]
    assert claims(token)["kubernetes.io"]["pod"]["name"] == "p"
    client = clients.token(token)
    where = path_of("v1", "configmaps", ns)
    client.refuse(403, "Forbidden", "GET", where)
    api.delete(path_of("v1", "pods", ns, "p"))
    wait_for("the token to die", lambda: client.request(
        "GET", where).code == 401)


def test_token_requests_are_checked(api, ns):
    status = api.refuse(404, "NotFound", "POST",
                        path_of("v1", "serviceaccounts", ns, "none",
                                "token"),
                        {"apiVersion": AUTHN, "kind": "TokenRequest",
                         "spec": {}})
    assert status["message"] == 'serviceaccounts "none" not found'
    status = api.refuse(422, "Invalid", "POST",
                        path_of("v1", "serviceaccounts", ns, "default",
                                "token"),
                        {"apiVersion": AUTHN, "kind": "TokenRequest",
                         "spec": {"expirationSeconds": 5}})
    assert "may not specify a duration less than 10 minutes" in \
        status["message"]


def test_a_token_for_somebody_else_is_not_taken_here(api, clients, ns):
    token = make_token(api, ns, "default", audiences=["elsewhere"])["status"][
        "token"]
    assert claims(token)["aud"] == ["elsewhere"]
    status = clients.token(token).refuse(401, "Unauthorized", "GET", "/api")
    assert status["message"] == "Unauthorized"
    review = api.create(path_of(AUTHN, "tokenreviews"), {
        "apiVersion": AUTHN, "kind": "TokenReview",
        "spec": {"token": token, "audiences": ["elsewhere", "there"]}})
    assert review["status"]["authenticated"] is True
    assert review["status"]["audiences"] == ["elsewhere"]


@pytest.mark.parametrize("token", ["junk", "a.b.c"])
def test_a_bad_token_is_unauthorized(clients, token):
    status = clients.token(token).refuse(401, "Unauthorized", "GET",
                                         path_of("v1", "pods"))
    assert status["message"] == "Unauthorized"


def test_a_forged_token_is_unauthorized(api, clients, ns):
    token = make_token(api, ns, "default")["status"]["token"]
    head, body, signature = token.split(".")
    inside = claims(token)
    inside["sub"] = "system:serviceaccount:kube-system:default"
    body = base64.urlsafe_b64encode(
        json.dumps(inside).encode()).decode().rstrip("=")
    clients.token(".".join((head, body, signature))).refuse(
        401, "Unauthorized", "GET", "/api")


def test_token_reviews_tell_whose_it_is(api, ns):
    token = make_token(api, ns, "default")["status"]["token"]

    def review(value):
        return api.create(path_of(AUTHN, "tokenreviews"), {
            "apiVersion": AUTHN, "kind": "TokenReview",
            "spec": {"token": value}})["status"]

    status = review(token)
    assert status["authenticated"] is True
    assert status["user"]["username"] == \
        f"system:serviceaccount:{ns}:default"
    assert sorted(status["user"]["groups"]) == [
        "system:authenticated", "system:serviceaccounts",
        f"system:serviceaccounts:{ns}"]
    status = review("junk")
    assert not status.get("authenticated")
    assert "invalid bearer token" in status["error"]


def attributes(ns, verb, resource, **more):
    return {"namespace": ns, "verb": verb, "resource": resource, **more}


def test_one_may_ask_about_oneself(clients, api, ns, user, grant):
    grant(rule("get", "configmaps"))
    client = clients.user(user, "system:authenticated")

    def ask(verb, resource, **more):
        answer = client.create(path_of(AUTHZ, "selfsubjectaccessreviews"), {
            "apiVersion": AUTHZ, "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": attributes(ns, verb, resource,
                                                      **more)}})
        return answer["status"]

    wait_for("the grant", lambda: ask("get", "configmaps")["allowed"])
    assert "granted" in ask("get", "configmaps")["reason"]
    assert not ask("get", "secrets")["allowed"]
    assert not ask("get", "configmaps", subresource="x")["allowed"]
    admin = api.create(path_of(AUTHZ, "selfsubjectaccessreviews"), {
        "apiVersion": AUTHZ, "kind": "SelfSubjectAccessReview",
        "spec": {"nonResourceAttributes": {"path": "/x", "verb": "get"}}})
    assert admin["status"]["allowed"] is True


def test_one_may_ask_about_others(api, ns, user, grant):
    grant(rule("get", "configmaps"))

    def ask(kind, path, **spec):
        return api.create(path, {
            "apiVersion": AUTHZ, "kind": kind,
            "metadata": {"namespace": ns} if kind.startswith("L") else {},
            "spec": {"user": user, "resourceAttributes": attributes(
                ns, "get", "configmaps"), **spec}})["status"]

    whole = path_of(AUTHZ, "subjectaccessreviews")
    local = path_of(AUTHZ, "localsubjectaccessreviews", ns)
    wait_for("the grant",
             lambda: ask("SubjectAccessReview", whole)["allowed"])
    assert ask("LocalSubjectAccessReview", local)["allowed"]
    assert not ask("SubjectAccessReview", whole, user="other")["allowed"]
    assert ask("SubjectAccessReview", whole, user="other",
               groups=["system:masters"])["allowed"]


def test_one_may_ask_for_all_rules(clients, ns, user, grant):
    grant(rule("get", "configmaps", resourceNames=["x"]))
    client = clients.user(user, "system:authenticated")

    def rules():
        return client.create(path_of(AUTHZ, "selfsubjectrulesreviews"), {
            "apiVersion": AUTHZ, "kind": "SelfSubjectRulesReview",
            "spec": {"namespace": ns}})["status"]["resourceRules"]

    wanted = {"verbs": ["get"], "apiGroups": [""],
              "resources": ["configmaps"], "resourceNames": ["x"]}
    wait_for("the grant", lambda: wanted in rules())


def test_one_may_ask_who_one_is(clients, server_version, user):
    if server_version < (1, 28):
        pytest.skip("SelfSubjectReview is v1 since 1.28")
    answer = clients.user(user, "g1").create(
        path_of(AUTHN, "selfsubjectreviews"),
        {"apiVersion": AUTHN, "kind": "SelfSubjectReview"})
    info = answer["status"]["userInfo"]
    assert info["username"] == user
    assert "g1" in info["groups"]
