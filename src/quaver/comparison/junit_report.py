"""A comparison as JUnit XML, the format of test results that CI services show: a test case a difference."""

from __future__ import annotations

from xml.etree import ElementTree

from quaver.comparison.comparison_result import Comparison
from quaver.comparison.difference_rows import Row, headline, judged_rows, rows_of
from quaver.core.number_format import visible, visible_line


def junit(found: Comparison, *, file: str = "") -> str:
    """Write a comparison as JUnit XML.

    Each bound is a test of each difference that it judges. Without bounds, each difference is a test, which
    passes whatever it is. An undefined difference is a skipped test.

    Args:
        found: The comparison.
        file: The study file, which GitLab links to; none if left out.
    """
    rows = judged_rows(found) or rows_of(found)
    failed = sum(row.failed for row in rows)
    skipped = sum(_is_skipped(row) for row in rows)
    counts = {"tests": f"{len(rows)}", "failures": f"{failed}", "errors": "0", "skipped": f"{skipped}"}
    root = ElementTree.Element("testsuites", {"name": "quaver compare", **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": _line(_sides(found)), **counts})
    known = {"before": found.before, "after": found.after, "items": f"{found.items}"}
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in known.items():
        ElementTree.SubElement(properties, "property", {"name": name, "value": _line(value)})
    for row in rows:
        _case(suite, row, file)
    out = ElementTree.SubElement(suite, "system-out")
    left_out = [f"Left out: {line}." for line in found.left_out]
    out.text = visible("\n".join([headline(found), *left_out, *found.undefined]))
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _case(suite: ElementTree.Element, row: Row, file: str) -> None:
    bound = f"fail-{row.bound.kind} {row.bound.text}" if row.bound else ""
    name = ", ".join(filter(None, [bound or row.measure, row.where]))
    named = {"classname": _line(f"quaver.{row.measure}"), "name": _line(name)}
    case = ElementTree.SubElement(suite, "testcase", named | ({"file": _line(file)} if file else {}))
    if row.failed:
        kind = {"type": row.verdict.kind, "message": _line(row.verdict.words)}
        ElementTree.SubElement(case, "failure", kind).text = visible(row.words)
    elif _is_skipped(row):
        ElementTree.SubElement(case, "skipped", {"message": _line(row.verdict.words)})
    ElementTree.SubElement(case, "system-out").text = visible(row.words)


def _is_skipped(row: Row) -> bool:
    return row.verdict.kind == "undefined"


def _sides(found: Comparison) -> str:
    return f"{found.before}, then {found.after}"


def _line(text: str) -> str:
    return visible_line(text, 500)
