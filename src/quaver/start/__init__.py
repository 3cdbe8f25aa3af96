"""``quaver start``: pages from a spreadsheet to trusted labels, over what the commands call."""
