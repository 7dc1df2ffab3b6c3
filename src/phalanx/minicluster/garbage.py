"""The garbage collector: what has lost all its owners is deleted, what is deleted in the foreground waits for its own.

Owners are looked up by uid, in the same namespace or among what has none. Left out: owners of kinds that are not known.
"""

from collections.abc import Iterable

from phalanx.minicluster.context import Context
from phalanx.minicluster.controller import Controller
from phalanx.minicluster.documents import Document, changed, is_leaving, key_of, owner_key, owners_of, uid_of
from phalanx.minicluster.store import DELETED, FOREGROUND, ORPHAN, Event
from phalanx.model.objects import ObjectKey


def concerned(context: Context, event: Event) -> Iterable[ObjectKey]:
    """What it is about, what it owns, and who may wait for it to go."""
    doc = event.document
    if event.type == DELETED:
        yield from (owner_key(doc, each) for each in owners_of(doc))
        yield from map(key_of, context.store.owned_by(uid_of(doc)))
    elif owners_of(doc) or is_leaving(doc):
        yield key_of(doc)


def reconcile(context: Context, key: ObjectKey, now: float) -> None:
    doc = context.store.get(key)
    if doc is None:
        return
    if is_leaving(doc):
        _let_go(context, doc, now)
    elif owners_of(doc):
        _collect(context, doc, now)


def _let_go(context: Context, doc: Document, now: float) -> None:
    """What the finalizers of deletion ask for: dependants without this owner, or gone before it."""
    finalizers = doc["metadata"].get("finalizers") or []
    mine = context.store.owned_by(uid_of(doc))
    if ORPHAN in finalizers:
        for each in mine:
            context.write(each, lambda found: _without(found, {uid_of(doc)}), now)
        _finalized(context, doc, ORPHAN, now)
    elif FOREGROUND in finalizers:
        for each in mine:
            if not is_leaving(each):
                _collect(context, each, now)
        mine = context.store.owned_by(uid_of(doc))
        if not any(_blocks(each, doc) for each in mine):
            _finalized(context, doc, FOREGROUND, now)


def _collect(context: Context, doc: Document, now: float) -> None:
    """Deletes it if no owner is there to stay; else takes away the references to those that are not."""
    owners = [(each, _owner(context, doc, each)) for each in owners_of(doc)]
    staying = [each for each, owner in owners if owner is not None and not _waits(owner)]
    if staying:
        going = {each["uid"] for each in owners_of(doc) if each not in staying}
        if going:
            context.write(doc, lambda found: _without(found, going), now)
        return
    waited_for = any(owner is not None for _, owner in owners)
    with_its_own = waited_for and bool(context.store.owned_by(uid_of(doc)))
    context.remove(doc, now, "Foreground" if with_its_own else "Background")


def _owner(context: Context, doc: Document, said: Document) -> Document | None:
    found = context.store.get(owner_key(doc, said))
    return found if found is not None and uid_of(found) == said["uid"] else None


def _waits(owner: Document) -> bool:
    return is_leaving(owner) and FOREGROUND in (owner["metadata"].get("finalizers") or ())


def _blocks(doc: Document, owner: Document) -> bool:
    return any(each["uid"] == uid_of(owner) and each.get("blockOwnerDeletion") for each in owners_of(doc))


def _without(doc: Document, uids: set[str]) -> Document:
    rest = [each for each in owners_of(doc) if each["uid"] not in uids]
    return changed(doc, "metadata", "ownerReferences", to=rest or None)


def _finalized(context: Context, doc: Document, finalizer: str, now: float) -> None:
    def write(found: Document) -> Document:
        rest = [each for each in found["metadata"].get("finalizers") or () if each != finalizer]
        return changed(found, "metadata", "finalizers", to=rest or None)

    context.write(doc, write, now)


CONTROLLER = Controller("GarbageCollector", (), concerned, reconcile, lambda pace: pace.garbage)
