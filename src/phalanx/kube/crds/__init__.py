"""Our own kinds as a cluster knows them: models, and the CustomResourceDefinitions made of them.

``models`` are the single source. ``schema`` turns a model into a structural schema, ``kinds`` says what each kind is
called and which columns it shows, ``manifests`` writes the files under ``deploy/crds``; run
``python -m phalanx.kube.crds DIR`` after a change. The rules that need more than the object itself (is this level
one of the topology?) stay with the readers in ``dialects``.
"""
