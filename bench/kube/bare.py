"""No scheduler at all: binds what is there, in turn to each node. Nothing on this machine binds faster.

python -m bench.kube.bare KUBECONFIG
"""

import asyncio
import itertools
import sys

import uvloop

from bench.kube import objects
from phalanx.wire import binding, kubeconfig
from phalanx.wire.binding import Target
from phalanx.wire.client import Client
from phalanx.wire.resources import NODES, PODS

NAME = "bare"
CONNECTIONS = 16  # as many as are useful on two cores


async def main(path: str) -> None:
    async with Client(kubeconfig.load(path), connections=CONNECTIONS) as client:
        nodes = itertools.cycle([one["metadata"]["name"] for one in (await client.list(NODES)).items])
        pods = (await client.list(PODS, objects.NAMESPACE, field_selector="spec.nodeName=")).items
        print("following", flush=True)
        named = [one["metadata"] for one in pods if one["spec"]["schedulerName"] == NAME]
        targets = [Target(objects.NAMESPACE, one["name"], one["uid"], next(nodes)) for one in named]
        await asyncio.gather(*(binding.bind(client, target) for target in targets))


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1]))
