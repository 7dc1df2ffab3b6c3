"""Quantities are read exactly, wrong ones are explained, and pods are added up as Kubernetes does."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phalanx.model import resources
from phalanx.model.problems import Problem
from phalanx.model.resources import NANO, PODS, ContainerNeed, Resources, effective, parse, plain, show

# as parameters with a name of their own: Python refuses to print them, and so does pytest
HUGE = pytest.param(10**5000, id="huge")
NEGATIVE = pytest.param(-(10**5000), id="huge-negative")

# ---------------------------------------------------------------------------------------------------- quantities


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", 0), ("1", 1), ("100m", Fraction(1, 10)), ("1.5", Fraction(3, 2)), (".5", Fraction(1, 2)), ("5.", 5),
        ("+2", 2), ("1e3", 1000), ("1E3", 1000), ("1e-3", Fraction(1, 1000)), ("12E", 12 * 10**18),
        ("1k", 1000), ("1M", 10**6), ("1G", 10**9), ("1T", 10**12), ("1P", 10**15), ("1E", 10**18),
        ("1Ki", 2**10), ("1Mi", 2**20), ("1Gi", 2**30), ("1Ti", 2**40), ("1Pi", 2**50), ("1Ei", 2**60),
        ("1u", Fraction(1, 10**6)), ("1n", Fraction(1, 10**9)), (8, 8), (0.5, Fraction(1, 2)),
        (1e-7, Fraction(1, 10**7)),        ("1000000000000000000000", 10**21),
    ],
)  # fmt: skip
def test_every_spelling_of_kubernetes_is_read_exactly(text: object, amount: Fraction | int) -> None:
    assert parse(text, "x") == amount * NANO


def test_what_is_finer_than_a_nano_unit_is_rounded_up() -> None:
    assert parse("0.1n", "x") == 1
    assert parse("1.0000000001", "x") == NANO + 1


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("100GB", "100G or 100Gi"),
        ("50GB", "50G or 50Gi"),
        ("100mb", "100M or 100Mi"),
        ("4KB", "4k or 4Ki"),
        ("1EB", "1E or 1Ei"),
        ("1eb", "1E or 1Ei"),
        ("10gi", "10G or 10Gi"),
    ],
)
def test_a_wrong_suffix_is_a_problem_that_suggests_the_right_one(text: str, hint: str) -> None:
    problem = parse(text, "spec.memory")
    assert isinstance(problem, Problem)
    assert problem.path == "spec.memory"
    assert problem.value == text
    assert f"did you mean {hint}?" in problem.message


@pytest.mark.parametrize(
    "text",
    ["", " ", "abc", "1 Gi", "-1", "-5m", "1e", "1e31", "1e999", "1e1000", "--1", "1.2.3", "0x10", "١", "inf", "nan",
     "9" * 65, None, True, [], {}, float("nan"), float("inf"), 10**100, HUGE, NEGATIVE],
)  # fmt: skip
def test_what_is_no_quantity_is_a_problem_and_never_an_exception(text: object) -> None:
    problem = parse(text, "here")
    assert isinstance(problem, Problem)
    assert problem.path == "here"
    assert str(problem)


@given(
    whole=st.integers(0, 10**12),
    fraction=st.integers(0, 10**6 - 1),
    suffix=st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E-2"]),
)
def test_a_quantity_equals_the_fraction_it_spells(whole: int, fraction: int, suffix: str) -> None:
    factors = {
        "": Fraction(1), "m": Fraction(1, 1000), "k": Fraction(10**3), "M": Fraction(10**6), "G": Fraction(10**9),
        "Ki": Fraction(2**10), "Mi": Fraction(2**20), "Gi": Fraction(2**30), "e3": Fraction(1000),
        "E-2": Fraction(1, 100),
    }  # fmt: skip
    exact = (whole + Fraction(fraction, 10**6)) * factors[suffix] * NANO
    parsed = parse(f"{whole}.{fraction:06d}{suffix}", "x")
    assert isinstance(parsed, int)
    assert 0 <= parsed - exact < 1


@given(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "ephemeral-storage", "hugepages-2Mi"]), st.integers(0, 10**22)
)
def test_what_is_shown_reads_back_as_the_same_amount(name: str, nano: int) -> None:
    assert parse(show(name, nano), "x") == nano


@given(st.text(max_size=80))
def test_any_text_gives_an_amount_or_a_problem(text: str) -> None:
    found = parse(text, "x")
    assert isinstance(found, Problem) or found >= 0


@pytest.mark.parametrize(
    ("name", "nano", "shown"),
    [
        ("cpu", 1500 * 10**6, "1500m"),
        ("cpu", 4 * NANO, "4"),
        ("memory", 16 * 2**30 * NANO, "16Gi"),
        ("memory", 10**9 * NANO, "1000000000"),
        ("memory", 0, "0"),
        ("ephemeral-storage", 2**20 * NANO, "1Mi"),
        ("pods", 1024 * NANO, "1024"),
        ("cpu", 1, "1n"),
    ],
)
def test_amounts_are_shown_short_and_exact(name: str, nano: int, shown: str) -> None:
    assert show(name, nano) == shown


# ----------------------------------------------------------------------------------------------------- resources


def test_resources_are_sorted_and_without_zeros() -> None:
    assert Resources.of({"b": 2, "a": 1, "c": 0}).items == (("a", 1), ("b", 2))
    assert Resources.of({"b": 2}).get("c") == 0


def test_resources_add_name_by_name() -> None:
    assert Resources.of({"a": 1, "b": 2}) + Resources.of({"b": 3}) == Resources.of({"a": 1, "b": 5})
    assert Resources.of({"a": 2}).times(3) == Resources.of({"a": 6})
    assert resources.combine((Resources.of({"a": 1}), Resources.of({"a": 4, "b": 1})), max) == Resources.of(
        {"a": 4, "b": 1}
    )


# --------------------------------------------------------------------------------------------- effective requests


def need(restartable: bool = False, **amounts: int) -> ContainerNeed:
    return ContainerNeed(Resources.of(amounts), restartable)


@pytest.mark.parametrize(
    ("containers", "init", "cpu"),
    [
        ((), (), 0),
        ((need(cpu=1), need(cpu=2)), (), 3),
        ((need(cpu=1), need(cpu=2)), (need(cpu=2),), 3),  # init containers run before, one at a time
        ((need(cpu=1), need(cpu=2)), (need(cpu=5), need(cpu=4)), 5),
        ((need(cpu=1),), (need(True, cpu=2),), 3),  # a sidecar runs beside the others
        ((need(cpu=1),), (need(True, cpu=2), need(cpu=3)), 5),  # an init container after it runs beside it
        ((need(cpu=1),), (need(cpu=3), need(True, cpu=2)), 3),  # one before it does not
        ((need(cpu=9),), (need(True, cpu=2), need(True, cpu=3), need(cpu=4)), 14),
        ((need(cpu=1),), (need(True, cpu=2), need(True, cpu=3), need(cpu=40)), 45),
    ],
)
def test_a_pod_takes_the_most_it_needs_at_any_time(
    containers: tuple[ContainerNeed, ...], init: tuple[ContainerNeed, ...], cpu: int
) -> None:
    assert effective(containers, init) == Resources.of({"cpu": cpu, PODS: NANO})


def test_overhead_is_added_to_what_the_containers_need() -> None:
    assert effective((need(cpu=1),), (), Resources.of({"cpu": 2, "memory": 3})) == Resources.of(
        {"cpu": 3, "memory": 3, PODS: NANO}
    )


def test_pod_level_requests_replace_the_sum_for_the_resources_they_name() -> None:
    found = effective((need(cpu=1, memory=4),), (), Resources.of({"cpu": 1}), Resources.of({"cpu": 10}))
    assert found == Resources.of({"cpu": 11, "memory": 4, PODS: NANO})


# --------------------------------------------------------------------------------------------------- plain units


@given(st.integers(-(10**60), 10**60))
def test_plain_units_are_exact_however_large_or_small(nano: int) -> None:
    assert Fraction(plain(nano)) == Fraction(nano, NANO)


@pytest.mark.parametrize(
    ("nano", "written"),
    [(0, "0"), (8 * NANO, "8"), (110 * NANO, "110"), (232_500_000_000, "232.5"), (1, "1E-9"), (-NANO // 2, "-0.5")],
)
def test_plain_units_are_written_without_needless_zeros(nano: int, written: str) -> None:
    assert str(plain(nano)) == written
