"""Translators: documents as people write them in, the model's values out.

Lives here: one reader per kind of object, and the shared helpers they stand on (``fields``, ``levels``,
``podspec`` and its parts, ``wishes``). May import: model. Will never: read a file or a clock, raise on bad
input, or look for room. Readers of workload kinds are blind to each other; ``reading`` alone knows them all.
"""
