"""What all models share: how they are spelt, and the texts and numbers that occur in several."""

from typing import Annotated, Any, ClassVar

from msgspec import Meta, Struct

from phalanx.kube.crds.rules import Rule


class Model(Struct, frozen=True, omit_defaults=True, rename="camel"):
    """Part of an object. Fields that are None are not written; any other default becomes one of the schema.

    ``RULES``: what must hold between its fields. ``FIXED``: fields, as spelt in manifests, that never change.
    """

    RULES: ClassVar[tuple[Rule, ...]] = ()
    FIXED: ClassVar[tuple[str, ...]] = ()


def says(text: str, *rules: Rule, **extra: object) -> Meta:
    """The description of a field, with rules for its value and whatever else its schema needs."""
    listed = {"x-kubernetes-validations": [rule.written() for rule in rules]} if rules else {}
    return Meta(description=text, extra_json_schema={**listed, **extra} or None)


def keyed(key: str) -> dict[str, Any]:
    """For ``says``: a list whose entries are told apart by one of their fields."""
    return {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}


ATOMIC = {"x-kubernetes-list-type": "atomic"}

_LABEL_NAME = "[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DNS = "[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*"

Name = Annotated[str, Meta(min_length=1, max_length=253, pattern=r"""^[^\s/\[\]#'"]+$""")]
ShortName = Annotated[str, Meta(min_length=1, max_length=63, pattern=f"^{_LABEL_NAME}$")]  # fits into a label
LabelKey = Annotated[str, Meta(min_length=1, max_length=317, pattern=f"^({_DNS}/)?{_LABEL_NAME}$")]
LabelValue = Annotated[str, Meta(max_length=63)]
LevelName = Annotated[str, Meta(min_length=1, max_length=317)]
FieldPath = Annotated[
    str, Meta(max_length=340, pattern=r"^metadata\.(labels|annotations)\['[A-Za-z0-9./_-]{1,317}'\]$")
]
Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Amount = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Seconds = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Quantity = (
    int
    | Annotated[
        str,
        Meta(
            max_length=64, pattern=r"^[+]?([0-9]+([.][0-9]*)?|[.][0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$"
        ),
    ]
)
