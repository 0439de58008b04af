"""Names of settings that programs write as constants: `ProducerConfig.RETRIES_CONFIG` is `retries`."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from leadsman.gate.library import libraries_of

if TYPE_CHECKING:
    from collections.abc import Callable

SUFFIX = "_CONFIG"
UNLIKE = {"key.serializer.class": "key.serializer", "value.serializer.class": "value.serializer",
          "key.deserializer.class": "key.deserializer", "value.deserializer.class": "value.deserializer"}  # fmt: skip
"""Kafka's constants are the settings' names in capitals, but for these."""


@cache
def setting_name_of(language: str) -> Callable[[str], str | None]:
    """Return the function that converts a constant to the name of a setting, for programs of a language."""
    classes = {name for library in libraries_of(language) for name in library.setting_classes}

    def setting_name(path: str) -> str | None:
        owner, _, constant = path.rpartition(".")
        if owner.rpartition(".")[2] not in classes or not constant.endswith(SUFFIX):
            return None
        dots = constant.removesuffix(SUFFIX).lower().replace("_", ".")
        return UNLIKE.get(dots, dots)

    return setting_name
