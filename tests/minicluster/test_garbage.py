"""What happens to the owned when the owner goes."""

from phalanx.minicluster import Pace
from phalanx.minicluster.documents import key_of
from tests.minicluster.site import Doc, Site, bare, is_leaving, job
from tests.testing import live_objects as objects


def owned(name: str, owner: Doc, blocking: bool = False, **metadata: object) -> Doc:
    """A pod with this owner, which does not control it."""
    head = {key: owner["metadata"][key] for key in ("name", "uid")}
    above = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], **head, "blockOwnerDeletion": blocking}
    pod = bare(objects.pod(name, 1))
    return {**pod, "metadata": {**pod["metadata"], "ownerReferences": [above], **metadata}}


def put(site: Site, doc: Doc) -> Doc:
    found = site.store.create(doc, site.now)
    site.run(0)
    return found


def gang(site: Site, name: str = "g") -> Doc:
    meta = {"name": name, "namespace": "default"}
    return site.add({"apiVersion": "phalanx.dev/v1alpha1", "kind": "Gang", "metadata": meta, "spec": {}})


def released(site: Site, pod: Doc) -> None:
    def write(found: Doc) -> Doc:
        return {**found, "metadata": {key: each for key, each in found["metadata"].items() if key != "finalizers"}}

    site.change(pod, write)


def test_the_owned_follow_their_owner_after_a_while() -> None:
    site = Site(Pace(garbage=(7.0, 7.0)))
    owner = gang(site)
    put(site, owned("a", owner))
    site.delete(owner)
    site.run(6)
    assert site.get("phalanx.dev", "Gang", "g") is None and site.names() == ["a"]
    site.run(1)
    assert site.names() == []


def test_an_owner_of_another_uid_is_no_owner() -> None:
    site = Site()
    owner = gang(site)
    put(site, owned("a", owner))
    site.store.delete(key_of(owner), site.now)
    site.store.create(bare(owner), site.now)  # nobody looked in between
    site.run(0)
    assert site.names() == []


def test_with_an_owner_left_it_stays_and_forgets_the_other() -> None:
    site = Site()
    first, second = gang(site), gang(site, "h")
    pod = owned("a", first)
    pod["metadata"]["ownerReferences"] += owned("a", second)["metadata"]["ownerReferences"]
    put(site, pod)
    site.delete(first)
    site.run(0)
    assert [each["name"] for each in site.there("", "Pod", "a")["metadata"]["ownerReferences"]] == ["h"]


def test_orphans_stay_without_the_reference() -> None:
    site = Site()
    owner = gang(site)
    put(site, owned("a", owner))
    site.delete(owner, "Orphan")
    assert site.get("phalanx.dev", "Gang", "g") is None
    assert "ownerReferences" not in site.there("", "Pod", "a")["metadata"]


def test_in_the_foreground_the_owner_waits_for_what_blocks_it() -> None:
    site = Site()
    owner = gang(site)
    held = put(site, owned("a", owner, blocking=True, finalizers=["example.org/hold"]))
    put(site, owned("b", owner))
    site.delete(owner, "Foreground")
    assert is_leaving(site.there("", "Pod", "a")) and site.names() == ["a"]
    assert is_leaving(site.there("phalanx.dev", "Gang", "g"))
    released(site, held)
    assert site.names() == [] and site.get("phalanx.dev", "Gang", "g") is None


def test_what_does_not_block_is_not_waited_for() -> None:
    site = Site()
    owner = gang(site)
    put(site, owned("a", owner, finalizers=["example.org/hold"]))
    site.delete(owner, "Foreground")
    assert site.get("phalanx.dev", "Gang", "g") is None and site.names() == ["a"]


def test_pods_of_a_deleted_job_are_let_go_by_the_job_controller_and_end_in_their_time() -> None:
    site = Site(Pace(ending=(5.0, 5.0)))
    own = site.add(job(pods=3))
    site.bind(5)
    site.delete(own)
    assert all(is_leaving(pod) for pod in site.pods()) and len(site.pods()) == 3
    site.run(5)
    assert site.pods() == []
