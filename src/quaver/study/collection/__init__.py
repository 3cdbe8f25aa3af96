"""A study's run: forecast, checked, asked in rounds and watched."""
