"""Three ways in which a request can fail, kept apart because the next step differs.

Refused       the server said no, and why: nothing was done
Unreachable   nothing was sent, or a stream that only reads broke: nothing was done
Unanswered    it was sent and no answer came: done or not done, only reading tells
"""

from collections.abc import Mapping
from typing import Any

import msgspec


class WireError(Exception):
    """Something between us and the API server went wrong."""


class Unreachable(WireError):
    """Nothing was done: no connection, or a stream that only reads broke."""


class Silent(Unreachable):
    """A stream that only reads said nothing for too long: the other end may be gone without our knowing."""


class Unanswered(WireError):
    """The request was sent and its answer never came. Neither assume it done nor undone."""


class Garbled(WireError):
    """What came back is not what an API server says: a proxy answered, or bytes were lost."""


class Refused(WireError):
    """The server answered with a failure. ``details`` is the Status object's own field."""

    def __init__(
        self,
        status: int,
        reason: str = "",
        message: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.status = status
        self.reason = reason
        self.message = message
        self.details = dict(details or {})
        self.retry_after = retry_after
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")

    @property
    def unauthorized(self) -> bool:
        return self.status == 401

    @property
    def forbidden(self) -> bool:
        return self.status == 403

    @property
    def missing(self) -> bool:
        return self.status == 404

    @property
    def conflict(self) -> bool:
        return self.status == 409

    @property
    def exists(self) -> bool:
        return self.status == 409 and self.reason == "AlreadyExists"

    @property
    def expired(self) -> bool:
        """The asked resourceVersion is too old: list again."""
        return self.status == 410 or self.reason in ("Expired", "Gone")

    @property
    def budget(self) -> bool:
        """An eviction that a PodDisruptionBudget does not allow now. Other 429s mean: the server is busy."""
        causes = self.details.get("causes") or ()
        return self.status == 429 and any(cause.get("reason") == "DisruptionBudget" for cause in causes)

    @property
    def busy(self) -> bool:
        """The server did nothing because it has too much to do."""
        return self.status == 429 and not self.budget


class _Status(msgspec.Struct, frozen=True):
    """The fields of a metav1.Status that say why."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: dict[str, Any] | None = None


_READ_STATUS = msgspec.json.Decoder(_Status)

_SHOWN = 500  # characters of a body that is no Status; proxies answer with whole HTML pages


def refusal(status: int, body: bytes | msgspec.Raw, retry_after: str = "") -> Refused:
    """What a failed answer says, whether its body is a Status or not. ``status`` 0: the body's own code."""
    try:
        said = _READ_STATUS.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return Refused(status, "", bytes(body)[:_SHOWN].decode(errors="replace"), None, _seconds(retry_after))
    return Refused(status or said.code, said.reason, said.message, said.details, _seconds(retry_after))


def _seconds(retry_after: str) -> float | None:
    """Seconds as the API server sends them. The header's other form, a date, is not used by it."""
    return float(retry_after) if retry_after.isdigit() else None
