#!/usr/bin/env python3
"""``gh api`` for the comments of one pull request, which stand in the file that $FAKE_GH names."""

import json
import os
import subprocess
import sys
from pathlib import Path


def main():
    state = Path(os.environ["FAKE_GH"])
    arguments = sys.argv[1:]
    assert arguments.pop(0) == "api"
    assert os.environ["GH_TOKEN"]
    options = {"--method": "GET", "--jq": "", "--field": ""}
    paths = []
    while arguments:
        word = arguments.pop(0)
        if word in options:
            options[word] = arguments.pop(0)
        elif not word.startswith("--"):
            paths.append(word)
    (path,) = paths
    comments = json.loads(state.read_text())
    if os.environ.get("FAKE_GH_FORBIDS", "").find(options["--method"]) >= 0:
        sys.exit("gh: Resource not accessible by integration (HTTP 403)")
    name, _, file = options["--field"].partition("=@")
    body = Path(file).read_text() if name == "body" else ""
    if options["--method"] == "GET":
        assert path == "repos/me/shop/issues/7/comments?per_page=100"
        for at in range(0, len(comments), 2):  # a page at a time, as --paginate gives them
            page = json.dumps(comments[at : at + 2])
            shown = subprocess.run(
                ["jq", "-r", options["--jq"]], input=page, text=True, stdout=subprocess.PIPE
            )
            assert shown.returncode == 0
            print(shown.stdout, end="")
    elif options["--method"] == "POST":
        assert path == "repos/me/shop/issues/7/comments"
        comments.append({"id": 100 + len(comments), "user": {"type": "Bot"}, "body": body})
    else:
        number = int(path.removeprefix("repos/me/shop/issues/comments/"))
        (one,) = (comment for comment in comments if comment["id"] == number)
        one["body"] = body
    state.write_text(json.dumps(comments))


if __name__ == "__main__":
    main()
