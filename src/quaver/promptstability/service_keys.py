"""Keys of services, from the environment."""

from __future__ import annotations

import os

from quaver.errors import MissingKey, UnknownName

_VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "cohere": "COHERE_API_KEY",
    "huggingface": "HUGGINGFACE_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "openai": "OPENAI_API_KEY",
}


def get_api_key(api: str = "openai") -> str:
    """A service's API key, from its environment variable.

    Args:
        api: ``openai``, ``mistral``, ``anthropic``, ``cohere`` or ``huggingface``.

    Returns:
        The value of ``OPENAI_API_KEY``, ``MISTRAL_API_KEY`` and so on.

    Raises:
        UnknownName: No such service is known.
        MissingKey: The variable is not set.
    """
    variable = _VARIABLES.get(str(api).lower())
    if variable is None:
        raise UnknownName("service", api, _VARIABLES, where="get_api_key")
    key = os.environ.get(variable)
    if not key:
        raise MissingKey(
            f"the API key for {api} is not set", where="get_api_key", fix=f"export {variable}=your key"
        )
    return key
