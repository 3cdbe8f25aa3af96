"""Tables of the report, on the page and as files."""
