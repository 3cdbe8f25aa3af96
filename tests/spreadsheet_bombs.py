"""Spreadsheets of a few kilobytes that would take gigabytes, each with a seed of its own.

``python -m tests.spreadsheet_bombs FIRST COUNT`` reads as many, each in a process with 1 GB.
It prints how they end.
"""

import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path
from random import Random

from tests.spreadsheets import replaced, write_ods, write_xlsx

__all__ = ["LIMIT", "bomb", "ending"]

LIMIT = 2**30
"""Bytes that a process may take for its data, beside the libraries that it loads."""

_READ = """
import resource, sys
from pathlib import Path
import quaver.design.items.spreadsheet_files
from quaver.design.items.table_files import read_rows
from quaver.errors import QuaverError
resource.setrlimit(resource.RLIMIT_DATA, ({limit}, {limit}))
for path in sys.argv[1:]:
    try:
        print("rows", len(read_rows(Path(path))), flush=True)
    except QuaverError as error:
        print("error" if len(str(error)) < 2000 else "a long error", flush=True)
"""


def bomb(seed, folder):
    """A spreadsheet that unpacks to much more than it has."""
    rng = Random(f"bomb {seed}")
    return (_ods if seed % 2 else _xlsx)(rng, folder, seed)


def ending(*paths):
    """How reading them ends, one after the other in one process with a limit; shorter where it died."""
    command = [sys.executable, "-c", _READ.format(limit=LIMIT), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    lines = [line.split()[0] if line[:4] == "rows" else line for line in done.stdout.splitlines()]
    return lines if done.returncode == 0 else [*lines, f"exit status {done.returncode}: {done.stderr[-200:]}"]


def _text(rng):
    """A text of up to some millions of letters, of one kind."""
    return rng.choice("xü漢😀") * int(10 ** rng.uniform(1, 6.3))


def _times(rng, most):
    return int(10 ** rng.uniform(0, most))


def _ods(rng, folder, seed):
    path = write_ods(folder / f"{seed}.ods", [("a",), ("b",)])
    rows, cells, spaces = _times(rng, 6.5), _times(rng, 4.5), _times(rng, 9.5)
    text = _text(rng)
    inside = rng.choice(
        [
            f'x<text:s text:c="{spaces}"/>',
            text,
            f"{text[:1000]}<text:line-break/>",
            "<text:s/>" * len(text[:9999]),
        ]
    )
    repeated = rng.choice([f' table:number-rows-repeated="{rows}"', ""])
    across = rng.choice([f' table:number-columns-repeated="{cells}"', ""])
    value = rng.choice(
        ['office:value-type="string"', f'office:value-type="string" office:string-value="{text}"', ""]
    )
    kind = rng.choice(
        [
            value,
            f'table:formula="of:=&quot;{text}&quot;" {value}',
            'office:value-type="float" office:value="1"',
        ]
    )
    cell = f"<table:table-cell {kind}{across}><text:p>{inside}</text:p></table:table-cell>"
    table = f"<table:table-row{repeated}>{cell}</table:table-row>"
    content = _part(path, "content.xml").decode()
    content = content.replace("</table:table>", f"{table}</table:table>")
    if rng.random() < 0.15:
        many = "".join(
            f'<table:table table:name="s{at}">{table}</table:table>'
            for at in range(min(50_000, _times(rng, 5)))
            if at * len(table) < 10**8
        )
        content = content.replace("</office:spreadsheet>", f"{many}</office:spreadsheet>")
    return replaced(path, "content.xml", content.encode())


def _xlsx(rng, folder, seed):
    path = write_xlsx(folder / f"{seed}.xlsx", [("a",), ("b",)])
    how, text, many = rng.randrange(7), _text(rng), _times(rng, 5.5)
    sheet, strings = "", None
    if how < 3:
        strings = f"<sst><si><t>a</t></si><si><t>{text}</t></si></sst>"
        sheet = "".join(f'<row><c t="s"><v>{1 if at else 0}</v></c></row>' for at in range(many))
    elif how == 3:
        strings = "<sst><si><t>a</t></si>" + "<si/>" * _times(rng, 7.3) + "</sst>"
        sheet = '<row><c t="s"><v>0</v></c></row>'
    elif how == 4:
        row, column = _times(rng, 6.1), rng.choice(["B", "ZZ", "XFD"])
        sheet = (
            f'<row r="1"><c r="A1"><v>1</v></c></row><row r="{row}"><c r="{column}{row}"><v>1</v></c></row>'
        )
    elif how == 5:
        sheet = "<row><c><v>1</v></c></row>" * _times(rng, 6.8)
    else:
        inline = f'<c t="inlineStr"><is><t>{text}</t></is></c>'
        sheet = f"<row>{inline}</row>" * max(1, min(many, 10**8 // len(inline)))
    dimension = rng.choice(["", '<dimension ref="A1:XFD1048576"/>'])
    replaced(
        path,
        "xl/worksheets/sheet1.xml",
        f"<worksheet>{dimension}<sheetData>{sheet}</sheetData></worksheet>".encode(),
    )
    if strings is not None:
        replaced(path, "xl/sharedStrings.xml", strings.encode())
    if rng.random() < 0.15:
        book = _part(path, "xl/workbook.xml").decode()
        names = "".join(
            f'<sheet name="sheet {at}" sheetId="{at + 2}" r:id="rId1"/>' for at in range(_times(rng, 4.7))
        )
        replaced(path, "xl/workbook.xml", book.replace("</sheets>", f"{names}</sheets>").encode())
    return path


def _part(path, name):
    with zipfile.ZipFile(path) as archive:
        return archive.read(name)


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:])
    counted = Counter()
    with tempfile.TemporaryDirectory() as home:
        for number in range(first, first + count):
            made = bomb(number, Path(home))
            found = ending(made)
            counted.update(found[-1:])
            if found[-1:] not in (["rows"], ["error"]):
                print(number, found, made.stat().st_size, flush=True)
            made.unlink()
    print(dict(counted))
