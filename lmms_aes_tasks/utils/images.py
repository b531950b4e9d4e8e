"""Images as models get them: decoding to upright 8-bit RGB, fitting to a square, the labelled contact sheet."""

from __future__ import annotations

import io
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from lmms_aes_tasks.utils.colour_profiles import Icc, check_icc, to_srgb
from lmms_aes_tasks.utils.errors import AesError
from lmms_aes_tasks.utils.file_kinds import FIRST_BYTES, described

if TYPE_CHECKING:
    from PIL import Image

Fit = Literal["pad", "stretch", "none"]
FITS: tuple[str, ...] = get_args(Fit)
"""Ways to bring an image to its size: `pad` keeps the aspect, `stretch` does not, `none` keeps the pixels."""

MAX_PIXELS = 89_478_485
"""Largest image that is decoded: Pillow's own limit against decompression bombs (256 MB as RGB)."""
MAX_FILE_BYTES = 512 * 1024 * 1024
"""Largest image file that is read."""
BACKGROUND = (255, 255, 255)
"""Under transparency and around padded images: white, as paper is (our reading)."""

_MIN_SIDE = 32
_MAX_ASPECT = 100
"""With `none`: image processors refuse narrower images (Qwen-VL at 200:1), so a canvas is put around them."""


class ImageError(AesError, ValueError):
    """An image that cannot be used; the message names it, says why, and what to do."""


_decoding_lock = threading.Lock()
_decoding_users = 0
_settings_before = (False, 0, 0)


@contextmanager
def _own_decoding() -> Iterator[None]:
    """Make Pillow refuse truncated files and read long texts, whatever the process has set, and put all that back.

    lmms-eval sets `ImageFile.LOAD_TRUNCATED_IMAGES` for the whole process: a damaged image would then pass every check
    and reach a model half grey. Pillow refuses PNG with more than 1 MiB in one compressed text, as generators write
    (their workflow) and scanners (a profile); a file's size is limited already, so the limit here is that one. The
    settings are the process's, so threads inside share them: the last one out restores.
    """
    global _decoding_users, _settings_before
    from PIL import ImageFile, PngImagePlugin

    with _decoding_lock:
        if _decoding_users == 0:
            _settings_before = (
                ImageFile.LOAD_TRUNCATED_IMAGES,
                PngImagePlugin.MAX_TEXT_CHUNK,
                PngImagePlugin.MAX_TEXT_MEMORY,
            )
            ImageFile.LOAD_TRUNCATED_IMAGES = False
            PngImagePlugin.MAX_TEXT_CHUNK = max(PngImagePlugin.MAX_TEXT_CHUNK, MAX_FILE_BYTES)
            PngImagePlugin.MAX_TEXT_MEMORY = max(PngImagePlugin.MAX_TEXT_MEMORY, MAX_FILE_BYTES)
        _decoding_users += 1
    try:
        yield
    finally:
        with _decoding_lock:
            _decoding_users -= 1
            if _decoding_users == 0:
                ImageFile.LOAD_TRUNCATED_IMAGES = _settings_before[0]
                PngImagePlugin.MAX_TEXT_CHUNK, PngImagePlugin.MAX_TEXT_MEMORY = _settings_before[1:]


def _flatten(image: Image.Image) -> Image.Image:
    """Composite on the background and drop the alpha channel."""
    from PIL import Image

    rgba = image.convert("RGBA")
    canvas = Image.new("RGBA", rgba.size, (*BACKGROUND, 255))
    canvas.alpha_composite(rgba)
    return canvas.convert("RGB")


def _scale_to_8_bit(image: Image.Image, name: str) -> Image.Image:
    """16-bit grey scaled to 8 bits (65535 to 255), not clipped."""
    import numpy as np
    from PIL import Image

    values = np.asarray(image)
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    if low < 0 or high > 65535:
        raise ImageError(
            f"{name}: grey values from {low} to {high}; 0 to 65535 are allowed. Convert it to 8 or 16 bits."
        )
    return Image.fromarray(np.round(values / 257.0).astype(np.uint8))


