"""Why pods that must be near the rest of their gang have no place: told of the domain where the rest of it runs.

They are asked for with node affinities that nobody wrote (``repair.asked``); a reason that names those would be about
nothing that people know.
"""

from dataclasses import replace

from phalanx.engine.repair import PART
from phalanx.model.decision import Waiting
from phalanx.model.reasons import Reason
from phalanx.model.request import PodSet, Request
from phalanx.model.topology import Tree
from phalanx.place import evidence
from phalanx.place.draft import Draft

Path = tuple[str, ...]


def told(request: Request, wanted: Request, waiting: Waiting, draft: Draft) -> Reason:
    """The reason of a refusal in words of the gang. ``wanted``: the places that were looked for."""
    reason = waiting.reason
    home = _home(request, wanted, reason.group, draft.tree)
    if reason.together or not home:
        return replace(reason, group=_known(reason.group))
    seen = evidence.inside(draft, waiting.request, reason, home)
    level = draft.tree.topology.level_name(len(home))
    nodes = len(draft.tree.nodes(*evidence.domain_of(draft.tree, home)))
    return replace(
        reason, group=_known(reason.group), level=level, nearest=(seen,), nodes_seen=nodes, beside=home,
        free_elsewhere=0, wider=None, wider_level="",
    )  # fmt: skip


def _known(name: str) -> str:
    """The name that people know a part of a group by."""
    return name.partition(PART)[0]


def _home(request: Request, wanted: Request, name: str, tree: Tree) -> Path:
    """The narrowest domain that a member of the wanted places must be in because the rest is; empty: none."""
    own = {pods.name: len(pods.shape.filter.required) for pods in request.root.pod_sets()}
    below = evidence.sets_of(wanted.root, name)
    paths = [_narrowest(pods, own.get(_known(pods.name), 0), tree) for pods in below]
    first = paths[0] if paths else ()
    return first if all(path == first for path in paths) else ()


def _narrowest(pods: PodSet, own: int, tree: Tree) -> Path:
    """The narrowest domain among what was added to the affinities that are its own."""
    found: list[Path] = [()]
    for either in pods.shape.filter.required[own:]:
        (*_, last) = either[0].requirements
        if len(either) > 1 or any(one.operator != "In" for one in either[0].requirements):
            continue
        if last.on_name:
            at = tree.index.get(last.values[0])
            found.append(tree.paths[at] if at is not None else ())
        else:
            found.append(tuple(one.values[0] for one in either[0].requirements))
    return max(found, key=len)
