"""``quaver figure``: a paper's figure from stored answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quaver.cli.console import say, screen, table
from quaver.cli.study_options import FieldOption, FunctionOption, StudyArgument, studies_of


def command(
    study: StudyArgument,
    name: Annotated[str | None, typer.Argument()] = None,
    to: Annotated[Path | None, typer.Option(metavar="FILE")] = None,
    width: Annotated[int, typer.Option(min=200)] = 720,
    model: Annotated[list[str] | None, typer.Option()] = None,
    strategy: Annotated[list[str] | None, typer.Option()] = None,
    label: Annotated[list[str] | None, typer.Option("--class")] = None,
    item: Annotated[list[str] | None, typer.Option(metavar="ID")] = None,
    columns: Annotated[int | None, typer.Option(min=1)] = None,
    page: Annotated[int, typer.Option(min=1)] = 1,
    small: bool = False,
    field: FieldOption = None,
    function: FunctionOption = None,
) -> None:
    """Draw a figure as one of the papers draws it, from stored answers.

    It takes a study, a bundle, or a file that lists studies, which are the figure's data sets. No model is
    asked.

    Options:
      name: PAPER:NUMBER, or the number alone in a paper's own recipe; without one, all are listed.
      to: The file: .svg, .png or .pdf; by default figure-NAME.svg.
      width: In pixels; 360 is a column, 720 a page.
      model: A model that is drawn; all if left out. May be repeated, as the next three.
      strategy: A strategy that is drawn.
      label: A class that is drawn, by code or name.
      item: The id of an item that is drawn.
      columns: Panels side by side; as many as fit if left out.
      page: The page that is drawn; the caption says how many there are.
      small: Of the small version.

    Examples:
      quaver figure study.yaml
      quaver figure barrie-2025.yaml 2
      quaver figure study.yaml errica-2025:6 --to items.pdf --width 360
      quaver figure study.yaml errica-2025:4 --model gpt-4 --class sport --page 2
    """
    from quaver.papers.catalogue import figure, figure_of, figures, paper_of

    if name is not None:
        own = paper_of(study)
        name = f"{own.code}:{name}" if own and ":" not in name else name
        figure_of(name)  # a wrong name is said before answers are read
    stored = studies_of(study, function, small=small, field=field)
    if name is None:
        screen.print(table(("figure", "what it shows"), list(figures().items())))
        return
    from quaver.papers.paper_figures import save

    path = to or Path(f"figure-{name.replace(':', '-')}{f'-{page}' if page > 1 else ''}.svg")
    chosen = {"models": model, "strategies": strategy, "classes": label, "items": item}
    some = {name: values for name, values in chosen.items() if values}
    save(figure(stored, name, width=width, columns=columns, page=page, **some), path)
    say(f"Wrote {path}")
