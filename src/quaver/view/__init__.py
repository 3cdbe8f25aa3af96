"""``quaver view``: a local application over studies, from the verdict down to a single answer."""
