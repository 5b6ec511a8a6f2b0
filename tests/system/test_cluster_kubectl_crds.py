# SPDX-License-Identifier: Apache-2.0
"""CustomResourceDefinitions of users, with kubectl."""

import json

import pytest
import yaml

from kubectls import MINOR, Following, table

# As it is spread with the network plug-ins that need it.
NETWORKS = """
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: network-attachment-definitions.k8s.cni.cncf.io
spec:
  group: k8s.cni.cncf.io
  scope: Namespaced
  names:
    plural: network-attachment-definitions
    singular: network-attachment-definition
    kind: NetworkAttachmentDefinition
    shortNames:
    - net-attach-def
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          description: 'A network that a pod may be attached to.
            More info: https://example.com/networks'
          type: object
          properties:
            apiVersion:
              description: 'The version of this form of the object. More
                info: https://example.com/api-conventions#resources'
              type: string
            kind:
              description: 'The kind of the object. More info:
                https://example.com/api-conventions#types-kinds'
              type: string
            metadata:
              type: object
            spec:
              description: 'What the network is'
              type: object
              properties:
                config:
                  description: 'The configuration of the plug-in, in JSON'
                  type: string
"""

NETWORK = """
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata: {name: migration}
spec:
  config: '{"cniVersion": "0.3.1", "type": "macvlan", "master": "eth1"}'
"""

SHIPS = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ships.sea.example.com}
spec:
  group: sea.example.com
  scope: Namespaced
  names:
    kind: Ship
    plural: ships
    singular: ship
    shortNames: [sh]
    categories: [all, fleet]
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Cargo, type: integer, jsonPath: .spec.cargo}
    - {name: State, type: string, jsonPath: .status.state}
    - {name: Port, type: string, jsonPath: '.spec.ports[0].name', priority: 1}
    - name: Afloat
      type: string
      jsonPath: .status.conditions[?(@.type=="Afloat")].status
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
    schema:
      openAPIV3Schema:
        type: object
        description: Carries things over water.
        required: [spec]
        properties:
          spec:
            type: object
            required: [cargo]
            properties:
              cargo: {type: integer, minimum: 1, maximum: 100,
                      description: How much it carries.}
              flag: {type: string, default: white, enum: [white, black]}
              call: {type: string, pattern: '^[A-Z]{4}$'}
              ports:
                type: array
                maxItems: 3
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}}
              log: {type: object, x-kubernetes-preserve-unknown-fields: true}
              weight: {x-kubernetes-int-or-string: true}
          status:
            type: object
            properties:
              state: {type: string}
              conditions:
                type: array
                items:
                  type: object
                  properties: {type: {type: string}, status: {type: string}}
  - name: v1alpha1
    served: true
    storage: false
    deprecated: true
    deprecationWarning: ships sail as v1 now
    schema:
      openAPIV3Schema:
        {type: object, x-kubernetes-preserve-unknown-fields: true}
