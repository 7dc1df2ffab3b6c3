"""A cluster to which things happen, drawn from a seed: pods are bound, deleted and fail, workloads come and go."""

import json
import random
from contextlib import suppress

from phalanx.minicluster import Pace
from phalanx.minicluster.errors import Rejected
from tests.minicluster.site import Doc, Site, is_leaving
from tests.testing.made_by_controllers import MADE, OTHERWISE

KINDS = {kind: made for kind, made in {**MADE, **OTHERWISE}.items() if kind != "Rollout"}  # has no controller here


def pace(chance: random.Random) -> Pace:
    return Pace(
        reaction=(0.0, chance.choice([0.0, 0.5, 5.0])),
        at_once=chance.choice([0, 1, 2]),
        pause=chance.choice([0.1, 2.0]),
        shuffled=chance.random() < 0.5,
        ready=(0.0, chance.choice([0.0, 8.0])),
        ending=(0.0, chance.choice([0.0, 15.0])),
        stays=(0.0, chance.choice([0.0, 3.0])),
        succeeds=chance.random(),
        garbage=(0.0, chance.choice([0.0, 20.0])),
        backoff=1.0,
        workload_with_job=chance.random() < 0.5,
    )


def churned(kind: str, seed: int, steps: int = 40) -> Site:
    chance = random.Random(seed)
    site = Site(pace(chance), nodes=8, seed=seed)
    given = [doc for doc in KINDS[kind]() if "ownerReferences" not in doc["metadata"]]
    site.add(*given)
    for _ in range(steps):
        site.run(chance.choice([0.0, 0.3, 2.0, 10.0]))
        happens(site, given[-1], chance)
    return site


def happens(site: Site, workload: Doc, chance: random.Random) -> None:
    pods = site.pods()
    match chance.choice(["bind", "bind", "bind", "delete", "fail", "again"]):
        case "bind":
            site.bind()
        case "delete" if pods:
            pod = chance.choice(pods)
            site.delete(pod, chance.choice(["Background", "Foreground"]))
        case "fail" if pods:
            pod = chance.choice(pods)
            if not is_leaving(pod):
                site.annotate(pod, runs_for="0", fails=chance.choice(["0", "1", "137"]), times="1")
        case "again":
            again(site, workload, chance)


def again(site: Site, workload: Doc, chance: random.Random) -> None:
    """Deleted and made again at once, sometimes."""
    if chance.random() < 0.3:
        with suppress(Rejected):  # it is gone already
            site.delete(workload, chance.choice(["Background", "Foreground", "Background"]))
    with suppress(Rejected):  # it is still there
        site.add(workload)


def bytes_of(site: Site) -> str:
    """All that ever happened there."""
    return json.dumps([list(event) for event in site.store.all_events_since(0)])


if __name__ == "__main__":
    print(*(bytes_of(churned(kind, 7)) for kind in sorted(KINDS)), sep="\n")
