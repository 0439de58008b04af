"""Tokens that are known by their form alone, wherever they stand: a table, one row a kind.

The prefixes and lengths are those that the issuers document. Which kinds there are was compared with the rule sets of
gitleaks (MIT) and detect-secrets (Apache-2.0); the table holds no text of either. SECURITY.md has the comparison.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

Span = tuple[int, int]


class TokenForm(NamedTuple):
    """A kind of token. A line with one holds one of the `hints`, in lower case, separated by bars."""

    kind: str
    hints: str
    pattern: str


_ALNUM = "[A-Za-z0-9]"
_WORD = r"[\w\-]"

FORMS = (
    TokenForm("JSON Web Token", "eyj", r"eyJ[\w\-]{8,}\.[\w\-]{4,}(?:\.[\w\-]*){0,3}"),
    TokenForm("AWS access key", "akia", r"AKIA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    TokenForm("AWS temporary access key", "asia", r"ASIA[A-Z0-9]{16}(?![A-Za-z0-9])"),
    TokenForm("AWS bearer token", "abia", r"ABIA[A-Z2-7]{16}(?![A-Za-z0-9])"),
    TokenForm("AWS context credential", "acca", r"ACCA[A-Z2-7]{16}(?![A-Za-z0-9])"),
    TokenForm("AWS Bedrock key", "absk", r"ABSK[A-Za-z0-9+/]{100,}=*"),
    TokenForm("Slack token", "xox", rf"xox[abeoprs](?:\.xox[bp])?-{_WORD}{{10,}}"),
    TokenForm("Slack app token", "xapp-", rf"xapp-\d-{_WORD}{{20,}}"),
    TokenForm("GitHub token", "ghp_|gho_|ghs_|ghu_|ghr_", rf"gh[opsur]_{_ALNUM}{{36,}}"),
    TokenForm("GitHub fine-grained token", "github_pat_", r"github_pat_\w{60,}"),
    TokenForm(
        "GitLab token",
        "glpat-|gldt-|glft-|glrt-|glrtr-|glcbt-|glptt-|glimt-|glagent-|gloas-|glsoat-|glffct-|glwt-",
        rf"gl(?:pat|dt|ft|rt|rtr|cbt|ptt|imt|agent|oas|soat|ffct|wt)-{_WORD}{{20,}}",
    ),
    TokenForm("GitLab session", "_gitlab_session=", r"(?<=_gitlab_session=)\w{16,}"),
    TokenForm("GitLab runner registration", "gr1348941", rf"GR1348941{_WORD}{{20,}}"),
    TokenForm(
        "Stripe key",
        "sk_live_|sk_test_|sk_prod_|rk_live_|rk_test_|rk_prod_",
        r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{10,}",
    ),
    TokenForm("Stripe hook secret", "whsec_", r"whsec_[A-Za-z0-9+/]{24,}"),
    TokenForm("npm token", "npm_", rf"npm_{_ALNUM}{{36,}}"),
    TokenForm("PyPI token", "pypi-age", rf"pypi-AgE{_WORD}{{50,}}"),
    TokenForm("SendGrid key", "sg.", rf"SG\.{_WORD}{{16,32}}\.{_WORD}{{30,}}"),
    TokenForm("OpenAI key", "sk-", rf"sk-(?:proj|svcacct|admin|ant-\w{{1,12}}|or-v1|lf)-{_WORD}{{30,}}"),
    TokenForm("OpenAI older key", "sk-", rf"sk-(?:[\w]{{1,40}}-)?(?=[A-Za-z0-9]{{0,60}}\d){_ALNUM}{{40,}}"),
    TokenForm("Vault token", "hvs.|hvr.|hvb.", rf"hv[srb]\.{_WORD}{{24,}}"),
    TokenForm("Vault older token", "vault", rf"s\.{_ALNUM}{{24}}(?!\w)"),
    TokenForm("Google API key", "aiza", rf"AIza{_WORD}{{35}}"),
    TokenForm("Google OAuth token", "ya29.", rf"ya29\.{_WORD}{{20,}}"),
    TokenForm("Google client secret", "gocspx-", rf"GOCSPX-{_WORD}{{28}}"),
    TokenForm("Google refresh token", "1//0", rf"1//0{_WORD}{{40,}}"),
    TokenForm("DigitalOcean token", "_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    TokenForm("Databricks token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?(?!\w)"),
    TokenForm("Hugging Face token", "hf_", rf"hf_{_ALNUM}{{34,}}"),
    TokenForm("Hugging Face organisation token", "api_org_", rf"api_org_{_ALNUM}{{34}}"),
    TokenForm("Grafana token", "glsa_|glc_", r"gl(?:sa|c)_[A-Za-z0-9+/]{32,}(?:_[a-f0-9]{8})?"),
    TokenForm("Terraform token", ".atlasv1.", rf"{_ALNUM}{{14}}\.atlasv1\.{_WORD}{{60,}}"),
    TokenForm("Twilio key", "sk", r"SK[a-f0-9]{32}(?!\w)"),
    TokenForm("Shopify token", "shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    TokenForm(
        "Telegram bot token",
        ":aa",
        rf"(?<=bot)\d{{8,10}}:AA{_WORD}{{32,34}}(?!\w)|(?<![A-Za-z0-9])\d{{8,10}}:AA{_WORD}{{32,34}}(?!\w)",
    ),
    TokenForm("Mailgun key", "key-", r"key-[a-f0-9]{32}(?!\w)"),
    TokenForm("Mailchimp key", "-us", r"[a-f0-9]{32}-us\d{1,2}(?!\w)"),
    TokenForm("New Relic key", "nrak-|nrii-|nrjs-|nriq-|nrra-", r"NR(?:AK|II|JS|IQ|RA)-[A-Za-z0-9\-]{19,}"),
    TokenForm("Postman key", "pmak-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    TokenForm("Atlassian token", "atatt3", r"ATATT3[\w\-=]{60,}"),
    TokenForm("Bitbucket token", "atbb", rf"ATBB{_ALNUM}{{28,}}"),
    TokenForm("Azure client secret", "q~", r"[\w~.]{3}\dQ~[\w~.\-]{31,34}"),
    TokenForm("Dynatrace token", "dt0c01.", r"dt0c01\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}"),
    TokenForm("Doppler token", "dp.", rf"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:\w{{1,35}}\.)?{_ALNUM}{{40,}}"),
    TokenForm("Linear key", "lin_api_", rf"lin_api_{_ALNUM}{{32,}}"),
    TokenForm("Sentry token", "sntry", r"sntry[su]_[\w+/=\-]{40,}"),
    TokenForm("Square token", "sq0", rf"sq0(?:atp|csp|idp)-{_WORD}{{22,}}"),
    TokenForm("Artifactory key", "akcp", rf"AKCp{_ALNUM}{{60,}}"),
    TokenForm("Artifactory reference token", "cmvmd", rf"cmVmd{_ALNUM}{{59}}"),
    TokenForm("age key", "age-secret-key-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    TokenForm("1Password key", "a3-", r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    TokenForm("1Password service account", "ops_eyj", r"ops_eyJ[A-Za-z0-9+/]{200,}=*"),
    TokenForm("RubyGems key", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    TokenForm("Pulumi token", "pul-", r"pul-[a-f0-9]{40}"),
    TokenForm("OpenShift token", "sha256~", rf"sha256~{_WORD}{{43}}"),
    TokenForm("PlanetScale token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w=.\-]{32,}"),
    TokenForm("Fly.io token", "fm1_|fm1a_|fm1r_|fm2_|fm2a_|fm2r_", r"fm[12][ar]?_[A-Za-z0-9+/]{100,}=*"),
    TokenForm("Notion token", "ntn_", rf"ntn_\d{{11}}{_ALNUM}{{35}}"),
    TokenForm("Alibaba access key", "ltai", rf"LTAI{_ALNUM}{{20}}(?!\w)"),
    TokenForm("Facebook token", "eaam|eaac", rf"EAA[MC]{_ALNUM}{{100,}}"),
    TokenForm("Perplexity key", "pplx-", rf"pplx-{_ALNUM}{{48}}"),
    TokenForm("Prefect key", "pnu_", rf"pnu_{_ALNUM}{{36}}"),
    TokenForm("ReadMe key", "rdme_", r"rdme_[a-z0-9]{70}"),
    TokenForm("Sendinblue key", "xkeysib-", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    TokenForm("Shippo token", "shippo_", r"shippo_(?:live|test)_[a-fA-F0-9]{40}"),
    TokenForm("EasyPost key", "ezak|eztk", rf"EZ[AT]K{_ALNUM}{{54}}"),
    TokenForm("Duffel token", "duffel_", r"duffel_(?:test|live)_[\w\-=]{43}"),
    TokenForm("Frame.io token", "fio-u-", rf"fio-u-{_WORD}{{64}}"),
    TokenForm("Typeform token", "tfp_", r"tfp_[\w\-.=]{40,}"),
    TokenForm("Clojars token", "clojars_", r"CLOJARS_[A-Za-z0-9]{60}"),
    TokenForm("Octopus Deploy key", "api-", r"API-[A-Z0-9]{26}(?!\w)"),
    TokenForm("MaxMind key", "_mmk", rf"{_ALNUM}{{6}}_{_ALNUM}{{29}}_mmk"),
    TokenForm("Adobe client secret", "p8e-", r"p8e-[A-Za-z0-9]{32}"),
    TokenForm("Yandex key", "aqvn", rf"AQVN{_WORD}{{35,}}"),
    TokenForm(
        "Slack hook",
        "hooks.slack.com/",
        r"(?<=hooks\.slack\.com/services/)[\w+/]{20,}|(?<=hooks\.slack\.com/(?:triggers)/)[\w+/]{20,}|(?<=hooks\.slack\.com/workflows/)[\w+/]{20,}",
    ),
    TokenForm("Zapier hook", "hooks.zapier.com/", r"(?<=hooks\.zapier\.com/hooks/catch/)\d+/[\w\-]{5,}"),
    TokenForm(
        "Feishu hook",
        "/open-apis/bot/",
        r"(?<=/open-apis/bot/v2/hook/)[\w\-]{20,}|(?<=/open-apis/bot/hook/)[\w\-]{20,}",
    ),
    TokenForm("Mattermost hook", "/hooks/", r"(?<=/hooks/)[a-z0-9]{26}(?![\w\-])"),
    TokenForm("IFTTT hook", "/with/key/", r"(?<=/with/key/)[\w\-]{16,}"),
    TokenForm("PagerDuty hook", "/integration/", r"(?<=/integration/)[0-9a-zA-Z]{32}(?=/)"),
    TokenForm("Telegram bot's address", "/bot", r"(?<=/bot)\d{6,12}:[\w\-]{35}(?!\w)"),
    TokenForm("Twilio account", "twilio", r"(?<![A-Za-z0-9])AC[0-9a-f]{32}:[0-9a-f]{32}(?!\w)"),
    TokenForm("bcrypt hash", "$2a$|$2b$|$2x$|$2y$", r"\$2[abxy]\$\d\d\$[./A-Za-z0-9]{53}"),
    TokenForm("crypt hash", "$5$|$6$|$y$", r"\$[56y]\$[./=,A-Za-z0-9$]{1,60}\$[./A-Za-z0-9]{22,100}"),
    TokenForm("Argon2 hash", "$argon2", r"\$argon2(?:id|i|d)\$[\w=,$+/\-]{20,300}"),
    TokenForm(
        "SCRAM verifier",
        "scram-sha-256$|scram-sha-512$",
        r"SCRAM-SHA-\d{1,3}\$\d{1,9}:[A-Za-z0-9+/=]{2,120}\$[A-Za-z0-9+/=:]{16,250}",
    ),
    TokenForm(
        "Docker credentials", '"auths', r'(?<="auth":")[A-Za-z0-9+/]{12,}={0,2}|(?<="auth": ")[A-Za-z0-9+/]{12,}={0,2}'
    ),
    TokenForm("Teams hook", ".webhook.office.com/", r"(?<=\.webhook\.office\.com/webhookb2/)[\w\-@/]{40,}"),
    TokenForm("Discord hook", "/api/webhooks/", r"(?<=/api/webhooks/)\d{8,}/[\w\-]{30,}"),
)
"""Checked for every line that holds the hint. No pattern has an open beginning, and none repeats a repetition."""

_BEFORE = r"(?<![A-Za-z0-9])"
_JWK = re.compile(r"\\*\"(?:d|p|q|dp|dq|qi|k)\\*\"[ \t]*:[ \t]*\\*\"(?P<value>[\w\-=+/]{4,})", re.ASCII)

HINTS = ('"kty', *sorted({hint for form in FORMS for hint in form.hints.split("|")}))


@cache
def _pattern(pattern: str) -> re.Pattern[str]:
    """Return the compiled pattern of a form: most lines need few of them, and to compile all takes 50 ms."""
    return re.compile(pattern if pattern.startswith("(?<=") else _BEFORE + pattern, re.ASCII)


@cache
def _by_hints() -> tuple[tuple[str, str], ...]:
    return tuple((hint, form.pattern) for form in FORMS for hint in form.hints.split("|"))


def token_spans(text: str, lower: str) -> Iterator[Span]:
    """Yield the place of each token that its form shows."""
    for pattern in dict.fromkeys([pattern for hint, pattern in _by_hints() if hint in lower]):
        for match in _pattern(pattern).finditer(text):
            yield match.span()
    if '"kty' in lower:
        for match in _JWK.finditer(text):
            yield match.span("value")
