"""Imports every module below a package that declares a given name. Nothing registers itself."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType


def declared_in(package: ModuleType, attribute: str) -> list[Any]:
    """Return `attribute` of every module in a package and in its sub-packages.

    `pkgutil` also finds modules inside a zip, which is how Spark executors import this package.
    """
    modules = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [getattr(import_module(module.name), attribute) for module in modules if not module.ispkg]
