"""Who a certificate says its holder is, and what a kubeconfig refers to."""

from pathlib import Path

import yaml
from cryptography import x509
from cryptography.x509.oid import NameOID

from testbed.access import Access
from testbed.certificates import Authority


def subject(file: Path) -> x509.Name:
    return x509.load_pem_x509_certificate(file.read_bytes()).subject


def values(name: x509.Name, oid: x509.ObjectIdentifier) -> list[str | bytes]:
    return [attribute.value for attribute in name.get_attributes_for_oid(oid)]


def test_a_client_certificate_names_the_user_and_all_groups(tmp_path: Path) -> None:
    pair = Authority(tmp_path).client("anna", ("red", "blue"))
    assert values(subject(pair.certificate), NameOID.COMMON_NAME) == ["anna"]
    assert values(subject(pair.certificate), NameOID.ORGANIZATION_NAME) == ["red", "blue"]


def test_the_same_user_in_other_groups_gets_another_certificate(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    assert authority.client("anna", ()) == authority.client("anna", ())
    assert authority.client("anna", ()) != authority.client("anna", ("red",))
    assert authority.client("a:b", ()) != authority.client("a_b", ())


def test_keys_are_for_the_owner_alone(tmp_path: Path) -> None:
    pair = Authority(tmp_path).client("anna", ())
    assert pair.key.stat().st_mode & 0o077 == 0


def test_a_certificate_is_signed_by_the_authority_in_its_file(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    issuer = x509.load_pem_x509_certificate(authority.file.read_bytes())
    server = x509.load_pem_x509_certificate(authority.server("web").certificate.read_bytes())
    server.verify_directly_issued_by(issuer)


def test_a_service_account_has_the_groups_that_its_token_would_carry(tmp_path: Path) -> None:
    access = Access("https://127.0.0.1:1", Authority(tmp_path / "certificates"), tmp_path)
    file = access.kubeconfig("system:serviceaccount:phalanx-system:phalanx")
    user = yaml.safe_load(file.read_text())["users"][0]["user"]
    groups = values(subject(Path(user["client-certificate"])), NameOID.ORGANIZATION_NAME)
    assert groups == ["system:serviceaccounts", "system:serviceaccounts:phalanx-system"]
