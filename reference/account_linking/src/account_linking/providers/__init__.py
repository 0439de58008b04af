"""Finds the providers on disk. Nothing registers itself."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from account_linking.providers.model import Provider  # noqa: TC001 - callers take it from here


@cache
def every_provider() -> dict[str, Provider]:
    """Return all providers by name: each sub-package has a PROVIDER."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__) if module.ispkg)
    providers = [import_module(f"{__name__}.{name}").PROVIDER for name in names]
    return {provider.name: provider for provider in providers}
