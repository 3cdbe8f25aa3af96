"""A study's run: checked, rehearsed, asked in rounds and watched."""
