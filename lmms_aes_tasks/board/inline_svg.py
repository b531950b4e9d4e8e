"""Matplotlib's SVG as an element of an HTML page: themed by classes, without style, script or outside reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from markupsafe import Markup

INKS = {
    "#000001": "ink",
    "#000002": "muted",
    "#000003": "grid",
    "#000004": "surface",
    "#000011": "recomputed",
    "#000012": "self-reported",
    "#000013": "published",
    **{f"#00002{place}": f"step-{place}" for place in range(6)},
}
"""Colours that are drawn with, and the classes of the style sheet that take their place."""


def _local(name: str) -> str:
    return name.rsplit("}", 1)[-1]


def _themed(element: ElementTree.Element) -> None:
    """Style attribute to presentation attributes, and our stand-in colours to classes."""
    style = dict(part.split(":", 1) for part in element.attrib.pop("style", "").split(";") if ":" in part)
    classes = []
    for key, value in ((key.strip(), value.strip()) for key, value in style.items()):
        if key in {"fill", "stroke"} and value in INKS:
            classes.append(f"{key}-{INKS[value]}")
        elif key not in {"font-family", "font"}:
            element.set(key, value)
    if classes:
        element.set("class", " ".join(classes))


def inline_svg(source: str, plot: str, title: str, description: str, tips: Mapping[str, str]) -> Markup:
    """Matplotlib's SVG as an element of an HTML page.

    Args:
        source: What Matplotlib wrote.
        plot: Prefix of every id, so that several plots share a page.
        title: Accessible name.
        description: Accessible description.
        tips: Text that appears over a group of the drawing, by the group's id.
    """
    from markupsafe import Markup

    root = ElementTree.fromstring(source)
    for parent in list(root.iter()):
        for child in list(parent):
            if _local(child.tag) in {"metadata", "style"}:
                parent.remove(child)
    text = [(name, content) for name, content in (("title", title), ("desc", description)) if content]
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {_local(key): value for key, value in element.attrib.items()}
        _themed(element)
        own = element.attrib.pop("id", None)
        if own is not None and own in tips:
            tip = ElementTree.Element("title")
            tip.text = tips[own]
            element.insert(0, tip)
        if own is not None and element.tag in {"path", "clipPath"}:  # what else has an id is referenced by nothing
            element.set("id", f"{plot}-{own}")
        if element.get("href", "").startswith("#"):
            element.set("href", f"#{plot}-{element.attrib['href'][1:]}")
        if element.get("clip-path", "").startswith("url(#"):
            element.set("clip-path", f"url(#{plot}-{element.attrib['clip-path'][5:]}")
    for place, (name, content) in enumerate(text):
        child = ElementTree.Element(name, id=f"{plot}-{name}")
        child.text = content
        root.insert(place, child)
    view = root.attrib["viewBox"]
    root.attrib = {
        "viewBox": view,
        "class": "plot",
        "role": "img",
        "aria-labelledby": " ".join(f"{plot}-{name}" for name, _ in text),
    }
    return Markup(ElementTree.tostring(root, encoding="unicode", short_empty_elements=False))  # escaped by ElementTree
