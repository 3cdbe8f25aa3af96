"""One study over a source: opened, run, scored, measured, reported."""