def to_rgb(image: Image.Image, name: str = "image", icc: Icc = "ignore") -> Image.Image:
    """Turn an opened image upright and into 8-bit RGB.

    The EXIF orientation is applied once and removed; 16-bit grey is scaled; transparency (an alpha channel or a
    transparent colour) is laid on white; CMYK, palette, bilevel, grey, YCbCr and HSV are converted. Of an animation
    the first frame is taken. A colour profile is passed over, as the loaders of the papers do, unless `icc` is `srgb`.

    Args:
        image: Any image Pillow has opened.
        name: What to call it in errors.
        icc: `ignore`, or `srgb`: colours are converted by the embedded profile; see `utils.colour_profiles`.

    Returns:
        A new image of mode RGB.

    Raises:
        ImageError: It does not decode, or its mode has no defined conversion (float, LAB).
        ValueError: `icc` is neither.
    """
    from PIL import ImageOps

    check_icc(icc)
    try:
        with _own_decoding():
            image.load()
        image = ImageOps.exif_transpose(image)
    except (OSError, SyntaxError, ValueError, RuntimeError, IndexError, MemoryError, struct.error, EOFError) as error:
        raise ImageError(f"{name}: does not decode ({error}). Replace the file.") from error
    if image.mode.startswith("I"):
        profile = image.info.get("icc_profile")
        image = _scale_to_8_bit(image, name)
        image.info["icc_profile"] = profile
    if icc == "srgb" and image.mode not in {"F", "LAB"}:
        image = to_srgb(image)
    if image.mode in {"RGBA", "LA", "PA", "La", "RGBa"} or "transparency" in image.info:
        return _flatten(image)
    if image.mode in {"F", "LAB"}:
        raise ImageError(f"{name}: mode {image.mode} has no defined conversion to RGB. Save it as 8-bit RGB.")
    return image.copy() if image.mode == "RGB" else image.convert("RGB")


def load_image(source: bytes | Path, name: str | None = None, icc: Icc = "ignore") -> Image.Image:
    """Decode an image file, or its bytes, to upright 8-bit RGB; see `to_rgb`.

    Args:
        source: The file's path, or its content.
        name: What to call it in errors; the path when None.
        icc: `ignore` the colour profile, or convert by it to `srgb`.

    Raises:
        ImageError: The file is missing, not an image, damaged, or larger than `MAX_PIXELS` or `MAX_FILE_BYTES`.
        ValueError: `icc` is neither.
    """
    return _load(source, name, icc)[0]


def load_with_profile(source: bytes | Path, name: str | None = None) -> tuple[Image.Image, bytes]:
    """`load_image`, and the colour profile that the file embeds: what a check needs; empty when there is none."""
    return _load(source, name, "ignore")


def _load(source: bytes | Path, name: str | None, icc: Icc) -> tuple[Image.Image, bytes]:
    from PIL import Image

    label = name or (str(source) if isinstance(source, Path) else "image")
    if isinstance(source, Path):
        if not source.is_file():
            raise ImageError(f"{label}: no such file. Put it there, or correct the record.")
        size = source.stat().st_size
    else:
        size = len(source)
    if size > MAX_FILE_BYTES:
        raise ImageError(f"{label}: {size} bytes, {MAX_FILE_BYTES} are allowed. Make it smaller.")
    try:
        with _own_decoding():
            opened = Image.open(source if isinstance(source, Path) else io.BytesIO(source))
    except Image.DecompressionBombError as error:
        raise ImageError(f"{label}: {error}. Make it smaller than {MAX_PIXELS} pixels.") from error
    except (OSError, SyntaxError, ValueError, RuntimeError, struct.error) as error:
        raise ImageError(f"{label}: {_why(source, error)}") from error
    with opened:
        width, height = opened.size
        if width * height > MAX_PIXELS:
            raise ImageError(f"{label}: {width}×{height} pixels, {MAX_PIXELS} are allowed. Make it smaller.")
        profile = opened.info.get("icc_profile")
        return to_rgb(opened, label, icc), profile if isinstance(profile, bytes) else b""


def _why(source: bytes | Path, error: Exception) -> str:
    """Why Pillow does not open a file, and what to do: what it is by its first bytes, else Pillow's own reason."""
    from PIL import UnidentifiedImageError

    if isinstance(source, Path):
        with source.open("rb") as file:
            first = file.read(FIRST_BYTES)
    else:
        first = source[:FIRST_BYTES]
    what, remedy = described(first)
    if what:
        return f"not an image that can be read: it is {what}. {remedy}, or replace the file."
    if isinstance(error, UnidentifiedImageError):  # its text names an object in memory and no reason
        return "not an image that can be read. Replace the file."
    return f"does not decode ({error}). Replace the file."


