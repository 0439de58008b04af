"""The page as text: complete, safe, small, the same each time. What a browser makes of it is tested beside this."""

import re
import sys
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from leadsman.errors import MissingExtra
from leadsman.model import Diagnosis, Evidence, Verdict
from leadsman.report.output_format import find_format
from leadsman.report.page import templates
from leadsman.report.page.render import MAX_PAGE_BYTES, render_page


class Outline(HTMLParser):
    """Collects what a test asks of a page: tags, ids, references, headings in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.ids, self.targets, self.attributes = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        self.targets += [value[1:] for name, value in attrs if name == "href" and value.startswith("#")]
        self.targets += [v for name, value in attrs if name in {"aria-labelledby", "data-copy"} for v in value.split()]


def text_of(html):
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def with_lines(diagnosis, number, length):
    lines = tuple(
        Evidence(
            file=f"worker-{n}.log", line=50, text="x" * length, before=("y" * length,) * 3, after=("z" * length,) * 3
        )
        for n in range(number)
    )
    finding = diagnosis.findings[0]
    link = replace(finding.chain[0], evidence=lines)
    return replace(diagnosis, findings=(replace(finding, chain=(link, *finding.chain[1:])),))


def test_the_verdict_comes_before_its_reasons_and_the_cure_before_the_alternatives(present):
    text = text_of(render_page([present]))

    order = [
        "PRESENT idle_disconnect",
        "3 workers lost 7 records",
        "From cause to symptom",
        "When it happened",
        "Cure",
        "Alternative causes",
        "Verdicts of all modes",
        "Other errors",
        "Harmless",
        "Input Amount",
    ]  # fmt: skip - the order is the point
    places = [text.index(part, text.index("Skip to")) for part in order]
    assert places == sorted(places)


def test_the_reasons_of_an_absent_mode_stand_beside_its_verdict_and_are_escaped(present):
    page = render_page([replace(present, absent_reasons={"producer_id_leak": ("A burst <b>that is over</b>.",)})])

    assert "ABSENT Its symptom was observed, but: A burst &lt;b&gt;that is over&lt;/b&gt;." in text_of(page)


def test_a_quoted_line_stands_between_its_neighbours(present):
    text = text_of(render_page([present]))

    before = text.index("1040 [INFO] 2020-12-20T08:14:03.120Z com.example.LinkHandler")
    line = text.index("1041 [WARN] 2020-12-20T08:14:03.120Z kafka-producer-network-thread")
    after = text.index("1043 END RequestId: 0b1f6a")
    assert before < line < after


def test_a_line_that_supports_two_links_is_quoted_once(present):
    html = render_page([present])

    assert html.count("2020-12-20T08:14:03.120Z kafka-producer-network-thread") == 1
    assert html.count("(quoted above)") == 2


@pytest.mark.parametrize(
    "names", [["present"], ["unknown"], ["absent"], ["hostile"], ["present", "hostile", "unknown"]]
)
def test_ids_are_unique_and_every_reference_leads_somewhere(names, request):
    outline = Outline(render_page([request.getfixturevalue(name) for name in names]))

    assert len(outline.ids) == len(set(outline.ids))
    assert set(outline.targets) <= set(outline.ids)


def test_several_captures_make_one_page_with_a_table_of_contents(present, unknown, absent):
    html = render_page([present, unknown, absent])

    contents = html[html.index("<nav") : html.index("</nav>")]
    assert re.findall(r'href="#(c\d)"', contents) == ["c1", "c2", "c3"]
    assert "PRESENT" in contents
    assert "mail.txt" in contents


def test_one_capture_needs_no_table_of_contents(present):
    assert "<nav" not in render_page([present])


def test_a_hostile_line_adds_no_element_and_no_attribute(present, hostile):
    safe, attacked = Outline(render_page([present])), Outline(render_page([hostile]))

    assert attacked.tags.count("script") == safe.tags.count("script") == 1
    assert attacked.tags.count("style") == safe.tags.count("style") == 1
    assert "img" not in attacked.tags
    assert [name for name in attacked.attributes if name.startswith("on")] == []


def test_a_hostile_line_is_shown_as_it_is(hostile):
    html = render_page([hostile])

    assert "{{ 7*7 }}" in html
    assert "\\x1b[31mERROR" in html
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in html
    assert set(re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", html)) == set()


def test_the_policy_knows_the_one_script_by_its_hash(present):
    html = render_page([present])

    script = html[html.index("<script>") + len("<script>") : html.index("</script>")]
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src &#39;sha256-{digest}&#39;" in html
    assert "default-src &#39;none&#39;" in html


def test_nothing_is_requested_from_the_network(present):
    html = render_page([present])

    addresses = set(re.findall(r"""(?:https?:)?//[\w.-]+""", html))
    assert addresses <= {"http://www.w3.org"}


