"""All lifecycles together: what is intended for a pile of documents."""

from collections.abc import Iterable, Mapping
from typing import Any

from phalanx.dialects import documents
from phalanx.dialects.fields import Field, Notes
from phalanx.dialects.generation import adopting, defaulting, linking, made, stacks
from phalanx.dialects.generation.stacks import CRON_JOB, Pile, Top
from phalanx.dialects.generation.values import Document, Generation, together
from phalanx.dialects.jobset import generated
from phalanx.dialects.links import LABEL_MAX
from phalanx.dialects.outline import Outline
from phalanx.dialects.surroundings import Surroundings
from phalanx.model.objects import ObjectKey
from phalanx.model.problems import Problem

_NOTHING: Mapping[str, object] = {}
_NO_SURROUNDINGS = Surroundings()
_JOB_SET = (generated.API_GROUP, generated.KIND)
_SHOWN = 5  # paths that a warning names


def generate(
    docs: object, around: Surroundings = _NO_SURROUNDINGS, usual: Mapping[str, object] = _NOTHING
) -> Generation:
    """What is to be made, linked, adopted and filled in for the workloads among the documents.

    Documents that exist already belong to the input: what is as it should be is not intended again. ``usual``: fields
    of a Gang's spec, such as time-outs, for those who say nothing.
    """
    sorted_docs, unrecognised = documents.sort(docs)
    pile = stacks.read(sorted_docs, around)
    return together(
        (
            Generation(problems=tuple(unrecognised)),
            *_each(pile.tops, pile, usual),
            adopting.of(pile),
            defaulting.of(pile, usual),
        )
    )


def for_run(
    cronjob: Mapping[str, Any],
    job: str,
    uid: str | None = None,
    docs: Iterable[object] = (),
    around: Surroundings = _NO_SURROUNDINGS,
) -> Generation:
    """What is made for one run of a CronJob: a Gang named as its Job and owned by it. (W-122, W-126)

    ``docs``: what exists beside it. Paths of templates are those of the Job.
    """
    run = run_of(cronjob, job, uid)
    sorted_docs, _ = documents.sort([run, cronjob, *docs])
    pile = stacks.read(sorted_docs, around)
    return together(_each([top for top in pile.tops if top.doc.value is run], pile, _NOTHING))


