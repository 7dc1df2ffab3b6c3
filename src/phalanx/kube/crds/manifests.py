"""The CustomResourceDefinitions of our kinds, as values and as files. The same models give the same bytes."""

from typing import Any

import yaml

from phalanx.kube.crds import schema
from phalanx.kube.crds.kinds import CATEGORY, GROUP, KINDS, VERSION, Column, Kind

HEAD = "# Made from src/phalanx/kube/crds by `make docs`; change the models there, not this file.\n"

Manifest = dict[str, Any]


def files() -> dict[str, str]:
    """Every file by its name, such as ``phalanx.dev_gangs.yaml``."""
    return {f"{GROUP}_{kind.plural}.yaml": HEAD + _yaml(definition(kind)) for kind in KINDS}


def definition(kind: Kind) -> Manifest:
    """The definition of one kind."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": _names(kind),
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [_version(kind)],
        },
    }


def _names(kind: Kind) -> Manifest:
    singular = kind.name.lower()
    names: Manifest = {
        "categories": [CATEGORY],
        "kind": kind.name,
        "listKind": f"{kind.name}List",
        "plural": kind.plural,
        "singular": singular,
    }
    return {**names, "shortNames": list(kind.short)} if kind.short else names


def _version(kind: Kind) -> Manifest:
    return {
        "name": VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [_column(column) for column in kind.columns],
        "schema": {"openAPIV3Schema": schema.of(kind.model)},
    }


def _column(column: Column) -> Manifest:
    shown = {"name": column.name, "type": column.type, "jsonPath": column.path, "description": column.description}
    return {**shown, "priority": 1} if column.wide else shown


class _Plain(yaml.SafeDumper):
    """A dumper without anchors: whoever reads a schema should find it whole."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _yaml(manifest: Manifest) -> str:
    return yaml.dump(manifest, Dumper=_Plain, sort_keys=False, width=120, allow_unicode=True)
