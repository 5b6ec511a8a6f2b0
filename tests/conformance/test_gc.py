# SPDX-License-Identifier: Apache-2.0
"""Garbage collection by ownerReferences."""

import pytest

from kubeapi import has_vanished, path_of, wait_for, wait_gone
from objects import configmap, owned_by

HELD = "conformance.ferry.io/held"


@pytest.fixture
def make(api, ns):
    """Makes ConfigMaps; owner is another one, or None."""
    def create(name, owner=None, block=False, **metadata):
        if owner:
            metadata["ownerReferences"] = owned_by(owner, block)
        return api.create(path_of("v1", "configmaps", ns),
                          configmap(name, **metadata))
    return create


@pytest.fixture
def at(ns):
    return lambda name: path_of("v1", "configmaps", ns, name)


@pytest.mark.parametrize("options", [None,
                                     {"propagationPolicy": "Background"}])
def test_in_the_background_the_owner_goes_first(api, make, at, options):
    owner = make("owner")
    child = make("child", owner)
    make("grandchild", child)
    make("stranger")
    api.delete(at("owner"), options)
    assert has_vanished(api, at("owner"))
    wait_gone(api, at("child"))
    wait_gone(api, at("grandchild"))
    assert not has_vanished(api, at("stranger"))


def test_in_the_foreground_the_owner_goes_last(api, make, at):
    owner = make("owner")
    make("child", owner, block=True, finalizers=[HELD])
    gone = api.delete(at("owner"), {"propagationPolicy": "Foreground"})
    assert gone["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert gone["metadata"]["deletionTimestamp"]
    wait_for("the child to be deleted", lambda: api.get(at("child"))[
        "metadata"].get("deletionTimestamp"))
    assert api.get(at("owner"))["metadata"]["finalizers"] == \
        ["foregroundDeletion"]
    api.patch(at("child"), {"metadata": {"finalizers": None}})
    wait_gone(api, at("owner"))


def test_in_the_foreground_only_blocking_children_are_waited_for(
        api, make, at):
    owner = make("owner")
    make("child", owner, finalizers=[HELD])
    api.delete(at("owner"), {"propagationPolicy": "Foreground"})
    wait_gone(api, at("owner"))
    wait_for("the child to be deleted", lambda: api.get(at("child"))[
        "metadata"].get("deletionTimestamp"))
    api.patch(at("child"), {"metadata": {"finalizers": None}})
    wait_gone(api, at("child"))


def test_foreground_without_children_is_done_soon(api, make, at):
    make("owner")
    api.delete(at("owner"), {"propagationPolicy": "Foreground"})
    wait_gone(api, at("owner"))


@pytest.mark.parametrize("options", [{"propagationPolicy": "Orphan"},
                                     {"orphanDependents": True}])
def test_orphans_stay_and_forget_their_owner(api, make, at, options):
    owner = make("owner")
    other = make("other")
    child = make("child", owner)
    child["metadata"]["ownerReferences"] += owned_by(other)
    api.put(at("child"), child)
    make("single", owner)
    api.delete(at("owner"), options)
    wait_gone(api, at("owner"))
    left = api.get(at("child"))["metadata"]
    assert left["ownerReferences"] == owned_by(other)
    assert "deletionTimestamp" not in left
    assert "ownerReferences" not in api.get(at("single"))["metadata"]


def test_one_owner_of_two_is_enough(api, make, at):
    one, two = make("one"), make("two")
    child = make("child", one)
    child["metadata"]["ownerReferences"] += owned_by(two)
    api.put(at("child"), child)
    api.delete(at("one"))
    wait_for("the reference to go", lambda: api.get(at("child"))[
        "metadata"]["ownerReferences"] == owned_by(two))
    api.delete(at("two"))
    wait_gone(api, at("child"))


def test_an_absent_owner_takes_the_object_along(api, make, at):
    ghost = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "ghost", "uid": "00000000-1111-4222-8333-444444444444"}}
    make("child", ghost)
    wait_gone(api, at("child"))


def test_an_owner_of_another_uid_is_another(api, make, at):
    old = make("owner")
    api.delete(at("owner"))
    make("owner")
    make("child", old)
    wait_gone(api, at("child"))
    assert not has_vanished(api, at("owner"))


def test_kinds_own_each_other(api, ns, make, at, widgets):
    owner = api.create(widgets.path(ns), widgets.make("owner"))
    # What a new kind owns may be noticed later than the kind itself.
    make("child", owner)
    api.delete(widgets.path(ns, "owner"))
    wait_gone(api, at("child"))


def test_a_namespace_may_own_what_is_in_it(api, ns, make, at):
    owner = api.get(path_of("v1", "namespaces", name=ns))
    made = make("child", owner)
    make("sentinel", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "name": "ghost", "uid": "00000000-1111-4222-8333-555555555555"}})
    wait_gone(api, at("sentinel"))  # the collector has looked at both
    assert api.get(at("child")) == made


def test_references_must_be_complete(api, ns):
    status = api.refuse(422, "Invalid", "POST",
                        path_of("v1", "configmaps", ns), configmap(
                            "a", ownerReferences=[{
                                "apiVersion": "v1", "kind": "ConfigMap",
                                "name": "b", "uid": ""}]))
    assert "metadata.ownerReferences[0].uid" in status["message"] or \
        "metadata.ownerReferences.uid" in status["message"]


def test_one_owner_at_most_is_the_controller(api, ns, make):
    one, two = make("one"), make("two")
    references = owned_by(one) + owned_by(two)
    for reference in references:
        reference["controller"] = True
    status = api.refuse(422, "Invalid", "POST",
                        path_of("v1", "configmaps", ns),
                        configmap("a", ownerReferences=references))
    assert "Only one reference can have Controller set to true" in \
        status["message"]
