"""What controllers ask of pods."""

from collections.abc import Iterable

from phalanx.minicluster.documents import Document, holds, is_leaving


def has_ended(pod: Document) -> bool:
    return pod["status"].get("phase") in ("Succeeded", "Failed")


def is_active(pod: Document) -> bool:
    """Neither over nor about to be."""
    return not is_leaving(pod) and not has_ended(pod)


def is_ready(pod: Document) -> bool:
    return not is_leaving(pod) and pod["status"].get("phase") == "Running" and holds(pod, "Ready")


def active(given: Iterable[Document]) -> list[Document]:
    return [pod for pod in given if is_active(pod)]


def least_useful(pod: Document) -> tuple[bool, bool, bool]:
    """By which to sort, so that those come first that are deleted first: without a node, not running, not ready."""
    return bool(pod["spec"].get("nodeName")), pod["status"].get("phase") == "Running", is_ready(pod)
