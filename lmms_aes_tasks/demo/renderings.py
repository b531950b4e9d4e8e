"""A photograph rendered as the domains of the demo sets: as it is, as a painting, as an illustration."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image


def as_photograph(image: Image.Image) -> Image.Image:
    """The picture as it is."""
    return image


def as_painting(image: Image.Image) -> Image.Image:
    """Flat patches, as a brush leaves them."""
    from PIL import ImageEnhance, ImageFilter

    return ImageEnhance.Color(image.filter(ImageFilter.ModeFilter(9))).enhance(1.4)


def as_illustration(image: Image.Image) -> Image.Image:
    """Few colours and dark outlines, as in a comic."""
    from PIL import ImageChops, ImageFilter, ImageOps

    flat = ImageOps.posterize(image.filter(ImageFilter.MedianFilter(5)), 2)
    outline = ImageOps.invert(ImageOps.grayscale(image.filter(ImageFilter.FIND_EDGES)))
    return ImageChops.multiply(flat, outline.convert("RGB"))
