"""docs/models.md says of the presets what the code says."""

from tests.pages import DOCS

from quaver.models.served.presets import PRESETS

PAGE = (DOCS / "models.md").read_text(encoding="utf-8")


def test_the_table_of_presets():
    rows = {}
    for line in PAGE.splitlines():
        cells = [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        if len(cells) == 8 and cells[0] in PRESETS:
            rows[cells[0]] = cells[1:]
    yes = {True: "yes", False: "no"}
    assert rows == {
        name: [
            one.base_url or "yours",
            one.key or "none",
            str(one.logprobs),
            one.choice,
            yes[one.schema],
            yes[bool(one.seed)],
            yes[one.plain],
        ]
        for name, one in PRESETS.items()
    }


def test_how_a_server_of_ones_own_is_started():
    for name, one in PRESETS.items():
        if one.start:
            assert f"preset: {name}," in PAGE
            assert one.start.split(" MODEL")[0].split(", ")[0] in PAGE


def test_the_defaults_that_the_page_names():
    import inspect

    from quaver.models.openai_compatible import OpenAICompatible

    defaults = {n: p.default for n, p in inspect.signature(OpenAICompatible).parameters.items()}
    assert f"`retries` ({defaults['retries']})" in PAGE
    assert f"`patience` ({defaults['patience']:g})" in PAGE
    assert f"for one call ({defaults['timeout']:g})" in PAGE
