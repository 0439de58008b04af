"""The Jinja environment of the page. Text from a log cannot act in a template."""

from __future__ import annotations

import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from leadsman.errors import MissingExtra
from leadsman.installation import install_command
from leadsman.report.charts import legend, matrix, panels, selection
from leadsman.report.json_documents.findings import iso_time
from leadsman.report.text import conditions, findings
from leadsman.report.text.changes import change_sentence
from leadsman.report.text.escaping import escape_control_characters
from leadsman.words import clock, count, duration, moment, size, span

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

IN_BACKTICKS = re.compile("`([^`]+)`")

LINES_UNFOLDED = 2
"""Evidence lines of a link that are shown unfolded: the first convinces, the second shows that it was no accident."""


@cache
def template_environment() -> Environment:
    """Return the environment: autoescaping, with control characters spelled out in every expression."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # not in the light installation
        from markupsafe import Markup
    except ImportError as error:
        raise MissingExtra(
            "The report page needs jinja2 and matplotlib, which are not installed. Install them: "
            f"{install_command('spark')}"
        ) from error

    def finalize(value: Any) -> Any:  # noqa: ANN401 - jinja2 passes the value of any expression
        is_text = isinstance(value, str) and not isinstance(value, Markup)
        return escape_control_characters(value, keep="\t\n") if is_text else value

    environment = Environment(
        loader=PackageLoader("leadsman.report.page"),
        autoescape=True,
        finalize=finalize,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(clock=clock, count=count, duration=duration, iso=iso_time, moment=moment, size=size)
    environment.filters.update(one_line=escape_control_characters, with_code=_with_code)
    environment.globals.update(
        change_sentence=change_sentence,
        conditions=conditions,
        findings=findings,
        legend=legend,
        selection=selection,
        matrix=matrix,
        panels=panels,
        span=span,
        lines_unfolded=LINES_UNFOLDED,
    )
    return environment


def template_text(name: str) -> str:
    """Return a file of the templates' folder."""
    return (files("leadsman.report.page") / "templates" / name).read_text(encoding="utf-8")


def content_policy() -> str:
    """Return a policy that forbids everything but the page's own style and its one script."""
    digest = b64encode(sha256(template_text("copy.js").encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _with_code(text: str) -> Markup:
    """Return text as HTML in which what stands in backticks is code."""
    from markupsafe import Markup, escape

    return Markup(IN_BACKTICKS.sub(r"<code>\1</code>", str(escape(escape_control_characters(text)))))  # noqa: S704 - escaped
