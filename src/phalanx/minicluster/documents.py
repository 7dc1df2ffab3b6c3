"""Objects as plain dicts that are never changed in place: reading them, and making copies that share what stayed."""

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

from phalanx.minicluster.times import stamp
from phalanx.model.objects import ObjectKey

Document = dict[str, Any]
Kind = tuple[str, str]  # API group and kind

POD: Kind = ("", "Pod")
NODE: Kind = ("", "Node")
LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # of generated names and fingerprints, as Kubernetes draws them
ANNOTATED = "minicluster.phalanx.dev/"  # what a pod or node is to do here: the card of this room has the list


def group_of(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def key_of(doc: Document) -> ObjectKey:
    """What it is called. What has no namespace stands in ``default``."""
    meta = doc["metadata"]
    return ObjectKey(group_of(doc["apiVersion"]), doc["kind"], meta.get("namespace") or "default", meta["name"])


def kind_of(doc: Document) -> Kind:
    return group_of(doc["apiVersion"]), doc["kind"]


def uid_of(doc: Document) -> str:
    return str(doc["metadata"]["uid"])


def is_leaving(doc: Document) -> bool:
    return "deletionTimestamp" in doc["metadata"]


# -- copies ------------------------------------------------------------------------------------------------------


def changed(doc: Document, *path: str, to: Any) -> Document:
    """A copy with another value there; None takes it away."""
    first, *rest = path
    value = changed(doc.get(first) or {}, *rest, to=to) if rest else to
    if value is None:
        return {key: each for key, each in doc.items() if key != first}
    return {**doc, first: value}


def merged(doc: Document, *path: str, **values: Any) -> Document:
    """A copy with these values in the mapping there."""
    for name, value in values.items():
        doc = changed(doc, *path, name, to=value)
    return doc


def annotation(doc: Document, name: str) -> str | None:
    """One of this room's own annotations."""
    found = (doc["metadata"].get("annotations") or {}).get(ANNOTATED + name)
    return None if found is None else str(found)


def fingerprint(value: Any) -> str:
    """Ten letters that tell one template from another."""
    digest = blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=10).digest()
    return "".join(LETTERS[byte % len(LETTERS)] for byte in digest)


def labels_of(doc: Document) -> dict[str, str]:
    return doc["metadata"].get("labels") or {}


def selected(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in wanted.items())


# -- owners ------------------------------------------------------------------------------------------------------


def owners_of(doc: Document) -> list[Document]:
    return doc["metadata"].get("ownerReferences") or []


def reference(owner: Document, controller: bool = True) -> Document:
    """What an object says of its owner."""
    meta = owner["metadata"]
    made = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"]}
    return {**made, "controller": True, "blockOwnerDeletion": True} if controller else made


def controller_of(doc: Document) -> Document | None:
    """The reference to what made it and looks after it."""
    return next((each for each in owners_of(doc) if each.get("controller")), None)


def owner_key(doc: Document, owner: Document) -> ObjectKey:
    """What an owner is called: it stands in the same namespace, or in none."""
    return ObjectKey(group_of(owner["apiVersion"]), owner["kind"], key_of(doc).namespace, owner["name"])


# -- conditions --------------------------------------------------------------------------------------------------


def condition(doc: Document, of_type: str) -> Document:
    """The condition of that type; empty where there is none."""
    found = (doc.get("status") or {}).get("conditions") or ()
    return next((each for each in found if each.get("type") == of_type), {})


def holds(doc: Document, of_type: str) -> bool:
    return bool(condition(doc, of_type).get("status") == "True")


def with_condition(doc: Document, now: float, of_type: str, status: bool | str, reason: str = "") -> Document:
    """A copy that says so; the time is that of the last change."""
    word = status if isinstance(status, str) else str(status)
    before = condition(doc, of_type)
    if (before.get("status"), before.get("reason", "")) == (word, reason):
        return doc
    since = before.get("lastTransitionTime") if before.get("status") == word else stamp(now)
    said = {"type": of_type, "status": word, "lastTransitionTime": since or stamp(now)}
    said |= {"reason": reason} if reason else {}
    listed: Iterable[Document] = (doc.get("status") or {}).get("conditions") or ()
    rest = [said if each.get("type") == of_type else each for each in listed]
    return changed(doc, "status", "conditions", to=rest if before else [*rest, said])
