"""Everything needed to speak to one API server: its address, whom to trust, who we are."""

import ssl
from dataclasses import dataclass, field

from phalanx.wire.credentials import Credential, Nobody


class BadConfig(ValueError):
    """A configuration that cannot be used. The message names the file, the field, its value and what is allowed."""


@dataclass(frozen=True, slots=True)
class Access:
    """How to reach a server. Nothing secret shows in its repr."""

    server: str
    tls: ssl.SSLContext | None = field(default=None, repr=False)  # None: plain http, on loopback only
    credential: Credential = field(default_factory=Nobody, repr=False)
    namespace: str = "default"
    server_name: str = ""  # the name in the server's certificate, where it is not the host in the address
    source: str = ""  # where all this was read, for messages
