"""The commands, one a file, none with logic of its own. Only this package prints.

A command imports what it needs when it is called: `quaver --help` waits for no statistics.
"""
