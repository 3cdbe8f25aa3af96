"""A study in one archive: packed, verified, with texts redacted where they must not be passed on."""
