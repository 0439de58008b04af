"""Each kind sends what its receiver documents: schemas are written from the vendors' public documents."""

from __future__ import annotations

import re
from base64 import b64decode
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import jsonschema
import pytest

from leadsman.notify.kind import destination_of, kind_names

from .conftest import diagnosis, hostile, respond, send

if TYPE_CHECKING:
    from http.server import BaseHTTPRequestHandler

    from .conftest import Received, Start


def text(limit: int) -> dict[str, Any]:
    return {"type": "string", "minLength": 1, "maxLength": limit}


def exactly(required: dict[str, Any], **optional: Any) -> dict[str, Any]:
    """An object with these fields and no other."""
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **optional},
        "additionalProperties": False,
    }


PLAIN = exactly({"type": {"const": "plain_text"}, "text": text(3000)}, emoji={"type": "boolean"})
MRKDWN = exactly({"type": {"const": "mrkdwn"}, "text": text(3000)}, verbatim={"type": "boolean"})
HEADER = exactly({"type": {"const": "plain_text"}, "text": text(150)}, emoji={"type": "boolean"})
RUN = exactly({"type": {"const": "text"}, "text": text(3000)})
PREFORMATTED = exactly({"type": {"const": "rich_text_preformatted"}, "elements": {"type": "array", "items": RUN}})
SLACK = exactly(
    {"text": text(40_000)},
    unfurl_links={"type": "boolean"},
    unfurl_media={"type": "boolean"},
    blocks={
        "type": "array",
        "maxItems": 50,
        "items": {
            "oneOf": [
                exactly({"type": {"const": "header"}, "text": HEADER}),
                exactly({"type": {"const": "section"}, "text": {"oneOf": [PLAIN, MRKDWN]}}),
                exactly({"type": {"const": "rich_text"}, "elements": {"type": "array", "items": PREFORMATTED}}),
            ]
        },
    },
)
"""https://docs.slack.dev/reference/block-kit/blocks and .../messaging/sending-messages-using-incoming-webhooks."""

TEXT_RUN = exactly(
    {"type": {"const": "TextRun"}, "text": {"type": "string"}},
    weight={"enum": ["Default", "Lighter", "Bolder"]},
    size={"enum": ["Default", "Small", "Medium", "Large", "ExtraLarge"]},
    isSubtle={"type": "boolean"},
    fontType={"enum": ["Default", "Monospace"]},
)
RICH_TEXT = exactly({"type": {"const": "RichTextBlock"}, "inlines": {"type": "array", "items": TEXT_RUN}})
CARD = exactly(
    {
        "type": {"const": "AdaptiveCard"},
        "version": {"pattern": r"^1\.[0-5]$"},
        "body": {"type": "array", "items": RICH_TEXT},
    },
    **{
        "$schema": {"const": "http://adaptivecards.io/schemas/adaptive-card.json"},
        "msteams": {"type": "object"},
        "actions": {
            "type": "array",
            "items": exactly(
                {"type": {"const": "Action.OpenUrl"}, "title": text(100), "url": {"type": "string", "format": "uri"}}
            ),
        },
    },
)
ATTACHMENT = exactly(
    {"contentType": {"const": "application/vnd.microsoft.card.adaptive"}, "content": CARD}, contentUrl={"type": "null"}
)
TEAMS = exactly({"type": {"const": "message"}, "attachments": {"type": "array", "minItems": 1, "items": ATTACHMENT}})
"""https://learn.microsoft.com/connectors/teams, "webhook request received", and the schema of Adaptive Cards 1.5."""

PAGERDUTY = exactly(
    {
        "routing_key": text(32),
        "event_action": {"enum": ["trigger", "acknowledge", "resolve"]},
        "payload": exactly(
            {
                "summary": text(1024),
                "source": {"type": "string", "minLength": 1},
                "severity": {"enum": ["critical", "error", "warning", "info"]},
            },
            timestamp={"type": "string"},
            component={"type": "string"},
            group={"type": "string"},
            custom_details={"type": "object"},
            **{"class": {"type": "string"}},
        ),
    },
    dedup_key=text(255),
    client={"type": "string"},
    client_url={"type": "string"},
    links={"type": "array", "items": exactly({"href": {"type": "string"}}, text={"type": "string"})},
    images={"type": "array"},
)
"""https://developer.pagerduty.com/docs/send-alert-event."""

OPSGENIE = exactly(
    {"message": text(130)},
    alias=text(512),
    description=text(15_000),
    tags={"type": "array", "maxItems": 20, "items": text(50)},
    details={"type": "object", "additionalProperties": {"type": "string"}},
    source=text(100),
    priority={"enum": ["P1", "P2", "P3", "P4", "P5"]},
)
"""https://docs.opsgenie.com/docs/alert-api, "Create Alert"."""

GITHUB = exactly({"title": text(256), "body": text(65_536)}, labels={"type": "array"}, assignees={"type": "array"})
"""https://docs.github.com/rest/issues/issues, "Create an issue"."""

