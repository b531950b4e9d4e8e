"""Colour profiles embedded in images: whether one is another than sRGB's, and conversion by it."""

from __future__ import annotations

import functools
import io
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:
    from PIL import Image

Icc = Literal["ignore", "srgb"]
ICC: tuple[str, ...] = get_args(Icc)
"""What is done with an embedded profile: nothing, as the papers' loaders do, or a conversion to sRGB by it."""

_SAME_WITHIN = 2
"""Profiles of sRGB differ among each other by rounding: by so many of 255 steps at most."""
_PROBE_STEPS = (0, 32, 64, 96, 128, 160, 192, 224, 255)
_MODES = {"RGB": "RGB", "GRAY": "L", "CMYK": "CMYK"}


def check_icc(icc: str) -> None:
    """Raise when a setting is none.

    Raises:
        ValueError: It is none.
    """
    if icc not in ICC:
        raise ValueError(f"icc is {icc!r}: use {' or '.join(ICC)}")


def _converted(image: Image.Image, profile: bytes) -> Image.Image | None:
    """An image without alpha in sRGB, by perceptual intent; None where the profile is broken or of other colours."""
    from PIL import ImageCms

    try:
        source = ImageCms.ImageCmsProfile(io.BytesIO(profile))
        found: Any = ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB"), outputMode="RGB")
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return None
    return found  # type: ignore[no-any-return]


def to_srgb(image: Image.Image) -> Image.Image:
    """An 8-bit image converted to sRGB by its profile; as it is where it has none, or one that cannot be used.

    Transparency is kept.
    """
    profile = image.info.get("icc_profile")
    if not isinstance(profile, bytes) or not is_other_than_srgb(profile):
        return image  # a conversion from sRGB to sRGB would only round
    see_through = "A" in image.getbands() or "a" in image.getbands() or "transparency" in image.info
    if image.mode in {"P", "PA"}:
        image = image.convert("RGBA" if see_through else "RGB")
    elif see_through:
        image = image.convert("LA" if image.mode in {"L", "LA", "La", "1"} else "RGBA")
    alpha = image.getchannel("A") if see_through else None
    colours = image.convert(image.mode[:-1]) if alpha is not None else image
    if colours.mode not in {"RGB", "L", "CMYK"}:
        colours = colours.convert("L" if colours.mode == "1" else "RGB")
    converted = _converted(colours, profile)
    if converted is None:
        return image
    if alpha is not None:
        converted.putalpha(alpha)
    return converted


@functools.lru_cache(maxsize=16)  # a data set has thousands of images, and of profiles a handful
def is_other_than_srgb(profile: bytes) -> bool:
    """Whether a profile shows other colours than sRGB: a lattice of colours is converted by it and looked at.

    A broken profile, which no viewer follows, is none.
    """
    import numpy as np
    from PIL import Image, ImageCms

    if not profile:
        return False
    try:
        space = ImageCms.ImageCmsProfile(io.BytesIO(profile)).profile.xcolor_space.strip()
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return False
    mode = _MODES.get(space)
    if mode is None or mode == "CMYK":
        return mode == "CMYK"
    steps = np.array(_PROBE_STEPS, dtype=np.uint8)
    lattice = np.stack(np.meshgrid(steps, steps, steps), axis=-1).reshape(1, -1, 3) if mode == "RGB" else steps[None]
    converted = _converted(Image.fromarray(lattice), profile)
    if converted is None:
        return False
    there = np.asarray(converted).astype(int)
    here = lattice.astype(int) if mode == "RGB" else lattice.astype(int)[..., None]
    return bool(np.abs(there - here).max() > _SAME_WITHIN)
