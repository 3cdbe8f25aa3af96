"""Spreadsheets as people save them, for tests."""

import zipfile
from collections.abc import Mapping
from datetime import date, datetime, time
from html import escape

import xlsxwriter

_FORMATS = {date: "yyyy-mm-dd", datetime: "yyyy-mm-dd hh:mm", time: "hh:mm"}


def write_xlsx(path, sheets, merged=()):
    """Write sheets by name, or one sheet; ``merged`` are areas of the first."""
    with xlsxwriter.Workbook(str(path), {"strings_to_formulas": False, "strings_to_urls": False}) as book:
        formats = {kind: book.add_format({"num_format": form}) for kind, form in _FORMATS.items()}
        named = sheets if isinstance(sheets, Mapping) else {"Sheet1": sheets}
        for name, rows in named.items():
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                for column, cell in enumerate(row):
                    if isinstance(cell, str):
                        sheet.write_string(number, column, cell)
                    elif cell is not None:
                        sheet.write(number, column, cell, formats.get(type(cell)))
        for area in merged:
            book.worksheets()[0].merge_range(area, "merged")
    return path


def write_ods(path, sheets):
    """Write sheets by name, or one sheet, with the empty cells that LibreOffice writes to the sheet's end."""
    named = sheets if isinstance(sheets, Mapping) else {"Sheet1": sheets}
    tables = "".join(_table(name, rows) for name, rows in named.items())
    space = "urn:oasis:names:tc:opendocument:xmlns"
    spaces = "".join(f' xmlns:{one}="{space}:{one}:1.0"' for one in ("office", "table", "text"))
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content{spaces}><office:body>'
        f"<office:spreadsheet>{tables}</office:spreadsheet></office:body></office:document-content>"
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        manifest = f'<manifest:manifest xmlns:manifest="{space}:manifest:1.0"/>'
        archive.writestr("META-INF/manifest.xml", manifest)
        archive.writestr("content.xml", content)
    return path


def replaced(path, part, content):
    """Put another part in the place of one."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts[part] = content
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, old in parts.items():
            archive.writestr(name, old)
    return path


def _table(name, rows):
    tail = '<table:table-cell table:number-columns-repeated="16000"/>'
    written = "".join(f"<table:table-row>{''.join(map(_cell, row))}{tail}</table:table-row>" for row in rows)
    end = f'<table:table-row table:number-rows-repeated="1048000">{tail}</table:table-row>'
    return f'<table:table table:name="{escape(name)}">{written}{end}</table:table>'


def _cell(value):
    if value is None:
        return "<table:table-cell/>"
    text = f"<text:p>{escape(str(value))}</text:p>"
    if isinstance(value, bool):
        kind = f'boolean" office:boolean-value="{str(value).lower()}'
    elif isinstance(value, int | float):
        kind = f'float" office:value="{value}'
    elif isinstance(value, date):
        kind = f'date" office:date-value="{value.isoformat()}'
    else:
        kind = "string"
    return f'<table:table-cell office:value-type="{kind}">{text}</table:table-cell>'