def test_the_same_findings_make_the_same_page(present, unknown):
    assert render_page([present, unknown]) == render_page([present, unknown])


def test_two_hundred_lines_of_evidence_fit(present):
    html = render_page([with_lines(present, 200, 300)])

    assert len(html.encode()) < MAX_PAGE_BYTES
    assert "worker-199.log:50" in html


def test_a_page_that_would_be_too_large_is_shortened_and_marked_as_such(present):
    html = render_page([with_lines(present, 5_000, 5_000)] * 5)

    assert len(html.encode()) < MAX_PAGE_BYTES
    assert "This page was shortened" in html
    assert "more characters" in html


def test_thousands_of_captures_are_all_listed_and_the_worst_are_shown(absent, unknown, present):
    clean = [replace(absent, path=f"clean-{n}") for n in range(1_500)]

    html = render_page([*clean, unknown, present])

    assert len(html.encode()) < MAX_PAGE_BYTES
    assert html.count("clean-") > 1_500
    assert 'id="c1501"' in html
    assert 'id="c1502f1"' in html
    assert 'id="c1500"' not in html


def test_of_several_clusters_each_is_named_in_the_list_and_above_its_findings(present):
    text = text_of(render_page([replace(present, cluster="east"), present]))

    assert text.count(f"{present.path} (cluster east)") == 2
    assert text.count(f"{present.path} (no single cluster)") == 2


def test_a_mode_that_was_not_checked_stands_among_the_verdicts_alone(present, not_checked):
    verdicts = {**present.verdicts, not_checked.mode: Verdict.UNKNOWN}
    diagnosis = replace(present, verdicts=verdicts, findings=(not_checked, *present.findings))
    text = text_of(render_page([diagnosis, present]))

    assert "Consumers crashed" not in text
    assert (
        "UNKNOWN Not checked. The capture holds no line of a Kafka consumer. "
        "To find out leadsman diagnose FOLDER_WITH_THE_LOGS_OF_THE_CONSUMERS"
    ) in text


def test_a_clean_capture_has_no_mode_present(absent):
    text = text_of(render_page([absent]))

    assert "No failure mode is PRESENT." in text
    assert "Other errors None." in text


def test_a_capture_for_which_no_mode_was_evaluated_is_not_good_news():
    text = text_of(render_page([Diagnosis(path="empty", verdicts={})]))

    assert "UNKNOWN" in text
    assert "No failure mode is PRESENT." not in text


def test_the_page_is_written_as_utf_8_even_where_a_name_is_no_text(hostile, tmp_path):
    file = tmp_path / "report.html"

    with file.open("w", encoding="utf-8") as stream:
        find_format("html").write([hostile], stream)

    assert "name-\\xe9" in file.read_text(encoding="utf-8")


def test_a_light_installation_names_what_to_install(present, monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    templates.template_environment.cache_clear()

    with pytest.raises(MissingExtra, match="needs jinja2 and matplotlib"):
        render_page([present])


def test_matplotlib_is_imported_only_when_something_is_drawn(absent, monkeypatch):
    monkeypatch.delitem(sys.modules, "leadsman.report.charts.drawings", raising=False)

    render_page([absent])

    assert "leadsman.report.charts.drawings" not in sys.modules


def test_what_stands_in_backticks_is_code_and_the_rest_cannot_act():
    render = templates.template_environment().from_string("{{ text | with_code }}").render

    assert render(text="run `a <b>` & <i>c") == "run <code>a &lt;b&gt;</code> &amp; &lt;i&gt;c"
    assert render(text="a ` alone") == "a ` alone"
