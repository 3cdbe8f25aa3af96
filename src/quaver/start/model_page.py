"""The third step: a model that was found, or one that is named."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from quaver.core.options import options_in
from quaver.models.served.presets import PRESETS
from quaver.start.model_search import FoundModel, check_encrypted, found_models, take_key
from quaver.start.page_frame import StepPage, main_button, menu, option_field, other_button, words
from quaver.study.checking.check_options import CheckOptions


async def model(page: StepPage) -> None:
    """The third step."""
    begun = page.begun
    await page.do(lambda: begun.noun)
    page.title(
        page.about("Which model should label your texts?"), "Quaver found these models. It never shows a key."
    )
    models = await page.do(found_models) or []
    chosen = (begun.options.get("model"), begun.options.get("base_url"))
    place = ui.element("div")

    def give(**options: Any) -> None:
        begun.give(**options)
        page.retell(begun.command())

    async def change(**options: Any) -> None:
        give(**options)

    def choose(model: FoundModel) -> None:  # a key that was named for another address stays with that
        give(model=model.model, base_url=model.base_url, key_from=None)

    with place:
        titles = {index: f"{model.title} ({model.where})" for index, model in enumerate(models)}
        index = next((n for n, model in enumerate(models) if (model.model, model.base_url) == chosen), None)
        if index is None and models and chosen[0] is None:
            index = 0
        if models:
            picked = ui.radio(titles, value=index, on_change=lambda event: choose(models[event.value]))
            picked.classes("qv-models")
            picked.props["aria-label"] = "Models"
        else:
            words("p", "No model was found here, and no key in the environment.").classes("qv-doubt")
        with ui.expansion("Another model", value=not models):
            _other(page)
        with ui.expansion("How the model is asked"):
            for option in ("effort", "max_tokens", "price"):
                option_field(begun, option, change)

    async def on() -> None:
        if await page.do(begun.prepared) is not None:
            page.go("plan")

    main_button("Next: the plan", on)
    page.command(begun.command())
    if index is not None and chosen[0] is None:
        choose(models[index])


def _other(page: StepPage) -> None:
    services = [name for name, preset in PRESETS.items() if preset.needs_key]
    provider = menu(["an address", *services], value="an address", label="Provider")
    name = ui.input(label="Name of the model")
    url = ui.input(label="Address, up to /v1 (only where it is not the provider’s own)")
    held = ui.input(label=options_in(CheckOptions)["key_from"][1].help.rstrip("."))
    key = ui.input(label="Key (only where the environment has none)", password=True)
    keep = ui.checkbox("Keep the key in the system’s keyring")
    plain = ui.checkbox("Send texts to this address although they are not encrypted (http://)")
    for element in (provider, name, url, held, key):
        element.props("outlined dense").classes("qv-wide")
    words("p", "A key is never written to the study’s folder and never shown on a page.").classes("qv-small")

    def take() -> bool:
        service, where = provider.value, url.value.strip().rstrip("/")
        if where:
            check_encrypted(where, agreed=plain.value)
        variable = held.value.strip() or None
        if key.value.strip():  # a key belongs to the address that it was typed for
            typed = take_key(service, key.value, url=where, keep=keep.value)
            variable = typed if where else None
            key.value = ""
        page.begun.give(
            model=name.value.strip() if service == "an address" else f"{service}/{name.value.strip()}",
            base_url=where or None,
            key_from=variable,
        )
        page.begun.prepared()
        return True

    async def use() -> None:
        if await page.do(take):
            ui.navigate.reload()

    other_button("Use this model", use)
