"""Dresses a drawing of matplotlib for the page: colours by CSS variable, the page's font, a name, ids of its own."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

SPACE = "http://www.w3.org/2000/svg"
LINK = "{http://www.w3.org/1999/xlink}href"

NAMES = ("ink", "soft", "grid", "panel", "active", "calm", "bad", "limit", "limit-band")
COLOURS = {name: f"#a1b{number:02d}c" for number, name in enumerate(NAMES)}
"""What each colour of the page is drawn as: values that no chart would use by accident."""

UNWANTED = ("metadata", "style")
"""The style sheet that matplotlib writes would hold for the whole page."""


def dressed(drawing: bytes, *, prefix: str, title: str, description: str) -> str:
    """Turn a drawing into an element of the page. `prefix` keeps its ids apart from those of other drawings."""
    ET.register_namespace("", SPACE)
    ET.register_namespace("xlink", LINK[1:].partition("}")[0])
    root = ET.fromstring(drawing)  # noqa: S314 - written by matplotlib a moment ago, not by a stranger
    _strip(root)
    for element in root.iter():
        _rewrite(element, prefix)
    _name(root, prefix, title, description)
    return ET.tostring(root, encoding="unicode")


def _strip(root: ET.Element) -> None:
    """Take out what only weighs: sizes that the page sets, blanks between elements, ids that nothing refers to."""
    referred = set(re.findall(r"#([^)\"]+)", ET.tostring(root, encoding="unicode")))
    for parent in list(root.iter()):
        if parent.get("id") not in referred:
            parent.attrib.pop("id", None)
        parent.text = parent.text if (parent.text or "").strip() else None
        parent.tail = None
        for child in list(parent):
            if child.tag.removeprefix(f"{{{SPACE}}}") in UNWANTED:
                parent.remove(child)
    for size in ("width", "height"):
        root.attrib.pop(size, None)


def _rewrite(element: ET.Element, prefix: str) -> None:
    for key, value in list(element.attrib.items()):
        if key == "id":
            element.set(key, f"{prefix}-{value}")
        elif key == LINK:
            element.attrib.pop(key)
            element.set("href", f"#{prefix}-{value.removeprefix('#')}")
        elif key in {"style", "clip-path", "fill", "stroke"}:
            element.set(key, _restyled(value, prefix))


def _restyled(style: str, prefix: str) -> str:
    style = style.replace("url(#", f"url(#{prefix}-")
    style = re.sub(r"font: *(?:[a-z0-9]+ )*?([0-9.]+px)[^;]*", r"font-size: \1", style)
    style = re.sub(r"font-family:[^;]*;?", "", style)
    for name, stand_in in COLOURS.items():
        style = style.replace(stand_in, f"var(--{name})")
    return style.strip()


def _name(root: ET.Element, prefix: str, title: str, description: str) -> None:
    root.set("role", "img")
    root.set("aria-labelledby", f"{prefix}-title {prefix}-desc")
    root.set("stroke-linejoin", "round")
    for place, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ET.Element(f"{{{SPACE}}}{tag}", {"id": f"{prefix}-{tag}"})
        element.text = text
        root.insert(place, element)
