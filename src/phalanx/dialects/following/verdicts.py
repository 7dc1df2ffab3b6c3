"""Which objects are not simply good. A scheduler before us may have said so: then only what it wrote there tells."""

from phalanx.model.objects import ObjectKey

_UNSETTLED = "nobody has said yet that it is good, or a scheduler that ended has said that it is not"


class Verdicts:
    """So that each refusal is told once, and once that it is over."""

    def __init__(self) -> None:
        self.refused: dict[ObjectKey, object] = {}

    def unsettle(self, key: ObjectKey) -> None:
        """An object is seen for the first time, and that it is good is news."""
        self.refused.setdefault(key, _UNSETTLED)

    def refuse(self, key: ObjectKey, why: object) -> bool:
        """It is wrong, or not quite right; whether that is news."""
        before = self.refused.get(key)
        self.refused[key] = why
        return before != why

    def lift(self, key: ObjectKey) -> bool:
        """It is good, or gone; whether it was refused until now."""
        return self.refused.pop(key, None) is not None
