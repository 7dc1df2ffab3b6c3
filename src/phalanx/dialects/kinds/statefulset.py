"""apps/v1 StatefulSet: one pod set, ``main``. A gang when its pods start at once, none when they start in order."""

from phalanx.dialects import outline, replicated, wishes
from phalanx.dialects.fields import Field
from phalanx.dialects.outline import Outline
from phalanx.dialects.recognised import POD_INDEX
from phalanx.dialects.replicated import Replicas
from phalanx.dialects.surroundings import Surroundings, identity
from phalanx.dialects.wishes import Wish

_KIND = "StatefulSet"
_ORDERED, _PARALLEL = "OrderedReady", "Parallel"
_READ = ("podManagementPolicy", "serviceName", "ordinals", "volumeClaimTemplates", "updateStrategy")
_NAMED_MAX = 5  # claim templates that a warning names


def read(doc: Field, around: Surroundings) -> Outline | None:
    """The normal form of a StatefulSet; None when it wants no pods.

    Parallel: all replicas are one gang, ranked by their index (W-135). OrderedReady: each pod is made when the one
    before it is ready, so that whoever waited for all of them would wait for ever (W-136).
    """
    spec = doc.at("spec")
    replicated.check(doc, _KIND, *_READ)
    policy = _policy(spec.at("podManagementPolicy"))
    spec.at("ordinals").mapping()
    spec.at("ordinals", "start").integer(0)
    _warn_of_claims(doc, around)
    wanted = replicated.replicas(doc, _KIND, around)
    if wanted is None:
        return None
    wish = replicated.of_template(doc, around)
    if policy == _ORDERED:
        return replicated.whole(doc, _KIND, around, wanted, {"minCount": _in_order(doc, wish), **wish})
    together = wishes.mode(doc.at("metadata"), "Gang", "Off") != "Off"
    least = _least(doc, wanted) if together else outline.least_alone(wish)
    rank = {"fieldPath": f"metadata.labels['{POD_INDEX}']"}  # a label, and it counts from ordinals.start
    return replicated.whole(doc, _KIND, around, wanted, {"minCount": least, "rank": rank, **wish})


def _least(doc: Field, wanted: Replicas) -> object:
    """Pods that start together: all, or as few as KAI's annotation says."""
    return wishes.least_members(doc.at("metadata"), wanted.count, "replicas")


def _policy(at: Field) -> str:
    """How its pods start. A wrong one is read as the policy that forbids less: one Problem is enough."""
    return at.choice(_PARALLEL, _ORDERED, _PARALLEL) if at.present else _ORDERED


def _in_order(doc: Field, wish: Wish) -> object:
    """``minCount`` of pods of which there is one at first. Anything that waits for more is a Problem."""
    replicated.warn_of_minimum(doc, f"with podManagementPolicy {_ORDERED} pods start one by one")
    mode = doc.at("metadata", "annotations", wishes.GANG_MODE)
    if mode.value == "Gang":
        mode.wrong(
            f"a gang would wait for ever: with podManagementPolicy {_ORDERED} a pod is made when the one before it "
            f"is ready; use {_PARALLEL}",
            ("Off",),
        )
    else:
        wishes.mode(doc.at("metadata"), "Off")
    least = outline.least_alone(wish)
    if isinstance(least, Field) and least.value != 1:
        least.wrong(
            f"slices would wait for ever: with podManagementPolicy {_ORDERED} a pod is made when the one before it "
            f"is ready; use {_PARALLEL}"
        )
    return least


# -- claims ------------------------------------------------------------------------------------------------------


def _warn_of_claims(doc: Field, around: Surroundings) -> None:
    """Says which volumes are left out of the decision: each pod has its own, made and bound when the pod is."""
    at = doc.at("spec", "volumeClaimTemplates")
    names = [_claim_name(one) for one in at.items()]
    if not names:
        return
    listed = ", ".join(name[:60] for name in names[:_NAMED_MAX]) + (", ..." if len(names) > _NAMED_MAX else "")
    at.warn(f"each pod gets its own claims ({listed}), bound after it is placed: no node is ruled out for them")
    namespace, name = identity(doc)
    claims = {f"{claim}-{name}" for claim in names}
    bound = sorted(
        claim
        for (where, claim), found in around.claims.items()
        if where == namespace and found.volume and claim.rpartition("-")[0] in claims
    )
    if bound:
        at.warn(f"claim {bound[0]} is bound already, and that its pod must reach the volume is not looked at yet")


def _claim_name(one: Field) -> str:
    at = one.at("metadata", "name")
    if not at.present:
        at.wrong("a claim template needs a name")
    return at.name("")
