"""`leadsman check program`: exit codes, output formats, accepted findings, fixes."""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from leadsman.gate.output import format_names

if TYPE_CHECKING:
    from pathlib import Path

BROKEN = """from confluent_kafka import Producer

producer = Producer({
    "bootstrap.servers": "kafka:9092",
    "connections.max.idle.ms": 900000,
})
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "orders.py"
    file.write_text(BROKEN, encoding="utf-8")
    return file


def test_nothing_found_is_exit_code_0(call, program: Path) -> None:
    program.write_text("print('kafka')\n", encoding="utf-8")

    assert call("check", "program", ".").code == 0


def test_a_finding_is_exit_code_1_and_is_printed_whole(call, program: Path) -> None:
    result = call("check", "program", "orders.py")

    assert result.code == 1
    assert "orders.py:5:5: idle_limit_above_the_path" in result.out
    assert '      "connections.max.idle.ms": 900000,\n      ^' in result.out
    assert "leadsman explain idle_disconnect" in result.out


def test_a_missing_path_is_exit_code_2(call) -> None:
    result = call("check", "program", "nothing/here")

    assert result.code == 2
    assert "nothing/here" in result.err


def test_an_unknown_rule_is_exit_code_2_and_lists_the_rules(call, program: Path) -> None:
    result = call("check", "program", "--rule", "nonsense", program)

    assert result.code == 2
    assert "lost_without_retry" in result.err


@pytest.mark.parametrize("text", [BROKEN, "print('kafka')\n"], ids=["finding", "none"])
def test_sarif_names_a_rule_and_a_place_for_each_result(call, program: Path, text: str) -> None:
    program.write_text(text, encoding="utf-8")

    (run,) = json.loads(call("check", "program", "--format", "sarif", ".").out)["runs"]

    rules = run["tool"]["driver"]["rules"]
    places = [each["locations"][0]["physicalLocation"] for each in run["results"]]
    assert all(rules[each["ruleIndex"]]["id"] == each["ruleId"] for each in run["results"])
    assert all(each["artifactLocation"]["uri"] == "orders.py" and each["region"]["startLine"] == 5 for each in places)
    assert len(run["results"]) == text.count("900000")


def test_json_names_the_place(call, program: Path) -> None:
    (finding,) = json.loads(call("check", "program", "--format", "json", ".").out)["findings"]

    assert (finding["rule"], finding["line"], finding["column"]) == ("idle_limit_above_the_path", 5, 5)


def test_junit_is_xml_with_a_failure(call, program: Path) -> None:
    suite = ET.fromstring(call("check", "program", "--format", "junit", ".").out)

    assert suite.attrib["failures"] == "1"
    assert suite.find("testcase/failure") is not None


def test_github_annotates_the_line(call, program: Path) -> None:
    result = call("check", "program", "--format", "github", "orders.py")

    assert result.out.startswith("::warning file=orders.py,line=5,col=5")


def test_github_gets_no_control_characters_and_no_bytes_that_are_no_utf_8(call, program: Path) -> None:
    program.rename(program.with_name(os.fsdecode(b"\xff\x1b[2J\n.py")))

    out = call("check", "program", "--format", "github", ".").out

    assert out.startswith("::warning file=??[2J%0A.py,line=5")


@pytest.mark.parametrize("name", format_names())
def test_every_format_has_the_same_exit_codes(call, program: Path, name: str) -> None:
    assert call("check", "program", "--format", name, ".").code == 1


def test_a_comment_with_a_reason_accepts_a_finding(call, program: Path) -> None:
    mark = "# leadsman: ignore[idle_limit_above_the_path]"
    program.write_text(BROKEN.replace("900000,", f"900000,  {mark} the path is a loopback"), encoding="utf-8")
    with_reason = call("check", "program", ".")
    program.write_text(BROKEN.replace("900000,", f"900000,  {mark}"), encoding="utf-8")
    without = call("check", "program", ".")

    assert (with_reason.code, without.code) == (0, 1)
    assert "1 ignored by comments" in with_reason.out


def test_a_comment_on_the_line_above_accepts_a_finding(call, program: Path) -> None:
    mark = "    # leadsman: ignore[idle_limit_above_the_path] the path is a loopback\n"
    program.write_text(BROKEN.replace('    "connections', f'{mark}    "connections'), encoding="utf-8")

    assert call("check", "program", ".").code == 0


def test_a_baseline_accepts_what_was_there_and_nothing_new(call, program: Path) -> None:
    assert call("check", "program", "--write-baseline", "old.json", ".").code == 0
    program.write_text(f"import os\n\n{BROKEN}", encoding="utf-8")
    moved = call("check", "program", "--baseline", "old.json", ".")
    program.write_text(BROKEN.replace("900000", "700000"), encoding="utf-8")
    changed = call("check", "program", "--baseline", "old.json", ".")

    assert (moved.code, changed.code) == (0, 1)


def test_a_file_that_is_no_baseline_is_exit_code_2(call, program: Path) -> None:
    assert call("check", "program", "--baseline", program, ".").code == 2


def test_fix_replaces_the_value_alone(call, program: Path) -> None:
    result = call("check", "program", "--fix", ".")

    assert result.code == 0
    assert program.read_text(encoding="utf-8") == BROKEN.replace("900000", "270000")


def test_columns_count_characters(call, program: Path) -> None:
    text = "from confluent_kafka import Producer\n\nnames = 'é€😀', Producer({'connections.max.idle.ms': 900000})\n"
    program.write_text(text, encoding="utf-8")

    (finding,) = json.loads(call("check", "program", "--format", "json", ".").out)["findings"]
    call("check", "program", "--fix", ".")

    assert finding["column"] == text.splitlines()[2].index("'connections") + 1
    assert program.read_text(encoding="utf-8") == text.replace("900000", "270000")


def test_fix_leaves_what_a_person_must_decide(call, program: Path) -> None:
    text = BROKEN.replace('"connections.max.idle.ms": 900000', '"retries": 0')
    program.write_text(text, encoding="utf-8")

    assert call("check", "program", "--fix", ".").code == 1
    assert program.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "value",
    ["os.environ['IDLE']", "SECRETS.get('idle')", "config['idle']", "input()", "int(sys.argv[1])", "f'{idle}'"],
)
def test_a_value_that_the_program_does_not_show_is_no_finding(call, program: Path, value: str) -> None:
    program.write_text(BROKEN.replace("900000", value), encoding="utf-8")

    assert call("check", "program", ".").code == 0


def test_a_value_of_an_imported_module_is_known(call, program: Path) -> None:
    program.with_name("limits.py").write_text("IDLE = 15 * 60_000\n", encoding="utf-8")
    program.write_text("import limits\n" + BROKEN.replace("900000", "limits.IDLE"), encoding="utf-8")

    assert call("check", "program", ".").code == 1


def test_event_hubs_have_a_shorter_limit_than_a_broker(call, program: Path) -> None:
    text = BROKEN.replace("900000", "300000")
    program.write_text(text, encoding="utf-8")
    broker = call("check", "program", ".").code
    program.write_text(text.replace("kafka:9092", "orders.servicebus.windows.net:9093"), encoding="utf-8")
    event_hubs = call("check", "program", ".").code

    assert (broker, event_hubs) == (0, 1)


def test_an_old_client_without_idempotence_takes_no_id(call, program: Path) -> None:
    leak = (
        "from kafka import KafkaProducer\n\ndef handle(event):\n"
        "    producer = KafkaProducer()\n    producer.send('orders', event)\n"
    )
    program.write_text(leak, encoding="utf-8")
    program.with_name("requirements.txt").write_text("kafka-python==2.0.2\n", encoding="utf-8")
    old = call("check", "program", ".").out
    (program.parent / "new").mkdir()
    (program.parent / "new" / "orders.py").write_text(leak, encoding="utf-8")
    (program.parent / "new" / "requirements.txt").write_text("kafka-python==3.0.12\n", encoding="utf-8")
    new = call("check", "program", "new").out

    assert "takes a producer id" not in old
    assert "takes a producer id" in new


def test_tests_below_a_folder_are_left_out_unless_requested(call, program: Path) -> None:
    program.rename(program.with_name("test_orders.py"))

    assert call("check", "program", ".").code == 0
    assert call("check", "program", "--tests", ".").code == 1
    assert call("check", "program", "test_orders.py").code == 1
