"""What the store says when it will not: the reasons and codes of a Kubernetes API server."""

_CODES = {
    "BadRequest": 400,
    "Forbidden": 403,
    "NotFound": 404,
    "AlreadyExists": 409,
    "Conflict": 409,
    "Expired": 410,
    "Invalid": 422,
}


class Rejected(Exception):
    """A write or a read that was refused. ``reason``: one word, as in a Status; ``code``: its HTTP code."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(f"{reason}: {message}")
        self.reason, self.message, self.code = reason, message, _CODES[reason]
