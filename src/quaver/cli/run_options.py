"""The options of ``quaver run``."""

from __future__ import annotations

from typing import Annotated

import typer

RetryErrors = Annotated[bool, typer.Option("--retry-errors", help="Ask again for what failed.")]
Events = Annotated[
    str, typer.Option(help="Where to write events as JSON lines: a file, or - for standard output.")
]
Batch = Annotated[
    bool,
    typer.Option(
        "--batch",
        help="Ask in the providers' batches where there are any: half the price, within a day.",
    ),
]
Wait = Annotated[bool, typer.Option("--wait", help="Stay until every batch is over, and collect it.")]
CancelBatches = Annotated[
    bool,
    typer.Option(
        "--cancel-batches", help="Ask nothing; end every batch that is out and store what it answered."
    ),
]
On = Annotated[
    str, typer.Option(help="Where models are asked: here, or ray for the workers of a Ray cluster.")
]
Address = Annotated[
    str, typer.Option(help="The Ray cluster's address; RAY_ADDRESS or this machine if left out.")
]
Workers = Annotated[
    int, typer.Option(help="Ray workers a model; as many as fit if left out.", show_default=False)
]
GpusPerWorker = Annotated[
    float, typer.Option(help="GPUs that each Ray worker has for itself.", show_default=False)
]
Shard = Annotated[
    str,
    typer.Option(
        help="Ask one of several equal parts only, in a process of its own: 3/8 is the third of eight."
    ),
]
Small = Annotated[bool, typer.Option("--small", help="Run the small version that the study file describes.")]
