"""The language server, asked by a real client over standard input and output."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from lsprotocol import types
from pygls.lsp.client import LanguageClient

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

SECONDS = 60
"""The server loads every rule's parsers at its first file, on a busy machine."""

LOSES = 'from confluent_kafka import Producer\n\nproducer = Producer({"acks": "1", "retries": 0})  # {}\n'
KEEPS = 'from confluent_kafka import Producer\n\nproducer = Producer({"acks": "1"})\n'


@dataclass(slots=True)
class Editor:
    """A client, and what the server published and logged."""

    client: LanguageClient
    published: asyncio.Queue[types.PublishDiagnosticsParams] = field(default_factory=asyncio.Queue)
    logged: list[str] = field(default_factory=list)

    def open(self, file: Path, text: str) -> None:
        item = types.TextDocumentItem(uri=file.as_uri(), language_id="python", version=1, text=text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, file: Path, text: str) -> None:
        document = types.VersionedTextDocumentIdentifier(uri=file.as_uri(), version=2)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def save(self, file: Path) -> None:
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(file.as_uri())))

    def close(self, file: Path) -> None:
        self.client.text_document_did_close(
            types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(file.as_uri()))
        )

    async def diagnostics(self) -> list[types.Diagnostic]:
        return list((await asyncio.wait_for(self.published.get(), SECONDS)).diagnostics)


def edit(session: Callable[[Editor], Awaitable[None]], encoding: types.PositionEncodingKind | None = None) -> None:
    """Run a session with a server of its own; the server ends in order at the end."""

    async def run() -> None:
        client = LanguageClient("editor", "1")
        editor = Editor(client)
        show = lambda params: editor.published.put_nowait(params)  # noqa: E731, PLW0108 - pygls sets attributes on it
        client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(show)
        client.feature(types.WINDOW_LOG_MESSAGE)(lambda params: editor.logged.append(params.message))
        await client.start_io(sys.executable, "-m", "leadsman", "check", "server")
        general = types.GeneralClientCapabilities(position_encodings=[encoding] if encoding else None)
        capabilities = types.ClientCapabilities(general=general)
        await asyncio.wait_for(client.initialize_async(types.InitializeParams(capabilities=capabilities)), SECONDS)
        client.initialized(types.InitializedParams())
        await session(editor)
        await asyncio.wait_for(client.shutdown_async(None), SECONDS)
        client.exit(None)
        assert client._server is not None
        assert await asyncio.wait_for(client._server.wait(), SECONDS) == 0
        await client.stop()

    with ThreadPoolExecutor(1) as thread:  # this thread may have a loop: that of a browser in an earlier test
        thread.submit(asyncio.run, run()).result()


def test_a_file_is_checked_when_it_is_opened_and_again_when_it_is_saved(tmp_path: Path) -> None:
    async def session(editor: Editor) -> None:
        file = tmp_path / "worker.py"
        editor.open(file, LOSES)
        (found,) = await editor.diagnostics()
        editor.change(file, KEEPS)
        editor.save(file)
        after = await editor.diagnostics()

        assert found.code == "lost_without_retry"
        assert found.source == "leadsman"
        assert found.range.start.line == 2
        assert after == []

    edit(session)


def test_findings_go_when_the_file_is_closed(tmp_path: Path) -> None:
    async def session(editor: Editor) -> None:
        editor.open(tmp_path / "worker.py", LOSES)
        assert await editor.diagnostics()
        editor.close(tmp_path / "worker.py")

        assert await editor.diagnostics() == []

    edit(session)


@pytest.mark.parametrize(
    ("encoding", "units"), [(None, 2), (types.PositionEncodingKind.Utf32, 1), (types.PositionEncodingKind.Utf8, 4)]
)
def test_columns_are_in_the_units_of_the_editor(
    tmp_path: Path, encoding: types.PositionEncodingKind | None, units: int
) -> None:
    async def session(editor: Editor) -> None:
        editor.open(tmp_path / "plain.py", LOSES.replace('"acks": "1"', '"acks": "x"'))
        (plain,) = await editor.diagnostics()
        editor.open(tmp_path / "emoji.py", LOSES.replace('"acks": "1"', '"acks": "\N{ROCKET}"'))
        (shifted,) = await editor.diagnostics()

        assert shifted.range.start.character - plain.range.start.character == units - 1

    edit(session, encoding)


def test_a_file_that_cannot_be_read_is_logged_and_the_server_goes_on(tmp_path: Path) -> None:
    async def session(editor: Editor) -> None:
        editor.open(tmp_path / "half.py", LOSES + "def (\n")
        assert await editor.diagnostics() == []
        editor.open(tmp_path / "worker.py", LOSES)

        assert await editor.diagnostics()
        assert any("half.py" in line for line in editor.logged)

    edit(session)


def test_a_file_of_another_kind_and_one_without_kafka_have_no_finding(tmp_path: Path) -> None:
    async def session(editor: Editor) -> None:
        editor.open(tmp_path / "notes.txt", LOSES)
        assert await editor.diagnostics() == []
        editor.open(tmp_path / "plain.py", "print(1)\n")
        assert await editor.diagnostics() == []

    edit(session)
