"""The models that can be asked from here; their keys are never shown."""

from __future__ import annotations

import asyncio
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import aiohttp

from quaver.core.conversation import finished
from quaver.errors import QuaverError
from quaver.models.local.weights import BUNDLED
from quaver.models.served.http_pool import SUCCESS, HttpPool
from quaver.models.served.local_kinds import found_kind
from quaver.models.served.presets import PRESETS, Preset
from quaver.models.served.server_options import address_of, is_here
from quaver.study.sources.prices import COMPARED

_SECONDS: Final = 0.6
_MOST_MODELS: Final = 200
_SERVICE: Final = "quaver"
"""The name under which the system's keyring keeps keys."""


class FoundModel(NamedTuple):
    """A model that can be asked.

    Attributes:
        model: What ``--model`` takes.
        base_url: What ``--base-url`` takes; None where that of the provider is meant.
        title: What it is called here.
        where: Where it runs, in a few words.
        free: Whether it runs on this machine, by what its server says of itself.
    """

    model: str
    base_url: str | None
    title: str
    where: str
    free: bool


def found_models() -> list[FoundModel]:
    """The models on this machine, then those of the providers whose keys the environment holds."""
    places = [*_places()]
    result = finished(_listed(places))
    for name, bundled in BUNDLED.items():
        if bundled.find():
            result.append(FoundModel(name, None, name, "in this program, small and free", True))
    here = {name for name, _, _ in places}
    for provider, variable in keys_held().items():
        if provider in here:  # its address is that of a server on this machine
            continue
        where = f"{provider}, with the key in {variable}"
        priced = [name for name in COMPARED if name.split("/")[0] in (provider, _PRICED.get(provider))]
        result += [FoundModel(name, None, name.partition("/")[2], where, False) for name in priced]
    return result


_PRICED: Final = {"gemini": "google"}


def keys_held() -> dict[str, str]:
    """The providers whose keys the environment holds, each with the name of its variable."""
    return {
        name: preset.key
        for name, preset in PRESETS.items()
        if preset.needs_key and os.environ.get(preset.key, "").strip()
    }


def _places() -> Iterator[tuple[str, Preset, str]]:
    """Where servers usually listen on this machine, and where the environment says that one does."""
    for name, preset in PRESETS.items():
        with suppress(QuaverError):  # an address in the environment that is none
            url = address_of(None, name, preset.base_url)
            if is_here(url):
                yield name, preset, url


async def _listed(places: Iterable[tuple[str, Preset, str]]) -> list[FoundModel]:
    served = await asyncio.gather(*(_served(*place) for place in places))
    return [model for some in served for model in some]


async def _served(name: str, preset: Preset, url: str) -> list[FoundModel]:
    """The models of one server; none where nothing answers."""
    usual = url == preset.base_url or name == "ollama"
    free, result = bool(await found_kind(url)), []
    for model in await models_at(url, os.environ.get(preset.key, "") if preset.key else ""):
        if usual:
            result.append(FoundModel(f"{name}/{model}", None, model, f"{name} on this machine", free))
        else:
            asked = f"{name}/{model}" if preset.needs_key and os.environ.get(preset.key) else model
            result.append(FoundModel(asked, url, model, f"a server on this machine ({url})", free))
    return result


async def models_at(url: str, key: str = "") -> list[str]:
    """The names of the models that a server lists; none where it does not answer.

    A server that sends elsewhere is none, and no proxy stands between: a key goes where it was meant to go.
    """
    headers = {"Authorization": f"Bearer {key.strip()}"} if key.strip() else {}
    try:
        async with HttpPool(1, _SECONDS, _SECONDS, proxies=False) as pool:
            reply = await pool.get(f"{url}/models", headers)
        listed: Any = json.loads(reply.content)["data"] if reply.status in SUCCESS else []
        return [str(entry["id"]) for entry in listed[:_MOST_MODELS]]
    except (aiohttp.ClientError, OSError, ValueError, TypeError, KeyError):
        return []


def check_encrypted(url: str, *, agreed: bool) -> None:
    """See that texts go to another machine encrypted, unless it was agreed that they need not.

    Raises:
        QuaverError: They would not be.
    """
    if url.startswith("http://") and not is_here(url) and not agreed:
        raise QuaverError(
            "texts and key would be sent to another machine unencrypted",
            where=url,
            expected="https://",
            fix="correct the address, or tick the box if the network is your own",
        )


def key_variable(url: str) -> str:
    """The name of the variable for the key of an address, which goes to that address alone.

    >>> key_variable("https://models.lab.example:8443/v1")
    'QUAVER_KEY_MODELS_LAB_EXAMPLE_8443'
    """
    parts = re.split(r"[^A-Z0-9]+", urlsplit(url).netloc.upper())
    return "_".join(["QUAVER_KEY", *(part[:12] for part in parts)])


def take_key(provider: str, key: str, *, url: str = "", keep: bool) -> str:
    """Hold a key for as long as this program runs, and in the system's keyring if that is wished.

    Returns:
        The name of the variable: the provider's own, or that of the address for which the key was given.
    """
    variable = key_variable(url) if url else PRESETS[provider].key if provider in PRESETS else ""
    if not variable:
        raise QuaverError("a key needs an address or a provider that it is for", where="key")
    if not key.strip():
        raise QuaverError("the key is empty", where=variable)
    os.environ[variable] = key.strip()
    if keep:
        try:
            import keyring

            keyring.set_password(_SERVICE, variable, key.strip())
        except Exception as error:  # each system's keyring has errors of its own
            raise QuaverError(
                "the system’s keyring takes no key; it is held until this program ends",
                where=variable,
                found=type(error).__name__,
            ) from None
    return variable


def take_kept_keys() -> None:
    """Take the keys that the system's keyring holds, where the environment has none."""
    with suppress(Exception):  # no keyring, or one that is locked: its keys are asked for
        import keyring

        for preset in PRESETS.values():
            missing = preset.needs_key and not os.environ.get(preset.key)
            if missing and (held := keyring.get_password(_SERVICE, preset.key)):
                os.environ[preset.key] = held
