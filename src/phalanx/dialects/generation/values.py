"""What generation hands back: objects to write, and small changes to objects that others have written."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem

Document = dict[str, Any]
Problems = tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Linked:
    """Labels and annotations that a pod template lacks. ``path``: of the template in its owner, ``spec.template``."""

    owner: ObjectKey
    path: str
    metadata: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Adoption:
    """An owner that a user's object gets, so that it goes when its workload does. (W-116, W-120)"""

    of: ObjectKey
    reference: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Default:
    """A value that a user's object leaves out and the workload it names, or the cluster's policy, knows. (W-071)"""

    of: ObjectKey
    path: str
    value: object


@dataclass(frozen=True, slots=True)
class Generation:
    """Everything that is intended. ``objects``: whole documents, to be created or, where they exist, replaced.

    Objects that are as they should be are not among them, so that a second look intends nothing.
    """

    objects: tuple[Document, ...] = ()
    templates: tuple[Linked, ...] = ()
    adoptions: tuple[Adoption, ...] = ()
    defaults: tuple[Default, ...] = ()
    problems: Problems = ()
    warnings: Problems = ()


def together(parts: Iterable[Generation]) -> Generation:
    """All of it, in the order of the parts."""
    listed = tuple(parts)
    return Generation(
        tuple(chain.from_iterable(part.objects for part in listed)),
        tuple(chain.from_iterable(part.templates for part in listed)),
        tuple(chain.from_iterable(part.adoptions for part in listed)),
        tuple(chain.from_iterable(part.defaults for part in listed)),
        tuple(chain.from_iterable(part.problems for part in listed)),
        tuple(chain.from_iterable(part.warnings for part in listed)),
    )
