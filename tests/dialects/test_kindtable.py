"""The table of kinds: complete or refused, and what is written of kinds elsewhere agrees with it."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from phalanx.dialects import documents, kindtable, links, owners, readers
from phalanx.dialects.documents import Role
from phalanx.dialects.kindtable import ROWS, Followed, KindRow, KindTableError, PodIdentity, Purpose
from phalanx.kube import kindpage, kinds, ledger
from phalanx.kube.crds.kinds import KINDS

ROOT = Path(__file__).parents[2]
GROUPING = (ROOT / "docs" / "grouping.md").read_text(encoding="utf-8")
JOB = kindtable.BY_KEY["batch", "Job"]
GANG = kindtable.BY_KEY["phalanx.dev", "Gang"]
NEVER: dict[str, Any] = {"followed": Followed.NEVER, "why_not": "for a reason"}


# -------------------------------------------------------------------------------------------------------- what is open


@pytest.mark.parametrize(
    ("row", "hole"),
    [
        (replace(JOB, plural=""), "Job (batch): it has no plural"),
        (replace(JOB, versions=()), "Job (batch): it has no version that is read, and is followed"),
        (replace(JOB, followed=Followed.NEVER), "Job (batch): it is not followed, and does not say why"),
        (replace(JOB, why_not="why"), "Job (batch): it is followed, and says why not"),
        (replace(JOB, pods=None), "Job (batch): how its pods are told is not said"),
        (replace(JOB, **NEVER), "Job (batch): it is written to, and not followed"),
        (replace(GANG, **NEVER), "Gang (phalanx.dev): it is written to, and not followed"),
        (replace(GANG, suspended=True), "Gang (phalanx.dev): it is suspended, and makes no pods"),
        (replace(GANG, pods=PodIdentity.ALIKE), "Gang (phalanx.dev): it makes no pods, and says how they are told"),
        (replace(JOB, above=(("", "Crowd"),)), "Job (batch): Crowd (core) above it has no row"),
    ],
)
def test_a_row_that_leaves_something_open_is_refused_by_name(row: KindRow, hole: str) -> None:
    with pytest.raises(KindTableError) as raised:
        kindtable.checked((row, *(one for one in ROWS if one.key != row.key)))
    assert hole in str(raised.value)


def test_a_kind_or_a_short_name_stands_for_one_row() -> None:
    with pytest.raises(KindTableError, match=r"Job \(batch\) is the name of several kinds"):
        kindtable.checked((*ROWS, JOB))
    with pytest.raises(KindTableError, match="po is the name of several kinds"):
        kindtable.checked((*ROWS, replace(GANG, kind="Crowd", short=("po",))))


def test_a_kind_without_a_reader_and_a_reader_without_a_kind_are_refused() -> None:
    with pytest.raises(KindTableError, match=r"Job \(batch\) has no reader"):
        kindtable.complete("reader", [JOB.key, GANG.key], {GANG.key: 1})
    with pytest.raises(KindTableError, match=r"Gang \(phalanx.dev\) has a reader, and no row asks for it"):
        kindtable.complete("reader", [JOB.key], {JOB.key: 1, GANG.key: 2})


# ---------------------------------------------------------------------------------------------------- what comes of it


def test_every_workload_has_a_reader_and_every_row_that_is_read_is_recognised() -> None:
    assert set(readers.MAKERS) == {row.key for row in ROWS if row.purpose is Purpose.MAKES_PODS}
    assert set(readers.GATHERERS) == {row.key for row in ROWS if row.purpose is Purpose.GATHERS_PODS}
    for row in (one for one in ROWS if one.versions and one.purpose is not Purpose.OWNS_PODS):
        prefix = f"{row.group}/" if row.group else ""
        docs = [{"apiVersion": f"{prefix}{version}", "kind": row.kind, "metadata": {}} for version in row.versions]
        found, problems = documents.sort(docs)
        assert not problems
        assert {one.role for one in found} == {Role.WORKLOAD if row.is_workload else Role.STATE}
        assert not any(one.wrong_version for one in found)


def test_what_pods_name_is_a_kind_that_gathers_pods() -> None:
    carriers = [one for one in vars(links).values() if isinstance(one, links.Carrier)]
    assert {(one.api_group, one.kind) for one in carriers} <= set(readers.GATHERERS)
    above = {("scheduling.k8s.io", "CompositePodGroup")}  # named by the PodGroups that pods name
    assert set(readers.GATHERERS) - {(one.api_group, one.kind) for one in carriers} == above


def test_our_own_kinds_are_called_as_their_definitions_say() -> None:
    ours = {row.kind: (row.plural, row.short, row.namespaced) for row in ROWS if row.group == kindtable.OURS}
    assert ours == {one.name: (one.plural, one.short, one.namespaced) for one in KINDS}


def test_all_that_is_followed_but_pods_and_nodes_can_be_done_without() -> None:
    needed = {(one.group, one.kind) for one in kinds.NEEDED}
    assert needed == {row.key for row in ROWS if row.followed is Followed.NEEDED}
    assert {(row.group, row.kind) for row in kindtable.FOLLOWED} - needed == set(kinds.FOLLOWED)


def test_statuses_are_written_to_our_kinds_and_to_the_groups_of_kubernetes() -> None:
    written = {row.key for row in ROWS if row.status} - {kindtable.POD}
    ours = {row.key for row in ROWS if row.group == ledger.OURS}
    assert written == ours | {(ledger.UPSTREAM, kind) for kind in ledger.GROUPS}


def test_an_owner_that_names_no_api_group_is_of_the_group_of_its_kind() -> None:
    at = documents.Field.of({"metadata": {"ownerReferences": [{"kind": "TFJob", "name": "t", "controller": True}]}})
    found = owners.controller(at)
    assert found is not None
    assert found.api_group == "kubeflow.org"


# ----------------------------------------------------------------------------------------------- what is written of it


def rows_of(section: str) -> list[list[str]]:
    """The rows of the table in a section of docs/grouping.md, cell by cell."""
    text = GROUPING.partition(f"## {section}\n")[2].partition("\n## ")[0]
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("| ")]


def words(cells: Sequence[str]) -> set[str]:
    return {word for cell in cells for word in re.findall(r"[A-Za-z]+", cell)}


def test_every_kind_whose_pods_are_told_has_a_row_in_the_grouping_page() -> None:
    shown = words([row[0] for row in rows_of("The table")])
    assert {row.kind for row in ROWS if row.pods is not None} <= shown


def test_the_grouping_page_says_which_keys_tell_the_pods_of_a_kind() -> None:
    shown = words([row[0] for row in rows_of("Keys that are read from pods")])
    told = {row.kind for row in ROWS if row.pods not in (None, PodIdentity.ALIKE, PodIdentity.BOUND_TO_NODES)}
    assert told == shown - {"kind"}


def test_the_grouping_page_shows_every_step_from_a_pod_to_its_workload() -> None:
    stacks = [re.split(r" → |, ", row[0]) for row in rows_of("The way from a pod to its row")]
    steps = {(word, above) for stack in stacks for one, two in pairwise(stack)
             for word in words([one]) for above in words([two])}  # fmt: skip
    assert [(row.kind, kind) for row in ROWS for _, kind in row.above if (row.kind, kind) not in steps] == []


def test_the_page_of_kinds_is_written_from_the_table() -> None:
    assert (ROOT / "docs" / "kinds.md").read_text(encoding="utf-8") == kindpage.page()


def test_definitions_that_are_shipped_are_those_of_our_kinds() -> None:
    files = [yaml.safe_load(path.read_text()) for path in (ROOT / "deploy" / "crds").glob("*.yaml")]
    shipped = {(one["spec"]["group"], one["spec"]["names"]["kind"], one["spec"]["names"]["plural"]) for one in files}
    assert shipped == {(row.group, row.kind, row.plural) for row in ROWS if row.group == kindtable.OURS}
