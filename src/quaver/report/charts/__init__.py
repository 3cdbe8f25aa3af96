"""The report's charts: what each shows is declared over rows of estimates, and six forms draw them.

``charts.toml`` holds the declarations, ``forms.json`` the forms as Vega-Lite; `svg` turns a chart into the
inline picture of the page, which follows its light and dark colours.
"""
