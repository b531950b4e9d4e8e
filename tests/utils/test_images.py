"""Images that break harnesses, each with pixels worked out by hand."""

from __future__ import annotations

import io
import re
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageFile

from lmms_aes_tasks.utils import images
from lmms_aes_tasks.utils.images import FITS, ImageError, contact_sheet, fit_image, load_image

RED, GREEN, BLUE, GREY, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (128, 128, 128), (255, 255, 255)


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def pixels(image: Image.Image) -> list[list[tuple[int, ...]]]:
    return [[tuple(int(v) for v in pixel) for pixel in row] for row in np.asarray(image)]


# a 2×2 picture, and what each EXIF orientation makes of the stored rows R G / B W (EXIF 2.3, tag 0x0112)
UPRIGHT = {
    1: [[RED, GREEN], [BLUE, WHITE]],
    2: [[GREEN, RED], [WHITE, BLUE]],  # mirrored left to right
    3: [[WHITE, BLUE], [GREEN, RED]],  # turned by 180°
    4: [[BLUE, WHITE], [RED, GREEN]],  # mirrored top to bottom
    5: [[RED, BLUE], [GREEN, WHITE]],  # transposed
    6: [[BLUE, RED], [WHITE, GREEN]],  # to be turned 90° clockwise
    7: [[WHITE, GREEN], [BLUE, RED]],  # transverse
    8: [[GREEN, WHITE], [RED, BLUE]],  # to be turned 90° counter-clockwise
}


@pytest.mark.parametrize("orientation", UPRIGHT)
def test_exif_orientation_is_applied_once(orientation: int) -> None:
    stored = Image.new("RGB", (2, 2))
    stored.putdata([RED, GREEN, BLUE, WHITE])
    exif = Image.Exif()
    exif[0x0112] = orientation
    loaded = load_image(encoded(stored, exif=exif))
    assert pixels(loaded) == UPRIGHT[orientation]
    again = load_image(encoded(loaded, exif=loaded.getexif()))  # a second round finds nothing left to turn
    assert pixels(again) == UPRIGHT[orientation]


def test_16_bit_grey_is_scaled_not_clipped() -> None:
    content = encoded(Image.fromarray(np.array([[0, 257, 32896, 65535]], dtype=np.uint16)))
    assert pixels(load_image(content)) == [[(0, 0, 0), (1, 1, 1), (128, 128, 128), WHITE]]


def test_32_bit_grey_beyond_16_bits_is_refused() -> None:
    content = encoded(Image.fromarray(np.array([[0, 70_000]], dtype=np.int32)), "TIFF")
    with pytest.raises(ImageError) as error:
        load_image(content, "x.tif")
    assert str(error.value) == (
        "x.tif: grey values from 0 to 70000; 0 to 65535 are allowed. Convert it to 8 or 16 bits."
    )


def test_cmyk() -> None:
    image = Image.new("CMYK", (1, 1), (0, 255, 255, 0))  # no cyan, full magenta and yellow: red
    assert pixels(load_image(encoded(image, "TIFF"))) == [[RED]]


def test_palette_with_transparency_is_laid_on_white() -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([255, 0, 0, 0, 0, 255])
    image.putdata([0, 1])
    assert pixels(load_image(encoded(image, transparency=1))) == [[RED, WHITE]]


def test_la_and_rgba_are_laid_on_white() -> None:
    la = Image.new("LA", (2, 1))
    la.putdata([(0, 255), (0, 0)])
    assert pixels(load_image(encoded(la))) == [[(0, 0, 0), WHITE]]
    half = Image.new("RGBA", (1, 1), (0, 0, 0, 51))  # 51/255 = 0.2 of black on white
    assert pixels(load_image(encoded(half))) == [[(204, 204, 204)]]


def test_transparent_colour_of_rgb_and_grey() -> None:
    rgb = Image.new("RGB", (2, 1), RED)
    rgb.putpixel((1, 0), GREEN)
    assert pixels(load_image(encoded(rgb, transparency=GREEN))) == [[RED, WHITE]]
    grey = Image.new("L", (2, 1), 0)
    grey.putpixel((1, 0), 9)
    assert pixels(load_image(encoded(grey, transparency=9))) == [[(0, 0, 0), WHITE]]


def test_bilevel_and_animation() -> None:
    assert pixels(load_image(encoded(Image.new("1", (1, 1), 1)))) == [[WHITE]]
    frames = [Image.new("RGB", (1, 1), RED), Image.new("RGB", (1, 1), BLUE)]
    content = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert pixels(load_image(content)) == [[RED]]


