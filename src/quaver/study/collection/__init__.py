"""A study's run: checked, rehearsed, asked in rounds, watched and repaired."""
