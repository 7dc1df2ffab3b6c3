"""The families of random requests by name: what is asked of a small cluster, and what it has so that it matters."""

from tests.properties import families_groups, families_pods
from tests.properties.families_groups import Family

FAMILIES: dict[str, Family] = {
    "flat-same": families_groups.flat_same,
    "flat-mixed": families_groups.flat_mixed,
    "leader-worker": families_groups.leader_worker,
    "nested-same": families_groups.nested_same,
    "nested-mixed": families_groups.nested_mixed,
    "three-level": families_groups.three_level,
    "mixed-one-domain": families_groups.mixed_one_domain,
    "sliced": families_groups.sliced,
    "sliced-2layer": families_groups.sliced_twice,
    "selectors": families_groups.selectors,
    "taints": families_groups.taints,
    "elastic": families_groups.elastic,
    "min-groups": families_groups.min_groups,
    "spread": families_groups.spread_flat,
    "spread-nested": families_groups.spread_nested,
    "topology-spread": families_pods.topology_spread(nested=False),
    "topology-spread-nested": families_pods.topology_spread(nested=True),
    "ports": families_pods.ports,
    "anti-affinity": families_pods.anti_affinity(nested=False),
    "anti-affinity-nested": families_pods.anti_affinity(nested=True),
    "affinity": families_pods.affinity(nested=False),
    "affinity-nested": families_pods.affinity(nested=True),
    "neighbours": families_pods.neighbours,
    "ranks": families_groups.ranks,
    "outside": families_groups.outside,
    "no-topology": families_groups.no_topology,
    "odd-quantities": families_groups.odd_quantities,
    "mixture": families_pods.mixture,
}