"""


def ship(name, version="v1", **spec):
    return yaml.safe_dump({"apiVersion": f"sea.example.com/{version}",
                           "kind": "Ship", "metadata": {"name": name},
                           "spec": {"cargo": 5, **spec}})


def establish(cluster, text, name):
    cluster.kubectl("apply", "-f", "-", stdin=text)
    cluster.kubectl("wait", "--for=condition=Established", "--timeout=60s",
                    f"crd/{name}")


@pytest.fixture(scope="module", autouse=True)
def ships(cluster):
    establish(cluster, SHIPS, "ships.sea.example.com")


def test_a_definition_from_the_web_goes_over_the_bundled_one(cluster,
                                                             namespace):
    name = "network-attachment-definitions.k8s.cni.cncf.io"
    assert cluster.kubectl("get", "crd", name, "-o", "name") == \
        f"customresourcedefinition.apiextensions.k8s.io/{name}\n"
    establish(cluster, NETWORKS, name)
    assert cluster.kubectl("apply", "-f", "-", stdin=NETWORKS) == \
        f"customresourcedefinition.apiextensions.k8s.io/{name} unchanged\n"
    made = "networkattachmentdefinition.k8s.cni.cncf.io/migration"
    apply = ("apply", "-n", namespace, "-f", "-")
    assert cluster.kubectl(*apply, stdin=NETWORK) == f"{made} created\n"
    assert cluster.kubectl(*apply, stdin=NETWORK) == f"{made} unchanged\n"
    config = cluster.kubectl("get", "net-attach-def", "migration", "-n",
                             namespace, "-o", "jsonpath={.spec.config}")
    assert json.loads(config)["master"] == "eth1"
    assert table(cluster.kubectl("get", "net-attach-def", "-n",
                                 namespace)) == (
        ["NAME", "AGE"], [["migration", "AGE"]])
    assert "config\t<string>" in cluster.kubectl("explain",
                                                 "net-attach-def.spec")


def test_a_restart_does_not_take_a_definition_back(cluster):
    name = "network-attachment-definitions.k8s.cni.cncf.io"
    establish(cluster, NETWORKS, name)
    cluster.stop()
    cluster.start()
    assert "https://example.com/networks" in cluster.kubectl(
        "get", "crd", name, "-o", "jsonpath={.spec.versions[0].schema}")
    assert "https://example.com/networks" in cluster.kubectl(
        "explain", "net-attach-def")


def test_a_new_kind_has_its_names_and_columns(cluster, namespace):
    at = ("-n", namespace)
    assert cluster.kubectl("create", "-f", "-", *at,
                           stdin=ship("a", ports=[{"name": "Kiel"}])) == \
        "ship.sea.example.com/a created\n"
    path = f"/apis/sea.example.com/v1/namespaces/{namespace}/ships/a/status"
    cluster.api().patch(path, {"status": {
        "state": "at sea",
        "conditions": [{"type": "Afloat", "status": "True"}]}})
    titles = ["NAME", "CARGO", "STATE", "AFLOAT", "AGE"]
    row = ["a", "5", "at sea", "True", "AGE"]
    for words in ("ships", "ship", "sh", "fleet", "ships.v1.sea.example.com"):
        assert table(cluster.kubectl("get", words, *at)) == (titles, [row])
    assert table(cluster.kubectl("get", "sh", *at, "-o", "wide")) == (
        [*titles[:3], "PORT", *titles[3:]],
        [[*row[:3], "Kiel", *row[3:]]])
    assert cluster.kubectl("get", "sh", "a", *at, "-o",
                           "jsonpath={.spec.flag}") == "white"
    assert "ship.sea.example.com/a" in cluster.kubectl("get", "all", *at,
                                                       "-o", "name")
    assert "How much it carries." in cluster.kubectl("explain", "sh.spec")


BROKEN = [
    ({"cargo": 0}, "spec.cargo: Invalid value: 0: spec.cargo in body should "
                   "be greater than or equal to 1"),
    ({"cargo": 101}, "spec.cargo: Invalid value: 101: spec.cargo in body "
                     "should be less than or equal to 100"),
    ({"cargo": "much"}, 'spec.cargo: Invalid value: "string": spec.cargo in '
                        'body must be of type integer: "string"'),
    ({"flag": "red"}, 'spec.flag: Unsupported value: "red": supported '
                      'values: "white", "black"'),
    ({"call": "abc"}, 'spec.call: Invalid value: "abc": spec.call in body '
                      "should match '^[A-Z]{4}$'"),
    ({"ports": [{}]}, "spec.ports[0].name: Required value"),
    ({"ports": [{"name": "x"}] * 4},
     "spec.ports: Too many: 4: must have at most 3 items"),
    ({"weight": [1]}, "spec.weight: Invalid value: "),
]


@pytest.mark.parametrize("spec, error", BROKEN,
                         ids=[json.dumps(b[0]) for b in BROKEN])
def test_the_schema_is_held(cluster, namespace, spec, error):
    done = cluster.kubectl_raw("create", "-n", namespace, "-f", "-",
                               "--validate=false", stdin=ship("a", **spec))
    assert done.returncode == 1
    assert f'The Ship "a" is invalid: {error}' in done.stderr


def test_unknown_fields_are_pruned_unless_they_may_stay(cluster, namespace):
    cluster.kubectl("create", "-n", namespace, "-f", "-", "--validate=false",
                    stdin=ship("a", log={"any": {"thing": 1}}, mast=3,
                               weight="5t"))
    spec = json.loads(cluster.kubectl("get", "sh", "a", "-n", namespace, "-o",
                                      "jsonpath={.spec}"))
    assert spec == {"cargo": 5, "flag": "white", "weight": "5t",
                    "log": {"any": {"thing": 1}}}


def test_an_old_version_is_served_with_a_warning(cluster, namespace):
    done = cluster.kubectl_raw("create", "-n", namespace, "-f", "-",
                               stdin=ship("a", "v1alpha1"))
    assert done.returncode == 0
    assert "Warning: ships sail as v1 now" in done.stderr
    for version in ("v1", "v1alpha1"):
        text = cluster.kubectl("get", f"ships.{version}.sea.example.com", "a",
                               "-n", namespace, "-o",
                               "jsonpath={.apiVersion},{.spec.cargo}")
        assert text == f"sea.example.com/{version},5"


def test_a_watch_sees_objects_of_a_new_kind(cluster, namespace):
    with Following(cluster, "get", "sh", "-n", namespace, "-w", "-o",
                   "name") as kubectl:
        cluster.kubectl("create", "-n", namespace, "-f", "-", stdin=ship("b"))
        assert kubectl.next() == "ship.sea.example.com/b"


def test_a_definition_goes_with_all_of_its_objects(cluster, namespace):
    text = SHIPS.replace("sea.example", "lake.example")
    establish(cluster, text, "ships.lake.example.com")
    made = ship("a").replace("sea.example", "lake.example")
    cluster.kubectl("create", "-n", namespace, "-f", "-", stdin=made)
    cluster.kubectl("delete", "crd", "ships.lake.example.com")
    done = cluster.kubectl_raw("get", "ships.lake.example.com", "-A")
    assert done.returncode == 1
    assert "doesn't have a resource type" in done.stderr or \
        "could not find the requested resource" in done.stderr
    establish(cluster, text, "ships.lake.example.com")
    assert cluster.kubectl("get", "ships.lake.example.com", "-A", "-o",
                           "name") == ""


def test_definitions_that_make_no_sense_are_refused(cluster):
    cases = [
        ("name: ships.sea.example.com", "name: boats.sea.example.com",
         'metadata.name: Invalid value: "boats.sea.example.com": must be '
         "spec.names.plural+\".\"+spec.group"),
        ("storage: true", "storage: false",
         "must have exactly one version marked as storage version"),
        ("type: integer, minimum", "type: number-ish, minimum",
         "Unsupported value: \"number-ish\""),
        ("scope: Namespaced", "scope: World", 'Unsupported value: "World"'),
    ]
    for old, new, error in cases:
        done = cluster.kubectl_raw("create", "-f", "-", "--validate=false",
                                   stdin=SHIPS.replace(old, new))
        assert done.returncode == 1
        assert error in done.stderr, done.stderr


def test_strict_validation_knows_the_new_kind(cluster, namespace):
    done = cluster.kubectl_raw("create", "-n", namespace, "-f", "-",
                               stdin=ship("a", mast=3))
    assert done.returncode == 1
    assert ('unknown field "spec.mast"' if MINOR >= 25 else
            'unknown field "mast" in com.example.sea.v1.Ship.spec') in \
        done.stderr
