"""Folders of images, one sub-folder per class."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from .common import Family

# First column and row, and steps, of the seven passes of an interlaced PNG.
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def png(pixels: np.ndarray, colour: int, interlaced: bool = False) -> bytes:
    """A PNG of 16 bits a value in colour, or an interlaced one, which Pillow cannot write."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    rows, cols = pixels.shape[:2]
    pixels = pixels.astype(pixels.dtype.newbyteorder(">"))
    head = struct.pack(">IIBBBBB", cols, rows, 8 * pixels.itemsize, colour, 0, 0, interlaced)
    parts = [pixels[y::dy, x::dx] for x, y, dx, dy in PASSES] if interlaced else [pixels]
    lines = b"".join(b"\0" + row.tobytes() for part in parts for row in part if row.size)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def grey(path: Path) -> np.ndarray:
    """What Pillow makes of an image file, row by row."""
    with Image.open(path) as image:
        if image.mode.startswith("I"):
            # Pillow cuts these off at 255 when asked for 8 bits; they are scaled instead.
            return np.round(np.asarray(image, float) / 257).ravel()
        return np.asarray(ImageOps.exif_transpose(image).convert("L"), float).ravel()


def images(family: Family) -> None:
    random = np.random.default_rng(2)

    def save(name: str, ending: str, make, tolerance: float = 0, **options) -> None:
        folder = family.path(name)
        samples = []
        for label in ("left", "right"):
            (folder / label).mkdir(parents=True)
            for i in range(2):
                path = folder / label / f"{i}.{ending}"
                made = make(random.integers(0, 256, (6, 7, 4), "u1"))
                if isinstance(made, bytes):
                    path.write_bytes(made)
                else:
                    made.save(path, **options)
                samples.append(grey(path))
        family.add(folder, np.stack(samples), ["left", "left", "right", "right"], tolerance=tolerance)

    def mode(name: str):
        return lambda pixels: Image.fromarray(pixels).convert("RGB").convert(name)

    def raw(pixels) -> Image.Image:
        return Image.fromarray(pixels, "RGBA")

    for kind, endings in {
        "1": ["png", "bmp", "pbm", "tiff"],
        "L": ["png", "bmp", "pgm", "tiff", "jpg"],
        "RGB": ["png", "bmp", "ppm", "tiff", "jpg"],
        "P": ["png", "bmp"],
        "YCbCr": ["jpg"],
        "CMYK": ["jpg", "tiff"],
    }.items():
        for ending in endings:
            save(f"{kind}-{ending}", ending, mode(kind))
    save("RGBA-png", "png", raw)
    save("RGBA-tiff", "tiff", raw)
    save("LA-png", "png", lambda pixels: raw(pixels).convert("LA"))
    save("palette-transparent", "png", mode("P"), transparency=0)
    save("palette-alpha", "png", mode("P"), transparency=bytes(range(256)))
    for bits in (1, 2, 4):
        save(
            f"palette-{bits}-bits", "png", lambda p, n=2**bits: Image.fromarray(p).convert("RGB").quantize(n), bits=bits
        )
    save("RGB-transparent-colour", "png", mode("RGB"), transparency=(0, 0, 0))
    save("png-animated", "png", mode("RGB"), save_all=True, append_images=[Image.new("RGB", (7, 6))])
    for compression in ("tiff_lzw", "tiff_deflate", "packbits"):
        save(f"tiff-{compression}", "tiff", mode("RGB"), compression=compression)
    save("tiff-group4", "tiff", mode("1"), compression="group4")
    # JPEG inside TIFF goes through another decoder than Pillow's.
    save("tiff-jpeg", "tiff", mode("RGB"), tolerance=2, compression="jpeg")
    save("tiff-pages", "tiff", mode("RGB"), save_all=True, append_images=[Image.new("RGB", (7, 6))])
    save("jpg-progressive", "jpg", mode("RGB"), progressive=True)
    save("jpg-progressive-grey", "jpg", mode("L"), progressive=True)
    for quality, subsampling in [(30, 2), (75, 1), (100, 0)]:
        save(f"jpg-{quality}-{subsampling}", "jpg", mode("RGB"), quality=quality, subsampling=subsampling)
    save("jpg-optimised", "jpg", mode("RGB"), optimize=True)
    save("jpg-restarts", "jpg", mode("RGB"), restart_marker_blocks=1)
    for turn in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = turn
        save(f"turned-{turn}-jpg", "jpg", mode("RGB"), exif=exif)
        save(f"turned-{turn}-png", "png", mode("L"), exif=exif)
    for name, colour, channels in [("grey", 0, 1), ("RGB", 2, 3), ("LA", 4, 2), ("RGBA", 6, 4)]:
        for interlaced in (False, True):
            # Multiples of 257 are the same 8 bits by rounding, which is done here, and by cutting, which Pillow does.
            deep = lambda p, k=colour, c=channels, i=interlaced: png(p[..., :c].astype("u2") * 257, k, i)  # noqa: E731
            save(f"{'interlaced-' if interlaced else ''}{name}-16-bits", "png", deep)
        save(f"interlaced-{name}", "png", lambda p, k=colour, c=channels: png(p[..., :c], k, interlaced=True))
    save("png-called-jpg", "jpg", mode("RGB"), format="PNG")
    save("jpg-called-png", "png", mode("RGB"), format="JPEG")
    save("pgm-text", "pgm", lambda p: b"P2 # by hand\n7 6\n255\n" + " ".join(map(str, p[..., 0].ravel())).encode())
    save("pgm-16-bits", "pgm", lambda p: Image.fromarray(p[..., 0].astype("u2") * 251))

    for ending in ("png", "tiff"):
        save(f"all-16-bits-{ending}", ending, lambda p: Image.fromarray(p[..., 0].astype("u2") * 251 + p[..., 1]))
        save(f"dark-16-bits-{ending}", ending, lambda p: Image.fromarray(p[..., 0].astype("u2")))
    # Where the two differ, it is by one level.
    save("colour-16-bits", "png", lambda p: png(p[..., :3].astype("u2") * 251 + p[..., 3:], 2), tolerance=1)
