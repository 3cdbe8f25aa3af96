"""The imports of a skeleton, in sections and sorted, whichever package it is written into."""

from __future__ import annotations

import re
import sys
from itertools import groupby

_IMPORTS = re.compile(r"(?:^(?:from \S+ )?import .*\n)(?:\n?^(?:from \S+ )?import .*\n)*", re.MULTILINE)
_MODULE = re.compile(r"(?:from|import) ([\w.]+)")


def arranged(text: str, package: str) -> str:
    r"""Put the first block of imports in order: future, standard library, other packages, the package itself.

    >>> print(arranged("import numpy as np\nfrom mine.a import b\nimport re\n", "mine"), end="")
    import re
    <BLANKLINE>
    import numpy as np
    <BLANKLINE>
    from mine.a import b
    """
    block = _IMPORTS.search(text)
    if not block:
        return text

    def place(line: str) -> tuple[int, bool, str]:
        found = _MODULE.match(line)
        module = found[1] if found else ""
        root = module.partition(".")[0]
        own, standard = root == package, root in sys.stdlib_module_names
        section = 0 if root == "__future__" else 3 if own else 1 if standard else 2
        return section, line.startswith("from"), module.lower()

    lines = sorted(filter(None, block[0].splitlines()), key=place)
    sections = ["\n".join(some) for _, some in groupby(lines, lambda line: place(line)[0])]
    return text[: block.start()] + "\n\n".join(sections) + "\n" + text[block.end() :]