def test_float_is_refused_by_name() -> None:
    content = encoded(Image.fromarray(np.zeros((1, 1), dtype=np.float32)), "TIFF")
    with pytest.raises(ImageError) as error:
        load_image(content, "x.tif")
    assert str(error.value) == "x.tif: mode F has no defined conversion to RGB. Save it as 8-bit RGB."


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "TIFF"])
def test_truncated_files_are_named(kind: str, lenient: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", lenient)  # as lmms-eval sets it for the whole process
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    content = encoded(Image.fromarray(noise), kind)
    with pytest.raises(
        ImageError, match=r"^x: (does not decode \(.*\)|not an image that can be read)\. Replace the file\.$"
    ):
        load_image(content[: len(content) // 2], "x")


def test_the_processs_own_setting_is_put_back_also_by_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    whole = encoded(Image.fromarray(noise), "JPEG")

    def loads(content: bytes) -> bool:
        try:
            load_image(content)
        except ImageError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        loaded = list(pool.map(loads, [whole, whole[: len(whole) // 2]] * 100))
    assert loaded == [True, False] * 100
    assert ImageFile.LOAD_TRUNCATED_IMAGES is True


def test_not_an_image_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("<html>")
    with pytest.raises(ImageError, match=r"a\.png: not an image that can be read: it is an HTML page"):
        load_image(tmp_path / "a.png")
    with pytest.raises(ImageError) as error:
        load_image(tmp_path / "b.png", "b.png")
    assert str(error.value) == "b.png: no such file. Put it there, or correct the record."


def test_oversized_is_refused_before_it_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))  # 10.8 GB as RGB
    bomb = b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"\0")) + chunk(b"IEND", b"")
    with pytest.raises(ImageError, match=r"^bomb: .*Make it smaller than 89478485 pixels\.$"):
        load_image(bomb, "bomb")
    monkeypatch.setattr(images, "MAX_PIXELS", 3)
    with pytest.raises(ImageError) as error:
        load_image(encoded(Image.new("RGB", (2, 2))), "x")
    assert str(error.value) == "x: 2×2 pixels, 3 are allowed. Make it smaller."


def test_pad_keeps_the_aspect_and_centres() -> None:
    fitted = np.asarray(fit_image(Image.new("RGB", (200, 100), RED), "pad", 448))
    assert fitted.shape == (448, 448, 3)
    assert (fitted[:112] == WHITE).all()
    assert (fitted[112:336] == RED).all()  # 448×224, from row 112 on
    assert (fitted[336:] == WHITE).all()


def test_stretch_fills_the_square() -> None:
    assert (np.asarray(fit_image(Image.new("RGB", (200, 100), RED), "stretch", 448)) == RED).all()


def test_none_keeps_the_pixels() -> None:
    image = Image.fromarray(np.random.default_rng(0).integers(0, 255, (50, 70, 3), dtype=np.uint8))
    assert fit_image(image, "none", 448) is image


@pytest.mark.parametrize("size", [(1, 1), (10_000, 1), (1, 10_000), (448, 447), (3, 5000)])
@pytest.mark.parametrize("fit", FITS)
def test_extreme_sizes(size: tuple[int, int], fit: Any) -> None:
    fitted = fit_image(Image.new("RGB", size, RED), fit, 448)
    assert (np.asarray(fitted) == RED).all(axis=2).any()  # the picture is still there
    if fit == "none":
        assert min(fitted.size) >= 32
        assert max(fitted.size) <= 100 * min(fitted.size)
    else:
        assert fitted.size == (448, 448)


@settings(max_examples=60, deadline=None)
@given(
    width=st.integers(1, 300),
    height=st.integers(1, 300),
    size=st.integers(1, 64),
    fit=st.sampled_from(["pad", "stretch"]),
)
def test_fitted_is_always_the_square(width: int, height: int, size: int, fit: Any) -> None:
    fitted = fit_image(Image.new("RGB", (width, height), RED), fit, size)
    assert (fitted.size, fitted.mode) == ((size, size), "RGB")


@pytest.mark.parametrize(
    ("fit", "size", "message"),
    [
        ("crop", 448, "image_fit is 'crop': use one of pad, stretch, none"),
        ("pad", 0, "image_size is 0: use a whole number of pixels from 1 to 16384"),
        ("pad", "448", "image_size is '448': use a whole number of pixels from 1 to 16384"),
        ("pad", True, "image_size is True: use a whole number of pixels from 1 to 16384"),
    ],
)
def test_fit_errors(fit: Any, size: Any, message: str) -> None:
    with pytest.raises(ValueError) as error:
        fit_image(Image.new("RGB", (1, 1)), fit, size)
    assert str(error.value) == message


def test_contact_sheet_seams() -> None:
    sheet = np.asarray(
        contact_sheet([Image.new("RGB", (50, 100), RED), Image.new("RGB", (100, 50), BLUE)], ["", ""], 90, 10)
    )
    # strip: max(12, 90 // 9) = 12 rows; panels 45×90 and 180×90, 10 columns between
    assert sheet.shape == (102, 45 + 10 + 180, 3)
    assert (sheet[:12] == WHITE).all()
    assert (sheet[12:, :45] == RED).all()
    assert (sheet[12:, 45:55] == WHITE).all()
    assert (sheet[12:, 55:] == BLUE).all()


def test_contact_sheet_labels_are_drawn_above_their_image() -> None:
    panels = [Image.new("RGB", (90, 90), RED), Image.new("RGB", (90, 90), BLUE)]
    strip = np.asarray(contact_sheet(panels, ["I", ""], 90, 10))[:12]
    ink = np.argwhere((strip < 128).all(axis=2))[:, 1]
    assert ink.size
    assert 35 <= ink.min() <= ink.max() <= 55  # around column 45, the middle of the first image


def test_contact_sheet_wants_one_label_each() -> None:
    with pytest.raises(ValueError) as error:
        contact_sheet([Image.new("RGB", (1, 1))], [])
    assert str(error.value) == "1 images and 0 labels: give at least one image, and one label each"


# -- Texts in PNG, files that are none ---------------------------------------------------------------------------------


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("size", [2_000_000, 80_000_000])
def test_png_with_much_text_is_read(zipped: bool, size: int) -> None:
    from PIL import PngImagePlugin

    before = (PngImagePlugin.MAX_TEXT_CHUNK, PngImagePlugin.MAX_TEXT_MEMORY)
    info = PngImagePlugin.PngInfo()
    info.add_text("workflow", "y" * size, zip=zipped)
    assert load_image(encoded(Image.new("RGB", (4, 4), RED), pnginfo=info)).getpixel((0, 0)) == RED
    assert before == (PngImagePlugin.MAX_TEXT_CHUNK, PngImagePlugin.MAX_TEXT_MEMORY)


def test_text_beyond_the_limit_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import PngImagePlugin

    from lmms_aes_tasks.utils import images

    info = PngImagePlugin.PngInfo()
    info.add_text("workflow", "y" * 3_000_000, zip=True)
    content = encoded(Image.new("RGB", (4, 4)), pnginfo=info)
    monkeypatch.setattr(images, "MAX_FILE_BYTES", 2_000_000)
    with pytest.raises(
        ImageError, match=r"^x: does not decode \(Decompressed data too large.*\)\. Replace the file\.$"
    ):
        load_image(content, "x")


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "an empty file"),
        (b"\0\0\0\x18ftypheic\0\0\0\0mif1heic", "HEIC, which Pillow reads with pillow-heif alone"),
        (b"\0\0\0\x18ftypmif1\0\0\0\0", "HEIF, which Pillow reads with pillow-heif alone"),
        (b"\0\0\0\x18ftypisom\0\0\0\0", "a film or another ISO container"),
        (b'<svg xmlns="http://www.w3.org/2000/svg"/>', "SVG, a drawing in text"),
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- drawn -->\n<svg:svg/>', "XML, as servers send"),
        (b'<?xml version="1.0"?>\n<!DOCTYPE svg PUBLIC "x" "y">\n<svg/>', "SVG, a drawing in text"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "a Git LFS pointer"),
        (b"  <!DOCTYPE html>\n<html>", "an HTML page"),
        (b'<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>', "XML, as servers send for an error"),
        (b"%PDF-1.7\n", "a PDF document"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\xff\x0a\0\0", "JPEG XL"),
    ],
)
def test_files_that_are_no_images_are_named_by_their_first_bytes(content: bytes, what: str, tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(content)
    for source in (content, tmp_path / "x.png"):
        with pytest.raises(ImageError, match=re.escape(f"x: not an image that can be read: it is {what}")):
            load_image(source, "x")
