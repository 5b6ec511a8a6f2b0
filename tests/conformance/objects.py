# SPDX-License-Identifier: Apache-2.0
"""The objects that the tests create."""

import random

from kubeapi import path_of

CRD_API = "apiextensions.k8s.io/v1"
PREFIX = "conformance-"


def unique():
    """A few letters that nobody else has."""
    return "".join(random.SystemRandom().choices("bcdfghjklmnpqrstvwxz", k=8))


def namespace(**metadata):
    return {"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"generateName": PREFIX, **metadata}}


def configmap(name, data=None, **metadata):
    made = {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, **metadata}}
    if data is not None:
        made["data"] = data
    return made


def pod(name, node=None, grace=None, **metadata):
    """A pod that runs nowhere, as no node has the label it wants.

    With a node, it is bound to that and nobody starts it.
    """
    spec = {"containers": [{"name": "main", "image": "example.org/none:1"}],
            "nodeSelector": {"conformance.ferry.io/nowhere": "true"},
            "automountServiceAccountToken": False}
    if node:
        spec["nodeName"] = node
        del spec["nodeSelector"]
    if grace is not None:
        spec["terminationGracePeriodSeconds"] = grace
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, **metadata}, "spec": spec}


def owned_by(owner, block=False):
    """ownerReferences that name one owner."""
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"],
                 "name": owner["metadata"]["name"],
                 "uid": owner["metadata"]["uid"]}
    if block:
        reference["blockOwnerDeletion"] = True
    return [reference]


class Kind:
    """A kind made by a CustomResourceDefinition."""

    def __init__(self, definition):
        spec = definition["spec"]
        self.group = spec["group"]
        self.plural = spec["names"]["plural"]
        self.name = spec["names"]["kind"]
        self.version = next(v["name"] for v in spec["versions"]
                            if v["storage"])
        self.resource = f"{self.plural}.{self.group}"
        self.definition_path = path_of(CRD_API, "customresourcedefinitions",
                                       name=self.resource)

    def path(self, namespace=None, name=None, sub=None, version=None, **query):
        return path_of(f"{self.group}/{version or self.version}", self.plural,
                       namespace, name, sub, **query)

    def make(self, name, spec=None, version=None, **metadata):
        return {"apiVersion": f"{self.group}/{version or self.version}",
                "kind": self.name, "metadata": {"name": name, **metadata},
                "spec": {"size": 1} if spec is None else spec}


def definition(group, plural, kind, schema, scope="Namespaced", **version):
    """A CustomResourceDefinition of one version."""
    return {
        "apiVersion": CRD_API, "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": scope,
                 "names": {"plural": plural, "kind": kind},
                 "versions": [{"name": "v1", "served": True, "storage": True,
                               "schema": {"openAPIV3Schema": schema},
                               **version}]}}


WIDGET_SCHEMA = {
    "type": "object", "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object", "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 0, "maximum": 100},
                "color": {"type": "string", "default": "red",
                          "enum": ["red", "green", "blue"]},
                "code": {"type": "string", "pattern": "^[a-z]+$",
                         "maxLength": 5},
                "ratio": {"type": "number"},
                "on": {"type": "boolean"},
                "port": {"x-kubernetes-int-or-string": True},
                "maybe": {"type": "string", "nullable": True},
                "when": {"type": "string", "format": "date-time"},
                "tags": {"type": "array", "maxItems": 3,
                         "x-kubernetes-list-type": "set",
                         "items": {"type": "string"}},
                "parts": {"type": "array",
                          "x-kubernetes-list-type": "map",
                          "x-kubernetes-list-map-keys": ["name"],
                          "items": {
                              "type": "object", "required": ["name"],
                              "properties": {
                                  "name": {"type": "string"},
                                  "weight": {"type": "integer",
                                             "default": 7}}}},
                "notes": {"type": "object",
                          "additionalProperties": {"type": "string"}},
                "free": {"type": "object",
                         "x-kubernetes-preserve-unknown-fields": True},
                "deep": {"type": "object", "default": {},
                         "properties": {"level": {"type": "integer",
                                                  "default": 3}}},
            },
        },
        "status": {
            "type": "object",
            "properties": {"phase": {"type": "string"},
                           "count": {"type": "integer"}},
        },
    },
}


def widget_definition(group):
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Color", "type": "string", "jsonPath": ".spec.color",
         "description": "How it looks"},
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
        {"name": "Code", "type": "string", "priority": 1,
         "jsonPath": ".spec.code"},
        {"name": "Age", "type": "date",
         "jsonPath": ".metadata.creationTimestamp"},
    ]
    version = {"served": True, "subresources": {"status": {}},
               "schema": {"openAPIV3Schema": WIDGET_SCHEMA}}
    return {
        "apiVersion": CRD_API, "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"plural": "widgets", "singular": "widget",
                      "kind": "Widget", "listKind": "WidgetList",
                      "shortNames": ["wdgt"], "categories": ["conformance"]},
            "versions": [
                {"name": "v1", "storage": True,
                 "additionalPrinterColumns": columns, **version},
                {"name": "v1beta1", "storage": False, "deprecated": True,
                 "deprecationWarning": "use v1 widgets", **version},
            ]}}
