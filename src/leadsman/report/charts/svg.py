"""Adapts an SVG of matplotlib to the page: colours from CSS variables, the page's font, a title, unique ids."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

SVG_NAMESPACE = "http://www.w3.org/2000/svg"
XLINK_HREF = "{http://www.w3.org/1999/xlink}href"

COLOUR_NAMES = ("ink", "soft", "grid", "panel", "active", "calm", "bad", "limit", "limit-band")
COLOURS = {name: f"#a1b{number:02d}c" for number, name in enumerate(COLOUR_NAMES)}
"""The stand-in value of each colour of the page: values that no chart uses by accident."""

DROPPED_ELEMENTS = ("metadata", "style")
"""Elements to drop: the style sheet that matplotlib writes would apply to the whole page."""


def page_svg(drawing: bytes, *, prefix: str, title: str, description: str) -> str:
    """Return a drawing as an element of the page. `prefix` makes its ids unique on the page."""
    ET.register_namespace("", SVG_NAMESPACE)
    ET.register_namespace("xlink", XLINK_HREF[1:].partition("}")[0])
    root = ET.fromstring(drawing)  # noqa: S314 - written by matplotlib a moment ago, not by a stranger
    _strip(root)
    for element in root.iter():
        _rewrite(element, prefix)
    _add_title(root, prefix, title, description)
    return ET.tostring(root, encoding="unicode")


def _strip(root: ET.Element) -> None:
    """Remove what the page does not need: sizes, blanks between elements, ids without a reference."""
    referred = set(re.findall(r"#([^)\"]+)", ET.tostring(root, encoding="unicode")))
    for parent in list(root.iter()):
        if parent.get("id") not in referred:
            parent.attrib.pop("id", None)
        parent.text = parent.text if (parent.text or "").strip() else None
        parent.tail = None
        for child in list(parent):
            if child.tag.removeprefix(f"{{{SVG_NAMESPACE}}}") in DROPPED_ELEMENTS:
                parent.remove(child)
    for size in ("width", "height"):
        root.attrib.pop(size, None)


def _rewrite(element: ET.Element, prefix: str) -> None:
    for key, value in list(element.attrib.items()):
        if key == "id":
            element.set(key, f"{prefix}-{value}")
        elif key == XLINK_HREF:
            element.attrib.pop(key)
            element.set("href", f"#{prefix}-{value.removeprefix('#')}")
        elif key in {"style", "clip-path", "fill", "stroke"}:
            element.set(key, _page_style(value, prefix))


def _page_style(style: str, prefix: str) -> str:
    style = style.replace("url(#", f"url(#{prefix}-")
    style = re.sub(r"font: *(?:[a-z0-9]+ )*?([0-9.]+px)[^;]*", r"font-size: \1", style)
    style = re.sub(r"font-family:[^;]*;?", "", style)
    for name, stand_in in COLOURS.items():
        style = style.replace(stand_in, f"var(--{name})")
    return style.strip()


def _add_title(root: ET.Element, prefix: str, title: str, description: str) -> None:
    root.set("role", "img")
    root.set("aria-labelledby", f"{prefix}-title {prefix}-desc")
    root.set("stroke-linejoin", "round")
    for index, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ET.Element(f"{{{SVG_NAMESPACE}}}{tag}", {"id": f"{prefix}-{tag}"})
        element.text = text
        root.insert(index, element)
