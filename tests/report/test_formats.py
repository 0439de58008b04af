"""The output formats of `leadsman diagnose --format`, found on disk."""

import io
import json

import pytest

from leadsman.report.output_format import file_formats, find_format, format_names


def test_console_json_and_page_are_found() -> None:
    assert {"console", "html", "json"} <= set(format_names())


@pytest.mark.parametrize("name", format_names())
def test_every_format_writes_to_a_stream(name: str, present) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")

    find_format(name).write([present], stream)
    stream.seek(0)

    assert present.findings[0].title in stream.read()


def test_the_page_fits_a_stream_that_is_not_utf_8(present) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", newline="")

    find_format("html").write([present], stream)
    stream.seek(0)

    assert "&#215;" in stream.read()


def test_the_files_of_out_are_the_page_and_the_json(present, tmp_path) -> None:
    assert sorted(each.file for each in file_formats()) == ["findings.json", "report.html"]
    stream = io.StringIO()

    find_format("json").write([present], stream)

    assert json.loads(stream.getvalue())["schema"] == "leadsman.findings/1"