def run_of(cronjob: Mapping[str, Any], name: str, uid: str | None = None) -> Document:
    """The Job of one run of a CronJob, as its controller makes it."""
    doc = Field.of(cronjob, Notes())
    template = doc.at("spec", "jobTemplate")
    own = {part: template.at("metadata", part).value for part in ("labels", "annotations")}
    place = {"name": name, "namespace": doc.at("metadata", "namespace").value, "uid": uid}
    known = {part: one for part, one in {**place, **own}.items() if one is not None}
    metadata = {**known, "ownerReferences": [made.owner(doc)]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": template.at("spec").value}


# -- one workload ------------------------------------------------------------------------------------------------


def _each(tops: Iterable[Top], pile: Pile, usual: Mapping[str, object]) -> list[Generation]:
    taken: dict[ObjectKey, Top] = {}
    return [_of(top, pile, usual, taken) for top in tops]


def _of(top: Top, pile: Pile, usual: Mapping[str, object], taken: dict[ObjectKey, Top]) -> Generation:
    """What is made for one workload; nothing where its user, or nobody, speaks for its pods."""
    if top.problems or top.outline is None or top.kind == CRON_JOB:
        return Generation(problems=top.problems)
    own = _own_key(top)
    said = [link for link in top.links if top.target(link) != own or not _is_made(own, top, pile)]
    if said:
        return _named_by_user(top, top.outline, own, pile)
    if top.key in pile.referring:
        return Generation(warnings=(_unlinked(top, pile.referring[top.key][0]),))
    if top.kind == _JOB_SET:
        return _workload(top, own, pile)
    if not made.wants_gang(top):
        return Generation(warnings=_left_over(top, own, pile))
    clash = _clash(top, own, pile, taken)
    if clash is not None:
        return clash
    taken[own] = top
    return _gang(top, top.outline, own, pile, usual)


def _own_key(top: Top) -> ObjectKey:
    """What an object generated for the workload is called."""
    if top.kind == _JOB_SET:
        return ObjectKey(*defaulting.WORKLOAD, top.doc.namespace, generated.workload_name(top.doc.name))
    return ObjectKey(*made.GANG, top.doc.namespace, top.doc.name)


def _is_made(own: ObjectKey, top: Top, pile: Pile) -> bool:
    existing = pile.neighbours.find(*own)
    return existing is not None and made.is_of(existing, top)


def _named_by_user(top: Top, outline: Outline, own: ObjectKey, pile: Pile) -> Generation:
    """Nothing: templates that name an object leave no room for another. (W-078, W-086, X-43)"""
    without = linking.unnamed(outline)
    warnings = () if any(top.target(link) == own for link in top.links) else _left_over(top, own, pile)
    if without:
        listed = ", ".join(without[:_SHOWN])
        said = f"some of its pod templates name what they belong to and others do not: {listed}; nothing is generated"
        warnings = (*warnings, top.note(said))
    return Generation(warnings=warnings)


def _left_over(top: Top, own: ObjectKey, pile: Pile) -> tuple[Problem, ...]:
    """A word about an object that was generated for the workload and has no use now."""
    if not _is_made(own, top, pile):
        return ()
    return (top.note(f"{own[1]} {own[3]} was generated for it and is not needed any more; delete it"),)


def _unlinked(top: Top, users: ObjectKey) -> Problem:
    """About an object of its user that says it is for this workload, though no template names it. (W-068, W-082)"""
    _, kind, _, name = users
    hint = f"label them phalanx.dev/gang: {name[:100]}" if users.of_kind == made.GANG else "link them, or drop it"
    said = f"its pod templates do not name {kind} {name[:100]}, whose controllerRef names it; {hint}"
    return top.note(f"{said}; nothing is generated")


def _clash(top: Top, own: ObjectKey, pile: Pile, taken: Mapping[ObjectKey, Top]) -> Generation | None:
    """A Gang of that name that is somebody else's is neither taken over nor replaced. (J-052)"""
    existing = pile.neighbours.find(*own)
    if own in taken:
        whose = f"is made for {taken[own].doc.title} already"
    elif existing is not None and not made.is_of(existing, top):
        whose = f"exists and does not belong to it; rename one of them, or label its pods phalanx.dev/gang: {own[3]}"
    else:
        return None
    name = top.at.at("metadata", "name")
    name.mistaken(f"would get Gang {own[2]}/{own[3]}, which {whose}")
    return Generation(problems=top.problems)


# -- what is made ------------------------------------------------------------------------------------------------


def _gang(top: Top, outline: Outline, own: ObjectKey, pile: Pile, usual: Mapping[str, object]) -> Generation:
    if not top.at.at("metadata", "name").present:
        return Generation(warnings=(top.note("has no name yet; its Gang is made when it has one"),))
    existing, fresh = pile.neighbours.find(*own), made.gang(top, outline, usual)
    wanted = fresh if existing is None else made.following(_document(existing), fresh)
    objects = () if existing is not None and existing.value == wanted else (wanted,)
    apart = made.departures(wanted, fresh)
    said = f"Gang {own[3]} says something else than it does, and is left so: {', '.join(apart[:_SHOWN])}"
    linked = _links(top, outline, own)
    return together([Generation(objects, warnings=(top.note(said),) if apart else ()), linked])


def _links(top: Top, outline: Outline, own: ObjectKey) -> Generation:
    """Labels for the templates, or a word about why there are none: some without the others would be worse."""
    at = linking.places(outline, top.doc.value)
    if at is None or any(len(group) > LABEL_MAX for group in at.values()):
        said = f"its pod templates cannot say which group of Gang {own[3]} a pod is in; pods are known by their owner"
        return Generation(warnings=(top.note(said),))
    return Generation(templates=linking.missing(top.key, top.doc.value, own[3], at))


def _workload(top: Top, own: ObjectKey, pile: Pile) -> Generation:
    """The Workload of a JobSet; its pods are linked where their Jobs are made, since they differ by Job. (J-033)"""
    doc = Field.of(top.doc.value, Notes(), top.doc.key)
    fresh = generated.generate(doc, pile.around).workload
    if doc.notes.problems:
        return Generation(problems=tuple(doc.notes.problems))
    if fresh is None:
        return Generation(warnings=_left_over(top, own, pile))
    existing = pile.neighbours.find(*own)
    wanted = fresh if existing is None else made.over(_document(existing), fresh)
    return Generation(() if existing is not None and existing.value == wanted else (wanted,))


def _document(at: Field) -> Mapping[str, Any]:
    return at.value if isinstance(at.value, dict) else {}
