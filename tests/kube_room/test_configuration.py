"""The configuration file: what it can say, and what is told about one that is wrong."""

import re
import typing
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phalanx.dialects.following import Marks
from phalanx.engine.settings import Settings
from phalanx.kube.configuration import BadConfiguration, Configuration, default_text, load, page, written
from phalanx.kube.configuration import __main__ as program
from phalanx.kube.configuration.parts import Placing
from phalanx.model.policy import Policy
from phalanx.model.problems import Problem
from phalanx.model.rules import Rules
from phalanx.place.choose import ORDERS

HEAD = "apiVersion: phalanx.dev/v1alpha1\nkind: Configuration\n"
PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"


def problems(text: str) -> tuple[Problem, ...]:
    with pytest.raises(BadConfiguration) as caught:
        load(text, "phalanx.yaml")
    return caught.value.problems


def lines(text: str) -> list[str]:
    with pytest.raises(BadConfiguration) as caught:
        load(HEAD + text, "phalanx.yaml")
    return caught.value.lines()


# -- what is right ---------------------------------------------------------------------------------------------------


def test_a_file_that_asks_for_nothing_gives_the_defaults() -> None:
    assert load(HEAD) == Configuration()


def test_the_printed_defaults_are_read_as_the_defaults() -> None:
    assert load(default_text()) == Configuration()


def test_what_is_written_is_what_is_meant() -> None:
    text = HEAD + "schedulerNames: [a, b]\nlogs: {level: debug}\ntimeouts: {readySeconds: 1.5}\nnamespaces: [x]\n"
    found = load(text)
    assert found.scheduler_names == ("a", "b")
    assert found.logs.level == "debug"
    assert found.timeouts.ready_seconds == 1.5
    assert found.namespaces == ("x",)
    assert found.binds == Configuration().binds


def test_a_null_is_nothing() -> None:
    assert load(HEAD + "logs:\nnamespaces: null\n") == Configuration()


def test_a_printed_configuration_is_read_as_the_same_one() -> None:
    odd = load(
        HEAD
        + "namespaces: ['true', 'on', '1e5', 'a-1']\nrecords: {file: 'a: b # \"c\"'}\nbinds: {timeoutSeconds: 0.5}\n"
    )
    assert load(written(odd)) == odd


def test_defaults_are_those_of_the_rooms_below() -> None:
    usual = Configuration()
    assert usual.policy() == Policy()
    assert usual.settings() == Settings()
    assert usual.rules() == Rules()
    assert usual.marks() == Marks(queues=("phalanx.dev/queue", "kueue.x-k8s.io/queue-name"))


def test_every_number_of_the_engine_and_of_the_policy_can_be_set() -> None:
    numbers = {one.name: 7 + at for at, one in enumerate(fields(Settings))}
    spelt = {_camel(name if name == "bind_tries" else f"{name}_seconds"): value for name, value in numbers.items()}
    assert load(f"{HEAD}engine: {spelt}").settings() == Settings(**numbers)
    asked = load(HEAD + "policy: {candidates: balance, nodes: reuse, budget: 5000}")
    assert asked.policy() == Policy("balance", "reuse", 5000)


def _camel(name: str) -> str:
    return re.sub("_(.)", lambda hit: hit[1].upper(), name)


def test_the_orders_that_can_be_asked_for_are_those_there_are() -> None:
    hints = typing.get_type_hints(Placing)["candidates"]
    assert set(typing.get_args(hints)) == set(ORDERS)
    assert load(default_text()).policy().candidates in ORDERS


def test_rules_carry_time_outs_and_enforcement() -> None:
    text = "defaultEnforcement: Gate\ntimeouts: {scheduleSeconds: 5, readySeconds: 6, recoverySeconds: 7}"
    rules = load(HEAD + text).rules()
    assert (rules.enforcement, rules.schedule, rules.ready, rules.recovery) == ("Gate", 5, 6, 7)


def test_nothing_beyond_loopback_is_listened_on_unless_told() -> None:
    assert not Configuration().listen.is_public
    assert not load(HEAD + "listen: {address: '::1'}").listen.is_public
    assert load(HEAD + "listen: {address: 0.0.0.0}").listen.is_public


