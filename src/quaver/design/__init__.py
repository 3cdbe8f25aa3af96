"""study file -> calls: pure and deterministic, nothing here asks a model anything."""
