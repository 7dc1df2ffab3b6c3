"""Tokens that change, waits that grow, and the garbage collector's rules."""

import gc
import random
import ssl
from pathlib import Path

import pytest
import trustme

from phalanx.wire import garbage
from phalanx.wire.backoff import Backoff, Pace
from phalanx.wire.credentials import AuthorityFile, CredentialFailed, TokenFile
from tests.wire.loopback import run


def test_a_token_file_is_read_again_after_a_while_and_not_before(tmp_path: Path) -> None:
    file, now = tmp_path / "token", [0.0]
    token = TokenFile(file, clock=lambda: now[0], reread_seconds=10)

    async def asked() -> str:
        return (await token.headers())[0][1]

    async def work() -> list[str]:
        file.write_text("one")
        seen = [await asked()]
        file.write_text("two")
        seen.append(await asked())
        now[0] = 10.0
        seen.append(await asked())
        return seen

    assert run(work()) == ["Bearer one", "Bearer one", "Bearer two"]


@pytest.mark.parametrize("text", [None, " \n"])
def test_a_token_file_that_is_gone_or_empty_is_told(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "token").write_text(text)

    async def work() -> None:
        await TokenFile(tmp_path / "token").headers()

    with pytest.raises(CredentialFailed, match="token"):
        run(work())


def test_an_authority_that_is_renewed_is_trusted_without_a_restart(tmp_path: Path) -> None:
    file, now = tmp_path / "ca.crt", [0.0]
    first, second = trustme.CA(), trustme.CA()
    first.cert_pem.write_to_path(file)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls.load_verify_locations(file)
    authority = AuthorityFile(tls, file, clock=lambda: now[0])

    def trusted(at: float) -> set[bytes]:
        now[0] = at
        assert run(authority.headers()) == ()
        return set(tls.get_ca_certs(binary_form=True))

    before = trusted(0.0)
    second.cert_pem.write_to_path(file)
    assert trusted(59.0) == before
    known = trusted(60.0)
    assert len(known) == 2 and before < known
    file.write_text("-----BEGIN CERTIFICATE-----\nhalf of")
    assert trusted(120.0) == known
    file.unlink()
    assert trusted(180.0) == known


def test_waits_double_up_to_the_longest_with_chance_in_them() -> None:
    backoff = Backoff(Pace(first_seconds=1, most_seconds=8, factor=2), random.Random(1))
    waits = [backoff.next() for _ in range(6)]
    for wait, step in zip(waits, (1, 2, 4, 8, 8, 8), strict=True):
        assert step / 2 <= wait <= step
    assert len(set(waits)) == 6
    backoff.reset()
    assert backoff.next() <= 1


def test_nothing_is_collected_during_the_sync_and_what_it_brought_is_set_aside() -> None:
    before = gc.get_threshold()
    try:
        garbage.before_sync()
        assert not gc.isenabled()
        garbage.after_sync()
        assert gc.isenabled()
        assert gc.get_threshold() == garbage.THRESHOLDS
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
        gc.enable()