# -- what is wrong ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("lgos: {}", "lgos: there is no field 'lgos' here; did you mean logs? Allowed: "),
        ("logs: {Level: info}", "logs.Level: there is no field 'Level' here; did you mean level? Allowed: "),
        ("logs: {level: inf}", "logs.level: 'inf' is not one of debug, error, info, warning; did you mean info?"),
        ("logs: debug", "logs: 'debug' is not a mapping of fields"),
        ("defaultEnforcement: bind", "defaultEnforcement: 'bind' is not one of Bind, Gate; did you mean Bind?"),
        ("binds: {concurrency: 0}", "binds.concurrency: 0 is less than 1; allowed: 1 to 1024"),
        ("binds: {concurrency: 4.5}", "binds.concurrency: 4.5 is not a whole number; allowed: 1 to 1024"),
        ("binds: {timeoutSeconds: soon}", "binds.timeoutSeconds: 'soon' is not a number; allowed: 0.1 to 3600"),
        ("timeouts: {readySeconds: .nan}", "timeouts.readySeconds: 'nan' is not between 1 and 2592000"),
        ("timeouts: {readySeconds: true}", "timeouts.readySeconds: True is not a number"),
        ("listen: {port: 65536}", "listen.port: 65536 is not between 0 and 65535; allowed: 0 to 65535"),
        ("listen: {address: localhost}", "listen.address: 'localhost' is not an IP address"),
        ("schedulerNames: []", "schedulerNames: needs at least 1 entry"),
        ("schedulerNames: phalanx", "schedulerNames: 'phalanx' is not a list"),
        ("schedulerNames: [a, b, a]", "schedulerNames[2]: 'a' stands twice"),
        ("schedulerNames: [null]", "schedulerNames[0]: holds nothing"),
        ("schedulerNames: ['a b']", "schedulerNames[0]: 'a b' is not a scheduler's name"),
        ('schedulerNames: ["a\\n"]', "schedulerNames[0]: 'a\\n' is not a scheduler's name"),
        ("queueLabels: ['/x']", "queueLabels[0]: '/x' is not a label key"),
        ("namespaces: [7]", "namespaces[0]: 7 is not a text; put it in quotes"),
        ("writeForeignStatus: 'yes'", "writeForeignStatus: 'yes' is neither true nor false"),
        ("engine: {backoffSeconds: 90}", "engine.backoffMostSeconds: 60 is less than engine.backoffSeconds"),
        ("client: {connections: 32}", "client.connections: 32 are not more than binds.concurrency, which is 32"),
        ("kind: Configuration", "line 3: 'kind' stands twice"),
        ("logs: {level: info, level: debug}", "line 3: 'level' stands twice"),
        ("logs: &a {}\nbinds: *a", "line 4: aliases are not read here"),
        ("---\n{}", "line 3: expected a single document"),
        ("logs: [", "line 4: "),
        ("logs: !!python/object:os.system {}", "line 3: could not determine a constructor"),
        ("logs: " + "[" * 100, "line 3: nested more than 20 deep"),
        ("? [a]\n: b", "line 3: "),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told_with_its_path_and_what_is_allowed(text: str, line: str) -> None:
    found = lines(text)
    assert len(found) == 1
    assert found[0].startswith(line)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    found = lines("logs: {level: loud}\nbinds: {concurency: 3}\nschedulerNames: []\n")
    assert [line.split(":")[0] for line in found] == ["schedulerNames", "binds.concurency", "logs.level"]


def test_the_error_names_the_file_and_how_much_more_there_is() -> None:
    with pytest.raises(BadConfiguration, match=r"^phalanx\.yaml: logs\.format: 'xml' is not .* \(and 1 more\)$"):
        load(HEAD + "logs: {format: xml, level: loud}", "phalanx.yaml")


def test_a_problem_carries_the_value_for_programs() -> None:
    [one] = problems(HEAD + "logs: {level: loud}")
    assert (one.path, one.value, one.allowed) == ("logs.level", "loud", ("debug", "error", "info", "warning"))


@pytest.mark.parametrize("text", ["", "---", "[]", "7", "phalanx", "# nothing"])
def test_a_text_that_is_no_mapping_is_refused(text: str) -> None:
    assert "expected a mapping" in problems(text)[0].message


def test_a_file_must_say_what_it_is() -> None:
    assert [one.path for one in problems("logs: {}")] == ["apiVersion", "kind"]
    assert [one.path for one in problems("apiVersion: v1\nkind: ConfigMap\n")] == ["apiVersion", "kind"]


def test_a_file_without_end_is_refused() -> None:
    assert "larger than 1 MiB" in problems("#" * (1 << 20) + "\n#")[0].message


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="{}[]:,-&*!#|>'\"\n aklogs1.", max_size=60))
def test_no_text_does_anything_but_be_read_or_be_refused(text: str) -> None:
    for given_text in (text, HEAD + text, HEAD + f"logs: {{level: {text}}}"):
        try:
            load(given_text)
        except BadConfiguration as error:
            assert error.problems


# -- the page --------------------------------------------------------------------------------------------------------


def test_the_page_shows_the_fields_and_defaults_there_are() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert page.refreshed(text) == text, "python -m phalanx.kube.configuration docs/configuration.md"


def test_a_page_out_of_date_is_found_and_written_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "configuration.md"
    copy.write_text(PAGE.read_text(encoding="utf-8").replace("`9440`", "`9441`"), encoding="utf-8")
    assert program.main(["--check", str(copy)]) == 1
    assert "out of date" in capsys.readouterr().err
    assert program.main([str(copy)]) == 0
    assert program.main(["--check", str(copy)]) == 0
    assert copy.read_text(encoding="utf-8") == PAGE.read_text(encoding="utf-8")


def test_every_complete_example_of_the_page_is_read() -> None:
    examples = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        load(example)


def test_the_mistakes_on_the_page_are_told_as_shown() -> None:
    text = "schedulerNames: []\ndefaultEnforcement: gate\nbinds: {concurency: 3}\nlogs: {level: loud}\n"
    with pytest.raises(BadConfiguration) as caught:
        load(HEAD + text, "phalanx.yaml")
    told = "\n".join([str(caught.value), *caught.value.lines()])
    assert f"```\n{told}\n```" in PAGE.read_text(encoding="utf-8")
