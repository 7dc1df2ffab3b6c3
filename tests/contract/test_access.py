"""Access: what a server says to those who may not."""

import ssl
from dataclasses import replace

import pytest

from tests.contract.door import Doc, Door
from tests.contract.scope import Scope

pytestmark = pytest.mark.usefixtures("rbac")

STRANGER = {"Impersonate-User": "contract-stranger"}


def may(space: Scope, headers: dict[str, str], **attributes: str) -> bool:
    review: Doc = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"namespace": space.namespace, **attributes}},
    }
    path = space.everywhere().path("selfsubjectaccessreviews")
    allowed: bool = space.door.call("POST", path, review, headers=headers).expect(201)["status"]["allowed"]
    return allowed


def test_a_stranger_is_refused_and_told_what_was_missing(space: Scope) -> None:
    status = space.door.call("GET", space.path("pods"), headers=STRANGER).refused(403, "Forbidden")
    for word in ("contract-stranger", "list", "pods", space.namespace):
        assert word in status["message"]


def test_a_refused_kind_looks_the_same_whether_it_exists_or_not(space: Scope) -> None:
    """So 403 at start may mean a missing CRD as well as a missing role."""
    path = f"/apis/absent.contract.example/v1/namespaces/{space.namespace}/gangs"
    space.door.call("GET", path, headers=STRANGER).refused(403, "Forbidden")
    assert space.door.get(path).code == 404


def test_one_can_ask_what_one_may_do(space: Scope) -> None:
    assert may(space, {}, verb="create", resource="pods", subresource="binding")
    assert not may(space, STRANGER, verb="create", resource="pods", subresource="binding")


def test_a_bad_token_is_unauthorized(space: Scope) -> None:
    known = space.door.credentials
    door = Door(replace(known, tls=without_certificate(known.tls), headers={"Authorization": "Bearer nonsense"}))
    try:
        door.get("/api/v1/pods").refused(401, "Unauthorized")
    finally:
        door.close()


def without_certificate(tls: ssl.SSLContext | None) -> ssl.SSLContext | None:
    """The server is trusted blindly here: what it says is the point, and the administrator's certificate would win."""
    if tls is None:
        return None
    blind = ssl.create_default_context()
    blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
    return blind
