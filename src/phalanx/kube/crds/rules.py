"""Validation rules in CEL, as the API server checks them when an object is written."""

from dataclasses import dataclass

Json = dict[str, object]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: an expression over ``self`` (and ``oldSelf``), and what to tell whoever breaks it.

    ``at``: the field that is to blame, as a path below the place the rule stands at; empty for that place itself.
    ``tells``: an expression for a message with the culprit's name in it; ``message`` stands in when it fails.
    """

    rule: str
    message: str
    at: str = ""
    tells: str = ""
    reason: str = ""

    def written(self) -> Json:
        found: Json = {"rule": self.rule, "message": self.message}
        if self.tells:
            found["messageExpression"] = self.tells
        if self.at:
            found["fieldPath"] = self.at
        if self.reason:
            found["reason"] = self.reason
        return found


def fixed(name: str, optional: bool) -> Rule:
    """A rule that keeps one field as it was when the object was made, set or not."""
    same = f"self.{name} == oldSelf.{name}"
    kept = f"has(self.{name}) == has(oldSelf.{name}) && (!has(self.{name}) || {same})" if optional else same
    message = f"{name} cannot change after the object is made; delete the object and make it again"
    return Rule(kept, message, f".{name}", reason="FieldValueForbidden")
