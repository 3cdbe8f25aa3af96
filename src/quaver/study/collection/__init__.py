"""A study's run: checked, asked in rounds and watched."""
