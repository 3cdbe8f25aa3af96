"""The commands, one a file, none with logic of its own. Only this package prints."""
