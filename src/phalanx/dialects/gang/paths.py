"""Field paths that say where a pod carries its rank or replica key."""

import re

from phalanx.dialects.fields import Field

_FORM = re.compile(r"metadata\.(labels|annotations)\['[A-Za-z0-9./_-]{1,317}'\]", re.ASCII)


def check_field_path(at: Field) -> None:
    """A Problem unless the text is ``metadata.labels['KEY']`` or ``metadata.annotations['KEY']``."""
    text = at.text(None)
    if text is not None and _FORM.fullmatch(text) is None:
        at.mistaken("is not a field path", ("metadata.labels['KEY']", "metadata.annotations['KEY']"))
