"""The contracts of models, measures and evaluators, as test suites for your own.

::

    pip install "quaver[testing]"
    pytest --pyargs quaver.testing              # every plug-in that is installed beside Quaver's own
    pytest --pyargs quaver.testing -k parrot    # one of them

A plug-in that can be built without options is tested unasked. For another, or to have more of it tested, say
how it is built: a mapping from kinds and names to recipes (``quaver.testing.recipes``), which your package
names in its entry points::

    [project.entry-points."quaver.testing"]
    my_package = "my_package.recipes:RECIPES"

Your own tests can use what the suites give plug-ins to work on: ``requests`` (requests to models), ``tasks``
(label sets with a variant), ``prompts`` (a prompt to be varied) and ``frames`` (annotations).
"""
