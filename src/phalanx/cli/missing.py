"""Why there is nothing to say of a name: nobody goes by it, or what does is none of our gangs."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from phalanx.cli import handing, naming
from phalanx.cli.clusters import Look
from phalanx.cli.errors import Failed
from phalanx.cli.kin import Kin, title
from phalanx.dialects import documents, readers
from phalanx.dialects.documents import Document, Role
from phalanx.dialects.following import Marks, ours
from phalanx.kube.glance import Glance

NAMES_SHOWN = 5


def failed(look: Look, seen: Glance, name: str, marks: Marks, others: Iterable[str] = ()) -> Failed:
    """Why there is nothing to say of a name. ``others``: what else there is that could have been meant."""
    for doc in workloads(look, name):
        return _nothing(doc, Kin.of(look), seen, marks)
    known = {one.id: one.request.namespace for one in seen.gangs()}
    known |= {f"{one.namespace}/{one.name}": one.namespace for _, one in seen.told.refused}
    known |= {other: other.partition("/")[0] for other in sorted(others) if other not in known}
    where = f" in namespace {look.namespace}" if look.namespace is not None and "/" not in name else ""
    return Failed(f"there is no workload {name!r}{where}", _hint(look, name, known))


def _nothing(doc: Document, kin: Kin, seen: Glance, marks: Marks) -> Failed:
    """Why an object that is there is no gang of ours."""
    key = doc.key
    odd = [str(problem) for subject, problems in seen.told.dangling if subject.key == key for problem in problems]
    if odd:
        return Failed(f"nothing of {title(key)} is placed yet", "\n".join(odd))
    if not marks.covers(doc.namespace):
        return Failed(f"{title(key)} is not handed to phalanx: it is told to leave namespace {doc.namespace} alone")
    below = [kin.docs[one] for one in kin.holds(key) if one in kin.docs]
    if not below and key.of_kind in readers.GATHERERS:
        return Failed(f"nothing of {title(key)} is placed yet: no pod or pod template names it")
    if ours.is_marked([doc, *below], marks):
        return Failed(f"nothing of {title(key)} is to be placed: it asks for no pods")
    return Failed(
        f"{title(key)} is not handed to phalanx: its pods name another scheduler, and it has no mark of ours",
        f"What hands it over: {handing.how(doc, marks)}.",
    )


def _hint(look: Look, name: str, known: Mapping[str, str]) -> str:
    """What may have been meant, wherever it is; else what there is here. ``known``: the namespaces of all there are."""
    close = _close(name, list(known))
    if close:
        return f"Did you mean {', '.join(close)}?"
    here = [one for one, namespace in known.items() if look.shows(namespace)]
    elsewhere = f" in namespace {look.namespace}" if look.namespace is not None else ""
    return f"There are{elsewhere}: {_some(here)}"


def _close(name: str, known: list[str]) -> list[str]:
    """Those whose name is much the same, and those of that very name elsewhere."""
    last = name.rpartition("/")[2]
    by_last = {who: who.rpartition("/")[2] for who in known}
    near = get_close_matches(last, by_last.values(), n=NAMES_SHOWN, cutoff=0.7)
    return [who for who in known if by_last[who] in near or last in by_last[who].split("#")][:NAMES_SHOWN]


def _some(names: list[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return (", ".join(sorted(names)[:NAMES_SHOWN]) or "none") + more


def workloads(look: Look, name: str) -> list[Document]:
    """The objects of a name that ask for pods."""
    found, _ = documents.sort(look.objects)
    able = [one for one in found if one.role is Role.WORKLOAD and one.kind != "Pod"]
    return [one for one in able if naming.is_meant(one.kind, one.namespace, one.name, name, look)]
