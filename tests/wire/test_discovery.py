"""What a server serves, asked in both forms."""

import json
from typing import Any

import pytest
from aiohttp import web

from phalanx.wire.discovery import Discovery, Served
from phalanx.wire.errors import Garbled
from phalanx.wire.resources import JOBS, PODS, Resource
from tests.wire.loopback import Script, answer_of, run, status, talking

OLD_GANG = Resource("phalanx.dev", "v1alpha1", "gangs", "Gang")
NEW_GANG = Resource("phalanx.dev", "v1", "gangs", "Gang")


def _aggregated(*groups: tuple[str, list[tuple[str, str, str]]]) -> dict[str, Any]:
    items = [
        {
            "metadata": {"name": name},
            "versions": [
                {
                    "version": version,
                    "freshness": "Current",
                    "resources": [
                        {
                            "resource": plural,
                            "responseKind": {"kind": kind},
                            "scope": "Namespaced",
                            "verbs": ["list", "watch"],
                            "subresources": [{"subresource": "status"}],
                        }
                    ],
                }
                for version, plural, kind in versions
            ],
        }
        for name, versions in groups
    ]
    return {"kind": "APIGroupDiscoveryList", "items": items}


CORE = _aggregated(("", [("v1", "pods", "Pod")]))
GROUPS = _aggregated(
    ("batch", [("v1", "jobs", "Job")]), ("phalanx.dev", [("v1", "gangs", "Gang"), ("v1alpha1", "gangs", "Gang")])
)

OLDER: dict[str, Any] = {
    "/api": {"kind": "APIVersions", "versions": ["v1"]},
    "/apis": {
        "kind": "APIGroupList",
        "groups": [
            {"name": "batch", "versions": [{"version": "v1"}], "preferredVersion": {"version": "v1"}},
            {
                "name": "phalanx.dev",
                "versions": [{"version": "v1alpha1"}, {"version": "v1"}],
                "preferredVersion": {"version": "v1"},
            },
            {"name": "metrics.example.org", "versions": [{"version": "v1"}]},
        ],
    },
    "/api/v1": {
        "resources": [
            {"name": "pods", "kind": "Pod", "namespaced": True, "verbs": ["list", "watch"]},
            {"name": "pods/status", "kind": "Pod", "namespaced": True, "verbs": ["get"]},
        ]
    },
    "/apis/batch/v1": {"resources": [{"name": "jobs", "kind": "Job", "namespaced": True, "verbs": ["list"]}]},
    "/apis/phalanx.dev/v1": {"resources": [{"name": "gangs", "kind": "Gang", "namespaced": True, "verbs": []}]},
    "/apis/phalanx.dev/v1alpha1": {"resources": [{"name": "gangs", "kind": "Gang", "namespaced": True, "verbs": []}]},
}


async def _older(request: web.BaseRequest) -> web.StreamResponse:
    return answer_of(OLDER.get(request.path) or status(503, "ServiceUnavailable", "its server is down"))


def _ask(handler: Any) -> Served:
    async def work() -> Served:
        async with talking(handler) as client:
            return await Discovery(client).ask()

    return run(work())


@pytest.mark.parametrize("handler", [lambda: Script(CORE, GROUPS), lambda: _older], ids=["aggregated", "older"])
def test_kinds_are_found_in_the_version_the_server_prefers(handler: Any) -> None:
    served = _ask(handler())
    assert served.find("", "pods") == PODS
    assert served.find("batch", "Job") == JOBS
    assert served.find("phalanx.dev", "Gang") == NEW_GANG
    assert served.find("phalanx.dev", "Gang", "v1alpha1") == OLD_GANG
    assert served.find("phalanx.dev", "Queue") is None
    assert served.has(OLD_GANG)
    assert "watch" in served.verbs(PODS)
    assert set(served.resources) == {PODS, JOBS, NEW_GANG, OLD_GANG}


def test_a_group_whose_server_is_down_hides_no_other() -> None:
    assert _ask(_older).failed == ("metrics.example.org/v1",)


def test_asked_again_an_unchanged_server_says_so_and_a_changed_one_tells() -> None:
    script = Script(
        (200, CORE, {"ETag": '"1"'}),
        (200, _aggregated(), {"ETag": '"2"'}),
        (304, ""),
        (304, ""),
        (304, ""),
        (200, GROUPS, {"ETag": '"3"'}),
    )

    async def work() -> list[Served]:
        async with talking(script) as client:
            discovery = Discovery(client)
            return [await discovery.ask() for _ in range(3)]

    first, second, third = run(work())
    assert first == second
    assert second.find("phalanx.dev", "Gang") is None
    assert third.find("phalanx.dev", "Gang") == NEW_GANG
    assert [headers.get("If-None-Match") for headers in script.headers] == [None, None, '"1"', '"2"', '"1"', '"2"']


def test_an_answer_that_is_no_discovery_is_told() -> None:
    with pytest.raises(Garbled):
        _ask(Script(json.dumps([1])))
