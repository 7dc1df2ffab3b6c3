"""TLS as a configuration wants it: always verified, unless the file itself says otherwise."""

import ssl
import tempfile
from pathlib import Path


def context(*, ca_file: str = "", ca_data: bytes = b"", insecure: bool = False) -> ssl.SSLContext:
    """Trust the given authority, or the system's where none is given."""
    tls = ssl.create_default_context(cafile=ca_file or None, cadata=ca_data.decode() or None)
    if insecure:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    return tls


def load_pair(tls: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Use a client certificate that is in memory. ssl reads only files: for that moment it is in a private folder."""
    with tempfile.TemporaryDirectory(prefix="phalanx-") as folder:
        pair = Path(folder, "pair.pem")
        pair.touch(mode=0o600)
        pair.write_bytes(certificate + b"\n" + key)
        tls.load_cert_chain(pair)
