"""One authority per bed and what it signs: servers on loopback, clients by user and groups, service account tokens."""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# A bed lives for hours; the start lies back a little because clocks differ.
LIFE = datetime.timedelta(days=30)
SLACK = datetime.timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as files in PEM."""

    certificate: Path
    key: Path


class Authority:
    """Signs everything of one bed. Files go to ``folder``; a second call with the same name gives the same files."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.file = folder / "ca.crt"
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name("phalanx-testbed", ())
        self.file.write_bytes(_pem(self._sign_itself()))

    def server(self, name: str) -> Pair:
        """For a server on 127.0.0.1, also called ``localhost`` and ``kubernetes.default.svc``."""
        names: list[x509.GeneralName] = [x509.DNSName(dns) for dns in ("localhost", "kubernetes.default.svc")]
        names.append(x509.IPAddress(ipaddress.IPv4Address("127.0.0.1")))
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
        return self._issue(name, _name(name, ()), usage, x509.SubjectAlternativeName(names))

    def client(self, user: str, groups: tuple[str, ...]) -> Pair:
        """For the user called ``user`` in ``groups``: to Kubernetes, common name and organizations."""
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        return self._issue(file_name(user, groups), _name(user, groups), usage)

    def signing_key(self, name: str) -> Pair:
        """A key pair for tokens; ``certificate`` holds only the public key."""
        pair = Pair(self.folder / f"{name}.pub", self.folder / f"{name}.key")
        key = ec.generate_private_key(ec.SECP256R1())
        _write_key(pair.key, key)
        pair.certificate.write_bytes(
            key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        )
        return pair

    def _issue(self, stem: str, subject: x509.Name, *extensions: x509.ExtensionType) -> Pair:
        pair = Pair(self.folder / f"{stem}.crt", self.folder / f"{stem}.key")
        if pair.certificate.exists():
            return pair
        key = ec.generate_private_key(ec.SECP256R1())
        draft = _draft(subject, self._name, key.public_key())
        for extension in extensions:
            draft = draft.add_extension(extension, critical=False)
        _write_key(pair.key, key)
        pair.certificate.write_bytes(_pem(draft.sign(self._key, hashes.SHA256())))
        return pair

    def _sign_itself(self) -> x509.Certificate:
        draft = _draft(self._name, self._name, self._key.public_key())
        draft = draft.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        return draft.sign(self._key, hashes.SHA256())


def file_name(user: str, groups: tuple[str, ...]) -> str:
    """``user`` and ``groups`` as a file name; different people never share one."""
    plain = "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in "+".join((user, *groups)))
    digest = hashes.Hash(hashes.SHA256())
    digest.update(repr((user, groups)).encode())
    return f"{plain[:80]}-{digest.finalize().hex()[:8]}"


def _draft(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    draft = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    return draft.serial_number(x509.random_serial_number()).not_valid_before(now - SLACK).not_valid_after(now + LIFE)


def _name(common: str, organizations: tuple[str, ...]) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization) for organization in organizations]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _write_key(file: Path, key: ec.EllipticCurvePrivateKey) -> None:
    file.touch(mode=0o600)
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
