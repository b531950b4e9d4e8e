"""Colour profiles: passed over by default, followed when asked for; Pillow's own colour management is the oracle."""

from __future__ import annotations

import io
from typing import Any

import pytest
from PIL import Image, ImageCms

from lmms_aes_tasks.utils.colour_profiles import is_other_than_srgb
from lmms_aes_tasks.utils.images import load_image
from tests.colours import WIDE_PROFILE

SRGB = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
GREEN = (90, 170, 70)
COLOURS = [GREEN, (200, 40, 40), (128, 128, 128), (40, 60, 200), (250, 200, 150)]


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def managed(colour: tuple[int, ...]) -> Any:
    """What a colour-managed viewer shows of a colour with the wide profile."""
    source = ImageCms.ImageCmsProfile(io.BytesIO(WIDE_PROFILE))
    image = Image.new("RGB", (1, 1), colour)
    return ImageCms.profileToProfile(image, source, ImageCms.createProfile("sRGB")).getpixel((0, 0))  # type: ignore[union-attr]


def near(found: Any, expected: Any) -> bool:
    return max(abs(a - b) for a, b in zip(found, expected, strict=True)) <= 2


@pytest.mark.parametrize("colour", COLOURS)
def test_the_profile_is_passed_over_or_followed(colour: tuple[int, int, int]) -> None:
    content = encoded(Image.new("RGB", (8, 8), colour), icc_profile=WIDE_PROFILE)
    assert load_image(content).getpixel((0, 0)) == colour
    assert near(load_image(content, icc="srgb").getpixel((0, 0)), managed(colour))


def test_the_reviewers_figure() -> None:
    content = encoded(Image.new("RGB", (8, 8), GREEN), icc_profile=WIDE_PROFILE)
    assert near(load_image(content, icc="srgb").getpixel((0, 0)), (0, 172, 59))


def test_transparency_palette_and_upright_images() -> None:
    half = Image.new("RGBA", (2, 1), (*GREEN, 255))
    half.putpixel((1, 0), (*GREEN, 0))
    image = load_image(encoded(half, icc_profile=WIDE_PROFILE), icc="srgb")
    assert near(image.getpixel((0, 0)), managed(GREEN))
    assert image.getpixel((1, 0)) == (255, 255, 255)
    palette = Image.new("RGB", (8, 8), GREEN).convert("P", palette=Image.Palette.ADAPTIVE)
    assert near(load_image(encoded(palette, icc_profile=WIDE_PROFILE), icc="srgb").getpixel((0, 0)), managed(GREEN))
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = load_image(encoded(Image.new("RGB", (8, 4), GREEN), icc_profile=WIDE_PROFILE, exif=exif), icc="srgb")
    assert turned.size == (4, 8)
    assert near(turned.getpixel((0, 0)), managed(GREEN))


@pytest.mark.parametrize("profile", [b"broken", WIDE_PROFILE[:200], SRGB])
def test_broken_profiles_and_srgb_change_nothing(profile: bytes) -> None:
    content = encoded(Image.new("RGB", (8, 8), GREEN), icc_profile=profile)
    assert load_image(content, icc="srgb").getpixel((0, 0)) == GREEN
    assert not is_other_than_srgb(profile)


@pytest.mark.parametrize("mode", ["L", "LA", "CMYK", "1", "I;16"])
def test_a_profile_of_other_colours_changes_nothing(mode: str) -> None:
    image = Image.new(mode, (4, 4), 0 if mode != "CMYK" else (0, 255, 255, 0))
    content = encoded(image, "TIFF", icc_profile=WIDE_PROFILE)
    assert load_image(content, icc="srgb").getpixel((0, 0)) == load_image(content).getpixel((0, 0))


def test_which_profiles_are_others() -> None:
    assert is_other_than_srgb(WIDE_PROFILE)
    assert is_other_than_srgb(ImageCms.ImageCmsProfile(ImageCms.createProfile("XYZ")).tobytes()) is False
    assert not is_other_than_srgb(b"")


def test_another_setting_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^icc is 'adobe': use ignore or srgb$"):
        load_image(encoded(Image.new("RGB", (2, 2))), icc="adobe")  # type: ignore[arg-type]


@pytest.mark.parametrize("benchmark", ["contextcanvas", "critiquecanvas", "vab"])
def test_the_setting_reaches_what_a_model_gets(benchmark: str) -> None:
    import importlib

    module = importlib.import_module(f"lmms_aes_tasks.{benchmark}")
    cell = {"bytes": encoded(Image.new("RGB", (64, 64), GREEN), icc_profile=WIDE_PROFILE)}
    doc = {"id": "d", "task_id": "d", "images": [cell], "permutation": [0]}
    for settings, expected in (({}, GREEN), ({"icc": "ignore"}, GREEN), ({"icc": "srgb"}, managed(GREEN))):
        (image,) = module.doc_to_visual(doc, settings)
        assert near(image.getpixel((image.width // 2, image.height // 2)), expected)
