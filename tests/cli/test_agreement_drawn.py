"""Files drawn at random: each workload has an answer, and all commands have the same one."""

from random import Random
from typing import Any

import pytest

from tests.cli import agreeing
from tests.cli.agreeing import Captured
from tests.cli.test_agreement import agree
from tests.cluster import docs as small
from tests.cluster.docs import GPU, Doc

GANGS = ("a", "b", "gone")  # the last is named, and never given


def drawn(seed: int) -> list[Doc]:
    """Some workloads in any order: whole, elastic, optional, linked to what is there and to what is not.

    One workload to a gang: in which order several are taken, and whether a pod or a template counts where both are
    given and differ, is the order of the files for the one and age and name for the other.
    """
    chance = Random(seed)
    links = [*GANGS[:2], *[GANGS[2]] * 2, *[None] * 4]
    chance.shuffle(links)
    given = [_workload(chance, f"w{number}", links.pop()) for number in range(chance.randint(2, 6))]
    gangs = [_gang(chance, name) for name in GANGS[:2] if chance.random() < 0.7]
    given += gangs
    chance.shuffle(given)
    return given


def _workload(chance: Random, name: str, link: str | None) -> Doc:
    template = _template(chance)
    if link is not None:
        template["metadata"] = {"labels": {"phalanx.dev/gang": link}}
    kind, many = chance.choice(("Pod", "Job", "Deployment", "JobSet", "Gang")), chance.randint(1, 6)
    about = {"metadata": {"name": name, "namespace": "serving"}}
    match kind:
        case "Pod":
            metadata = {**about["metadata"], **template.get("metadata", {})}
            return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": template["spec"]}
        case "Job":
            spec: Doc = {"parallelism": many, "completions": many, "template": template}
            return {"apiVersion": "batch/v1", "kind": kind, **about, "spec": spec}
        case "Deployment":
            spec = {"replicas": many * 4, "selector": {"matchLabels": {"app": name}}, "template": template}
            return {"apiVersion": "apps/v1", "kind": kind, **about, "spec": spec}
        case "JobSet":
            jobs = [
                {"name": part, "template": {"spec": {"parallelism": many, "completions": many, "template": one}}}
                for part, one in (("x", template), ("y", _template(chance)))
            ]
            return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": kind, **about, "spec": {"replicatedJobs": jobs}}
    return _gang(chance, name, template={"spec": template["spec"]})


def _gang(chance: Random, name: str, **more: Any) -> Doc:
    """With a template, or one whose pods are told by whoever names it."""
    if not more:
        return small.gang(name, {"name": "workers", "minCount": chance.randint(1, 3)})
    count = chance.randint(1, 6)
    group = {"name": "g", "count": count, "minCount": chance.randint(1, count), **more}
    other = {"name": "h", "count": chance.randint(1, 6), **more}
    return small.gang(name, group, other, **({"minGroups": 1} if chance.random() < 0.5 else {}))


def _template(chance: Random) -> Doc:
    amounts = {GPU: str(chance.choice((2, 4, 8, 16)))}
    container = {"name": "main", "resources": {"requests": amounts, "limits": amounts}}
    return {"spec": {"schedulerName": "phalanx", "containers": [container]}}


@pytest.mark.parametrize("seed", range(30))
def test_drawn_files_have_one_answer_in_all_commands(seed: int, write: Any, capsys: Captured) -> None:
    agree(capsys, "-f", write(*small.cluster(), *drawn(seed)))


@pytest.mark.parametrize("seed", range(15))
def test_of_every_document_there_is_an_answer(seed: int, write: Any, capsys: Captured) -> None:
    """Its own, or that of the gang that its pods name; of several pods that name the same, one speaks for all."""
    given = drawn(seed)
    file = write(*small.cluster(), *given)
    _, placed = agreeing.placed(capsys, "-f", file)
    for doc in given:
        name = doc["metadata"]["name"]
        code, told = agreeing.asked(capsys, "explain", f"{doc['kind'].lower()}/serving/{name}", "-f", file)
        assert told is not None and told["decisions"], f"{doc['kind']} {name} is lost"
        answers = agreeing.decisions(told["decisions"])
        assert answers.items() <= placed.items()
        assert (code == 0) == all(one.status == "Placed" and not one.left_out for one in answers.values())
