"""Conditions, the same on every kind."""

from typing import Annotated, Literal

from msgspec import Meta

from phalanx.kube.crds.models.base import Model, keyed, says

CONDITIONS_MAX = 16


class Condition(Model, frozen=True):
    """One thing that is so, is not so, or is not known."""

    type: Annotated[str, Meta(min_length=1, max_length=316), says("What the condition is about.")]
    status: Annotated[Literal["True", "False", "Unknown"], says("Whether it holds.")]
    last_transition_time: Annotated[str, says("When status last changed.", format="date-time")]
    reason: Annotated[
        str, Meta(max_length=1024, pattern="^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"), says("Why, in one word.")
    ]
    message: Annotated[str, Meta(max_length=32768), says("Why, in a sentence.")]
    observed_generation: Annotated[
        Annotated[int, Meta(ge=0)] | None, says("The generation of the object that this was seen on.", format="int64")
    ] = None


Conditions = Annotated[tuple[Condition, ...], Meta(max_length=CONDITIONS_MAX)]


class Status(Model, frozen=True):
    """What Phalanx says about the object."""

    observed_generation: Annotated[
        int | None, says("The generation of the object that this was seen on.", format="int64")
    ] = None
    conditions: Annotated[
        Conditions,
        says("Valid: the object can be used as it is; if not, the message says what is wrong.", **keyed("type")),
    ] = ()
