"""Comments that accept a finding: `# leadsman: ignore[rule] reason`, on its line or alone on the line above."""

from __future__ import annotations

MARK = "leadsman: ignore["
COMMENTS = ("#", "//", "/*", "<!--", "*")


def ignored_rules(lines: list[str]) -> dict[int, frozenset[str]]:
    """Return the ignored rules by line number. A comment without a reason ignores nothing."""
    found: dict[int, frozenset[str]] = {}
    for number, line in enumerate(lines, start=1):
        before, mark, after = line.partition(MARK)
        rules, bracket, reason = after.partition("]")
        if mark and bracket and reason.strip(" \t*/->"):
            is_alone = before.strip(" \t") in COMMENTS
            at = _next_line(lines, number) if is_alone else number
            names = frozenset(name.strip() for name in rules.split(","))
            found[at] = found.get(at, frozenset()) | names
    return found


def _next_line(lines: list[str], number: int) -> int:
    """Return the next line that is not a comment alone."""
    following = number
    while following < len(lines) and lines[following].strip().startswith(COMMENTS[:2]):
        following += 1
    return following + 1
