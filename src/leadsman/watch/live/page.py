"""Renders the live page out of the report page's own components: its style, its macros, its escaping."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import TYPE_CHECKING

from leadsman.report.page.detail import LESS
from leadsman.report.page.templates import template_environment, template_text

if TYPE_CHECKING:
    from jinja2 import Environment

    from leadsman.watch.live.snapshot import Snapshot

PACKAGE = "leadsman.watch.live"

NOT_UNDERSTOOD_SHOWN = 20
UNDECIDED_SHOWN = 20


def page_html(snapshot: Snapshot) -> str:
    """Return the whole page."""
    return _environment().get_template("live.html.j2").render(snapshot=snapshot, content=content_html(snapshot))


def content_html(snapshot: Snapshot) -> str:
    """Return what changes while the page is open."""
    template = _environment().get_template("content.html.j2")
    return template.render(
        snapshot=snapshot, detail=LESS, not_understood_shown=NOT_UNDERSTOOD_SHOWN, undecided_shown=UNDECIDED_SHOWN
    )


def style() -> str:
    """Return the style sheet: the report's, and what the live page adds."""
    return template_text("page.css") + _text("live.css")


def script() -> str:
    """Return the page's one script."""
    return _text("live.js")


@cache
def _environment() -> Environment:
    from jinja2 import ChoiceLoader, PackageLoader

    own = template_environment()
    environment = own.overlay(loader=ChoiceLoader([PackageLoader(PACKAGE), PackageLoader("leadsman.report.page")]))
    environment.filters["digest"] = _digest
    return environment


def _digest(html: str) -> str:
    """Return what distinguishes a changed part of the page from an unchanged one."""
    return blake2b(html.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _text(name: str) -> str:
    return (files(PACKAGE) / "templates" / name).read_text(encoding="utf-8")