def _scaled(image: Image.Image, width: int, height: int) -> Image.Image:
    """Bicubic with antialiasing, each side at least one pixel."""
    from PIL import Image

    size = (max(1, width), max(1, height))
    return image if image.size == size else image.resize(size, Image.Resampling.BICUBIC)


def _on_canvas(image: Image.Image, width: int, height: int) -> Image.Image:
    """Centred on a background canvas."""
    from PIL import Image

    if image.size == (width, height):
        return image
    canvas = Image.new("RGB", (width, height), BACKGROUND)
    canvas.paste(image, ((width - image.width) // 2, (height - image.height) // 2))
    return canvas


def fit_image(image: Image.Image, fit: Fit, size: int) -> Image.Image:
    """Bring an RGB image to what a model gets (AesCanvas, S2.4.1: "resized or padded to 448×448").

    Args:
        image: RGB.
        fit: `pad`: scaled so that the longer side is `size`, centred on a white square; `stretch`: both sides `size`;
            `none`: pixels kept, with white around an image narrower than 32 pixels or longer than 100:1.
        size: Side of the square in pixels, at least 1; without effect for `none`.

    Returns:
        RGB, `size`×`size` unless `fit` is `none`.

    Raises:
        ValueError: `fit` or `size` is not allowed.
    """
    if fit not in FITS:
        raise ValueError(f"image_fit is {fit!r}: use one of {', '.join(FITS)}")
    if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= 16_384:
        raise ValueError(f"image_size is {size!r}: use a whole number of pixels from 1 to 16384")
    width, height = image.size
    if fit == "none":
        least = -(-max(width, height) // _MAX_ASPECT)
        return _on_canvas(image, max(width, least, _MIN_SIDE), max(height, least, _MIN_SIDE))
    if fit == "stretch":
        return _scaled(image, size, size)
    scale = size / max(width, height)
    return _on_canvas(_scaled(image, round(width * scale), round(height * scale)), size, size)


def contact_sheet(
    images: Sequence[Image.Image], labels: Sequence[str], height: int = 448, gap: int = 16
) -> Image.Image:
    """Several images side by side at one height, each under its label (AesCanvas, S2.4.1; the layout is ours).

    Args:
        images: RGB images, left to right.
        labels: One label per image, drawn in black on white above it.
        height: Height of every image in pixels.
        gap: White columns between images.

    Returns:
        RGB of height `height` plus the label strip.

    Raises:
        ValueError: No image, or not one label per image.
    """
    from PIL import Image, ImageDraw, ImageFont

    if not images or len(images) != len(labels):
        raise ValueError(f"{len(images)} images and {len(labels)} labels: give at least one image, and one label each")
    strip = max(12, height // 9)
    font = ImageFont.load_default(size=round(strip * 0.7))
    # an extreme aspect must not make a sheet of a million columns
    panels = [_scaled(image, min(round(image.width * height / image.height), 16 * height), height) for image in images]
    sheet = Image.new("RGB", (sum(p.width for p in panels) + gap * (len(panels) - 1), height + strip), BACKGROUND)
    draw = ImageDraw.Draw(sheet)
    left = 0
    for panel, label in zip(panels, labels, strict=True):
        sheet.paste(panel, (left, strip))
        draw.text((left + panel.width / 2, strip / 2), label, font=font, fill=(0, 0, 0), anchor="mm")
        left += panel.width + gap
    return sheet


def comparison_figure(source: Image.Image | None, left: Image.Image, right: Image.Image, gap: int = 16) -> Image.Image:
    """One figure: the source above, centred, the two candidates below, all of one height, white between them.

    Args:
        source: RGB; None leaves the upper row out.
        left: RGB.
        right: RGB.
        gap: White rows and columns between images.

    Returns:
        RGB; the height of every image is that of the higher candidate.
    """
    from PIL import Image

    height = max(left.height, right.height)
    below = [_scaled(image, round(image.width * height / image.height), height) for image in (left, right)]
    width = below[0].width + gap + below[1].width
    above = None
    if source is not None:
        above = _scaled(source, min(round(source.width * height / source.height), width), height)
    top = 0 if above is None else height + gap
    figure = Image.new("RGB", (width, top + height), BACKGROUND)
    if above is not None:
        figure.paste(above, ((width - above.width) // 2, 0))
    figure.paste(below[0], (0, top))
    figure.paste(below[1], (below[0].width + gap, top))
    return figure
