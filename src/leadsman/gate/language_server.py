"""A language server (LSP): findings as diagnostics of an editor, when a file is opened and when it is saved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from leadsman import __version__
from leadsman.gate.check import check_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pygls.workspace import TextDocument

    from leadsman.gate.rule import ModeRule, Violation

NAME = "leadsman"
PAGE = "https://github.com/leadsman/leadsman/blob/main/src/leadsman/modes/{mode}/page.md"


def language_server(rules: Sequence[ModeRule]) -> LanguageServer:
    """Return a server with these rules; `start_io` serves an editor on standard input and output."""
    server = LanguageServer(NAME, __version__)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: types.DidOpenTextDocumentParams) -> None:
        _publish(server, params.text_document.uri, rules)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def saved(params: types.DidSaveTextDocumentParams) -> None:
        _publish(server, params.text_document.uri, rules)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: types.DidCloseTextDocumentParams) -> None:
        _send(server, params.text_document.uri, [])

    return server


def _publish(server: LanguageServer, uri: str, rules: Sequence[ModeRule]) -> None:
    """Check the text that the editor has; log why a file was not checked."""
    document = server.workspace.get_text_document(uri)
    report = check_text(document.path or uri, document.source, rules)
    for each in report.unreadable:
        message = f"Not checked: {each.path}: {each.why}"
        server.window_log_message(types.LogMessageParams(type=types.MessageType.Warning, message=message))
    _send(server, uri, [_diagnostic(document, each) for each in report.violations])


def _send(server: LanguageServer, uri: str, diagnostics: list[types.Diagnostic]) -> None:
    server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics))


def _diagnostic(document: TextDocument, violation: Violation) -> types.Diagnostic:
    return types.Diagnostic(
        range=_range(document, violation),
        message=f"{violation.message}\n{violation.why}\nFix: {violation.fix}",
        severity=types.DiagnosticSeverity.Warning,
        source=NAME,
        code=violation.rule,
        code_description=types.CodeDescription(href=PAGE.format(mode=violation.mode)),
    )


def _range(document: TextDocument, violation: Violation) -> types.Range:
    """Return the place in the units that the editor asked for: lines and columns from 0, columns mostly in UTF-16."""
    span = violation.span
    first = types.Position(line=span.line - 1, character=max(0, span.column - 1))
    last = types.Position(line=max(span.line, span.end_line) - 1, character=max(0, span.end_column - 1))
    lines = document.source.split("\n")
    return document.position_codec.range_to_client_units(lines, types.Range(start=first, end=last))