JIRA = exactly(
    {
        "fields": exactly(
            {
                "project": exactly({"key": text(10)}),
                "issuetype": exactly({"name": text(60)}),
                "summary": {"type": "string", "maxLength": 255, "pattern": r"^[^\r\n]+$"},
            },
            description=text(32_767),
            labels={"type": "array", "items": {"type": "string", "pattern": r"^\S{1,255}$"}},
        )
    }
)
"""https://developer.atlassian.com/cloud/jira/platform/rest/v2/api-group-issues, "Create issue"."""

GRAFANA = exactly(
    {"text": {"type": "string", "minLength": 1}},
    time={"type": "integer"},
    timeEnd={"type": "integer"},
    tags={"type": "array", "items": text(100)},
    dashboardUID={"type": "string"},
    panelId={"type": "integer"},
)
"""https://grafana.com/docs/grafana/latest/developers/http_api/annotations/, "Create Annotation"."""

LABELS = {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}}
ALERTMANAGER = {
    "type": "array",
    "minItems": 1,
    "items": exactly(
        {"labels": LABELS},
        annotations=LABELS,
        startsAt={"type": "string", "format": "date-time"},
        endsAt={"type": "string", "format": "date-time"},
        generatorURL={"type": "string", "format": "uri"},
    ),
}
"""https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml, postableAlerts."""

WEBHOOK = {"type": "object", "required": ["schema", "id", "mode", "verdict", "title", "do_now", "proof"]}

PATHS = {
    "slack": ("/services/T000/B000/secret", "", SLACK, 200),
    "teams": ("/workflows/1/triggers/manual/paths/invoke?sig=secret", "", TEAMS, 202),
    "pagerduty": ("/v2/enqueue", "routing", PAGERDUTY, 202),
    "opsgenie": ("/v2/alerts", "genie", OPSGENIE, 202),
    "alertmanager": ("", "", ALERTMANAGER, 200),
    "webhook": ("/hook", "me:pass", WEBHOOK, 204),
    "grafana": ("/monitoring", "token", GRAFANA, 200),
    "github": ("/api/v3/repos/acme/ops", "token", GITHUB, 201),
    "jira": ("/?project=OPS&type=Bug", "me%40acme.com:token", JIRA, 201),
}


def answer(handler: BaseHTTPRequestHandler, request: Received) -> None:
    """What each of the services answers where nothing is known of the finding yet."""
    path = urlsplit(request.path).path
    if request.method == "GET":
        found = (
            []
            if path.endswith(("/repos/acme/ops/issues", "/annotations"))
            else {"issues": [], "total_count": 0, "items": []}
        )
        respond(handler, 200, found)
        return
    respond(handler, 201 if path.endswith(("issues", "issue")) else 202, {"status": "success"})


def test_every_kind_but_apprises_has_its_schema_here() -> None:
    assert set(kind_names()) - {"apprise"} == set(PATHS)


@pytest.mark.parametrize("page_url", ["", "https://reports.acme.com/incident/report.html", "/srv/incident/report.html"])
@pytest.mark.parametrize(
    "given", [diagnosis(), hostile(), diagnosis("t" * 5000, text="x<" * 9000)], ids=["short", "hostile", "long"]
)
@pytest.mark.parametrize("kind", PATHS)
def test_what_is_sent_fits_the_receivers_schema(kind: str, given: Any, page_url: str, start: Start) -> None:
    path, credentials, schema, _ = PATHS[kind]
    receiver = start(answer)

    lines = send(given, f"{kind}={receiver.url(path, credentials)}", page_url=page_url)

    jsonschema.validate(receiver.requests[-1].json, schema)
    assert lines == []


@pytest.mark.parametrize("kind", PATHS)
def test_no_secret_and_no_control_character_of_a_log_is_sent(kind: str, start: Start) -> None:
    path, credentials, _, _ = PATHS[kind]
    receiver = start(answer)

    send(hostile(), f"{kind}={receiver.url(path, credentials)}")

    sent = str(receiver.requests[-1].json)
    assert "hunter22" not in sent
    assert re.search(r"[\x00-\x08\x0b-\x1f\x7f\u202e]", "".join(strings(receiver.requests[-1].json))) is None


def strings(document: Any) -> list[str]:
    """Every text in a document."""
    match document:
        case str():
            return [document]
        case list():
            return [each for entry in document for each in strings(entry)]
        case dict():
            return [each for entry in document.values() for each in strings(entry)]
    return []


def test_slack_gets_no_mention(start: Start) -> None:
    receiver = start(answer)

    send(hostile(), f"slack={receiver.url('/services/x')}")

    document = receiver.only.json
    mrkdwn = [each["text"]["text"] for each in document["blocks"] if each.get("text", {}).get("type") == "mrkdwn"]
    assert mrkdwn == []
    assert "<!channel>" not in document["text"]


def test_github_gets_no_mention_and_no_reference(start: Start) -> None:
    receiver = start(answer)

    send(hostile(), f"github={receiver.url('/repos/acme/ops', 'token')}")

    prose = receiver.requests[-1].json["body"].partition("````")[0]
    assert not re.search(r"(?<!\w)@\w|#\d|(?<!\\)[`*\[]|<(?!$)", prose.replace("**", "").removeprefix("### "))


