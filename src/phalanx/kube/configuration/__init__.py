"""The configuration of ``phalanx run``: one frozen value, read from a YAML file, with every mistake told at once.

``parts`` says what can be set and is the only place that knows a default; ``reading`` follows its types, ``writing``
prints them, ``page`` puts them into ``docs/configuration.md``.
"""

from phalanx.kube.configuration.parts import Configuration
from phalanx.kube.configuration.reading import BadConfiguration, load
from phalanx.kube.configuration.writing import default_text, written

__all__ = ["BadConfiguration", "Configuration", "default_text", "load", "written"]
