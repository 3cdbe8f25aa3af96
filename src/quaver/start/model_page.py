"""The third step: a model that was found, or one that is named."""

from __future__ import annotations

from nicegui import ui

from quaver.models.served.presets import PRESETS
from quaver.start.model_search import FoundModel, check_encrypted, found_models, take_key
from quaver.start.page_frame import StepPage, main_button, other_button, words


async def model(page: StepPage) -> None:
    """The third step."""
    begun = page.begun
    page.title("Which model should label your texts?", "Quaver found these models. It never shows a key.")
    found = await page.do(found_models) or []
    chosen = (begun.options.get("model"), begun.options.get("base_url"))
    place = ui.element("div")

    def choose(one: FoundModel) -> None:
        begun.give(model=one.model, base_url=one.base_url)
        page.retell(begun.command())

    with place:
        titles = {index: f"{one.title} ({one.where})" for index, one in enumerate(found)}
        index = next((n for n, one in enumerate(found) if (one.model, one.base_url) == chosen), None)
        if index is None and found and chosen[0] is None:
            index = 0
        if found:
            picked = ui.radio(titles, value=index, on_change=lambda event: choose(found[event.value]))
            picked.classes("qv-models")
            picked.props["aria-label"] = "Models"
        else:
            words("p", "No model was found here, and no key in the environment.").classes("qv-doubt")
        with ui.expansion("Another model", value=not found):
            _other(page)

    async def on() -> None:
        if await page.do(begun.prepared) is not None:
            page.go("plan")

    main_button("Next: the plan", on)
    page.command(begun.command())
    if index is not None and chosen[0] is None:
        choose(found[index])


def _other(page: StepPage) -> None:
    services = [name for name, one in PRESETS.items() if one.needs_key]
    provider = ui.select(["an address", *services], value="an address", label="Provider")
    name = ui.input(label="Name of the model")
    url = ui.input(label="Address, up to /v1 (only where it is not the provider’s own)")
    key = ui.input(label="Key (only where the environment has none)", password=True)
    keep = ui.checkbox("Keep the key in the system’s keyring")
    plain = ui.checkbox("Send texts to this address although nothing encrypts them (http://)")
    for one in (provider, name, url, key):
        one.props("outlined dense").classes("qv-wide")
    words("p", "A key is never written into the study’s folder, and shown on no page.").classes("qv-small")

    def take() -> bool:
        service, where = provider.value, url.value.strip().rstrip("/")
        if where:
            check_encrypted(where, agreed=plain.value)
        variable = None
        if key.value.strip():  # a key belongs to the address that it was typed for
            variable = take_key(service, key.value, url=where, keep=keep.value)
            key.value = ""
        page.begun.give(
            model=name.value.strip() if service == "an address" else f"{service}/{name.value.strip()}",
            base_url=where or None,
            key_from=variable if where else None,
        )
        page.begun.prepared()
        return True

    async def use() -> None:
        if await page.do(take):
            ui.navigate.reload()

    other_button("Use this model", use)
