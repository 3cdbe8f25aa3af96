"""What holds for every test: properties are tried on the same examples each time, at any speed."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("quaver", deadline=None, derandomize=True)
settings.load_profile("quaver")
