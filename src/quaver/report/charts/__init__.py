"""The report's charts, a family a file; each function returns an ``altair.Chart`` to use as it is.

`theme` has the colours and type, `forest` draws values with intervals in rows (most charts are that),
`svg` turns a chart into the inline picture of the page, which follows its light and dark colours.
"""