def test_pagerduty_takes_two_events_of_one_finding_for_one(start: Start) -> None:
    receiver = start(answer)
    destination = f"pagerduty={receiver.url('/v2/enqueue', 'routing')}"

    send(diagnosis("first"), destination)
    send(diagnosis("second"), destination)
    send(diagnosis("first", path="other"), destination)

    first, second, other = (each.json["dedup_key"] for each in receiver.requests)
    assert first == second != other


@pytest.mark.parametrize(
    ("kind", "header"),
    [
        ("opsgenie", "GenieKey genie"),
        ("github", "Bearer token"),
        ("grafana", "Bearer token"),
        ("jira", "me@acme.com:token"),
        ("webhook", "me:pass"),
    ],
)
def test_credentials_of_the_url_are_sent_as_the_service_takes_them(kind: str, header: str, start: Start) -> None:
    path, credentials, _, _ = PATHS[kind]
    receiver = start(answer)

    send(diagnosis(), f"{kind}={receiver.url(path, credentials)}")

    sent = receiver.requests[-1].headers["Authorization"]
    assert (b64decode(sent[6:]).decode() if sent.startswith("Basic ") else sent) == header
    assert all("@" not in each.path for each in receiver.requests)


def test_a_personal_access_token_of_jira_stands_alone(start: Start) -> None:
    receiver = start(answer)

    send(diagnosis(), f"jira={receiver.url('/jira/?project=OPS', 'pat')}")

    assert receiver.requests[-1].headers["Authorization"] == "Bearer pat"
    assert receiver.requests[-1].path == "/jira/rest/api/2/issue"


def test_github_creates_an_issue_once_where_the_newest_show_it(start: Start) -> None:
    issues: list[dict[str, Any]] = []

    def github(handler: BaseHTTPRequestHandler, request: Received) -> None:
        if request.method == "POST":
            issues.append(request.json)
            respond(handler, 201, {})
        elif "/search/" in request.path:
            respond(handler, 200, {"total_count": 0, "items": []})  # the search lags behind
        else:
            respond(handler, 200, issues)

    receiver = start(github)
    destination = f"github={receiver.url('/repos/acme/ops', 'token')}"

    send(diagnosis(), destination)
    send(diagnosis("the same, a day later"), destination)

    assert len(issues) == 1


def test_github_creates_no_issue_where_only_the_search_shows_it(start: Start) -> None:
    def github(handler: BaseHTTPRequestHandler, request: Received) -> None:
        respond(handler, 200, {"total_count": 1, "items": [{}]} if "/search/" in request.path else [])

    receiver = start(github)

    lines = send(diagnosis(), f"github={receiver.url('/repos/acme/ops', 'token')}")

    query = parse_qs(urlsplit(receiver.requests[1].path).query)["q"][0]
    assert lines == []
    assert [each.method for each in receiver.requests] == ["GET", "GET"]
    assert re.fullmatch(r'"leadsman finding idle_disconnect-[0-9a-f]{12}" in:body is:issue repo:acme/ops', query)


@pytest.mark.parametrize("search", ["search/jql", "search"])
def test_jira_creates_an_issue_once_on_cloud_and_data_center(search: str, start: Start) -> None:
    issues: list[Any] = []

    def jira(handler: BaseHTTPRequestHandler, request: Received) -> None:
        path = urlsplit(request.path).path
        if request.method == "POST":
            issues.append(request.json)
            respond(handler, 201, {"key": "OPS-1"})
        elif path == f"/rest/api/2/{search}":
            respond(handler, 200, {"issues": [{"key": "OPS-1"} for _ in issues]})
        else:
            respond(handler, 404, {"errorMessages": ["no such path"]})

    receiver = start(jira)
    destination = f"jira={receiver.url('/?project=OPS', 'me:token')}"

    first = send(diagnosis(), destination)
    second = send(diagnosis(), destination)

    assert (first, second) == ([], [])
    assert len(issues) == 1


def test_an_unknown_finding_is_not_sent(start: Start) -> None:
    from leadsman.model import Verdict

    receiver = start(answer)

    lines = send(diagnosis(verdict=Verdict.UNKNOWN), f"webhook={receiver.url()}")

    assert (lines, receiver.requests) == ([], [])


def test_every_other_service_is_reached_through_apprise(start: Start) -> None:
    receiver = start(answer)

    lines = send(diagnosis(), f"apprise=json://127.0.0.1:{receiver.port}/hook")

    assert lines == []
    assert receiver.only.json["title"] == "Idle disconnect: 7 of 9 failures after 350 s idle"


def test_the_name_of_a_destination_shows_nothing_secret() -> None:
    texts = [
        f"{destination_of(text)!r} {destination_of(text).name}"
        for text in (
            "slack=https://hooks.slack.com/services/T0/B0/hushhush",
            "webhook=https://me:hushhush@acme.com/hushhush?token=hushhush",
            "apprise=tgram://hushhush/hushhush",
        )
    ]

    assert [each for each in texts if "hushhush" in each] == []
