"""`--format slack`: the message of each PRESENT finding as Slack's mrkdwn, to paste."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from leadsman.report.message.message import message_about, present_findings
from leadsman.report.message.slack import slack_text
from leadsman.report.output_format import OutputFormat
from leadsman.report.text.escaping import escape_unencodable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from leadsman.model import Diagnosis

NOTHING = "No failure mode is PRESENT.\n"


def _write(diagnoses: Sequence[Diagnosis], stream: TextIO) -> None:
    texts = [slack_text(message_about(*found)) for found in present_findings(diagnoses)]
    stream.write(escape_unencodable("\n".join(texts) or NOTHING, stream.encoding or "utf-8"))


FORMAT = OutputFormat(write=_write)
