"""A custom kind that has every feature our own kinds use: defaults, CEL, keyed lists, status, printer columns."""

from tests.contract.door import Doc, until
from tests.contract.objects import condition
from tests.contract.scope import Scope

PLURAL = "pennants"
KIND = "Pennant"

_GROUP: Doc = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "count": {"type": "integer", "minimum": 1}},
}
_SPEC: Doc = {
    "type": "object",
    "properties": {
        "minCount": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 1},
        "mode": {"type": "string", "enum": ["Gang", "Basic"], "default": "Gang"},
        "rack": {
            "type": "string",
            "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "rack is immutable"}],
        },
        "groups": {
            "type": "array",
            "maxItems": 8,
            "items": _GROUP,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
    "x-kubernetes-validations": [
        {
            "rule": "!has(self.groups) || self.groups.size() < 5",
            "message": "at most four groups",
            "fieldPath": ".groups",
        }
    ],
}
_CONDITION: Doc = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {key: {"type": "string"} for key in ("type", "status", "reason", "message")},
}
_STATUS: Doc = {
    "type": "object",
    "properties": {
        "phase": {"type": "string"},
        "conditions": {
            "type": "array",
            "items": _CONDITION,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
        },
    },
}
_COLUMNS: list[Doc] = [
    {"name": "Min", "type": "integer", "jsonPath": ".spec.minCount"},
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {"name": "Rack", "type": "string", "jsonPath": ".spec.rack", "priority": 1},
]


def definition(group: str, schema: Doc | None = None) -> Doc:
    """The CRD, under a group of its own so that two runs on one server never meet."""
    whole = schema or {"type": "object", "properties": {"spec": _SPEC, "status": _STATUS}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": whole},
        "subresources": {"status": {}},
        "additionalPrinterColumns": _COLUMNS,
    }
    names = {"plural": PLURAL, "singular": "pennant", "kind": KIND, "shortNames": ["pnt"], "categories": ["contract"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def wait_until_served(cluster: Scope, name: str) -> Doc:
    """The definition once it is established and its path answers: the second comes a moment after the first."""
    found = cluster.reaches(
        "customresourcedefinitions", name, lambda doc: condition(doc, "Established").get("status") == "True"
    )
    spec = found["spec"]
    path = f"/apis/{spec['group']}/v1/{spec['names']['plural']}"
    for _ in until(f"{path} to be served"):
        if cluster.door.get(path).code == 200:
            break
    return found
