//! Image files: finding them in a folder, and decoding one with bounded memory.

use super::DAMAGED;
use super::limits::{self, check_growth};
pub use super::listing::{ImageFile, LeftOut, Listing, Unreadable, is_image, is_image_name, list_any, list_classes};
use crate::guard::guarded;
use crate::{Error, Result};
use image::{ColorType, DynamicImage, ImageBuffer, ImageDecoder, ImageFormat, ImageReader, Limits, Luma, Rgb};
use libjpeg_turbo_rs::{PixelFormat, decompress_to};
use std::path::Path;

/// No image for learning is wider or higher; the decoder must not believe a header that says so.
const MAX_SIDE: u32 = 1 << 15;
/// Nor has it more pixels: room for the cameras of most telephones, and 192 MiB in 8-bit colour.
const MAX_PIXELS: u64 = 1 << 26;
/// What red, green and blue count in grey, in parts of 65536: luma of ITU-R BT.601, rounded to the nearest as Pillow's
/// `convert("L")` does. The page of the server has the same numbers, so that training and serving see the same.
pub const GREY_WEIGHTS: [u32; 3] = [19595, 38470, 7471];
const MAX_DECODED: u64 = 1 << 28;
/// What a decoder may keep of a PNG beside its pixels: colour profiles and texts, which nobody asks for.
const MAX_EXTRAS: u64 = 1 << 26;
/// Progressive JPEGs repeat the whole image in every scan; writers make about ten.
const MAX_SCANS: usize = 100;

/// A decoded image, 8 bits a value, the right way up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Width in pixels, at least 1.
    pub width: usize,
    /// Height in pixels, at least 1.
    pub height: usize,
    /// 1 for grey, 3 for red, green and blue.
    pub channels: usize,
    /// Values row by row, the channels of a pixel side by side.
    pub pixels: Vec<u8>,
}

impl Picture {
    /// Reads an image file.
    pub fn open(path: &Path) -> Result<Self> {
        Self::decode(path, &limits::read_file(path)?)
    }

    /// Decodes the bytes of an image file; `name` is what messages call it.
    pub fn decode(name: &Path, bytes: &[u8]) -> Result<Self> {
        guarded(name, DAMAGED, || decode(name, bytes))
    }

    /// The picture in grey, by [`GREY_WEIGHTS`].
    pub fn grey(&self) -> Picture {
        if self.channels == 1 {
            return self.clone();
        }
        let pixels = self.pixels.as_chunks().0.iter().map(|&color| grey(color)).collect();
        Picture { channels: 1, pixels, ..*self }
    }

    /// The picture in colour; grey is repeated.
    pub fn color(&self) -> Picture {
        let pixels = match self.channels {
            1 => self.pixels.iter().flat_map(|&v| [v; 3]).collect(),
            _ => self.pixels.clone(),
        };
        Picture { channels: 3, pixels, ..*self }
    }

    /// The bytes of a PNG file.
    pub fn to_png(&self) -> Result<Vec<u8>> {
        self.encode(ImageFormat::Png)
    }

    /// The bytes of a JPEG file.
    pub fn to_jpeg(&self) -> Result<Vec<u8>> {
        self.encode(ImageFormat::Jpeg)
    }

    fn encode(&self, format: ImageFormat) -> Result<Vec<u8>> {
        let width = self.width as u32;
        let height = self.height as u32;
        let pixels = self.pixels.clone();
        let image = match self.channels {
            1 => ImageBuffer::<Luma<u8>, _>::from_raw(width, height, pixels).map(DynamicImage::ImageLuma8),
            _ => ImageBuffer::<Rgb<u8>, _>::from_raw(width, height, pixels).map(DynamicImage::ImageRgb8),
        };
        let image = image.ok_or_else(|| Error::Data("a picture's pixels do not fit its size".into()))?;
        let mut file = std::io::Cursor::new(Vec::new());
        let written = image.write_to(&mut file, format);
        written.map_err(|e| Error::Data(format!("a picture cannot be written: {e}")))?;
        Ok(file.into_inner())
    }
}

/// The grey of one colour.
fn grey(color: [u8; 3]) -> u8 {
    let weighted = color.iter().zip(GREY_WEIGHTS).map(|(&part, weight)| u32::from(part) * weight);
    // The weights add up to 65536, so that the sum fits into a byte.
    ((weighted.sum::<u32>() + (1 << 15)) >> 16) as u8
}

fn decode(name: &Path, bytes: &[u8]) -> Result<Picture> {
    // Decoders write over several lines.
    let bad = |why: String| {
        let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
        Error::format(name, format!("not a readable image ({why}); fix or remove it"))
    };
    if bytes.is_empty() {
        return Err(Error::format(name, "the file is empty; write it again"));
    }
    if let Some(kind) = undecodable(bytes) {
        let advice = match kind {
            "HEIC" => {
                "save it as JPEG or PNG (phones have a setting for it, iPhones: Settings > Camera > Formats > Most Compatible)"
            }
            "AVIF" => "save it as JPEG or PNG (a browser or a program for pictures opens it)",
            _ => "save it as PNG",
        };
        return Err(Error::format(name, format!("a picture in the format {kind}, which is not supported; {advice}")));
    }
    let mut reader = ImageReader::new(std::io::Cursor::new(bytes));
    // The content decides, since extensions of images are often wrong.
    reader = reader.with_guessed_format().map_err(|e| bad(e.to_string()))?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_SIDE);
    limits.max_image_height = Some(MAX_SIDE);
    limits.max_alloc = Some(if reader.format() == Some(ImageFormat::Png) { MAX_EXTRAS } else { MAX_DECODED });
    reader.limits(limits);
    let is_jpeg = reader.format() == Some(ImageFormat::Jpeg);
    if is_jpeg && bytes.windows(2).filter(|pair| *pair == [0xff, 0xda]).count() > MAX_SCANS {
        return Err(bad(format!("it has more than {MAX_SCANS} scans")));
    }
    if is_jpeg && is_cut_off(bytes) {
        return Err(bad("the file is cut off; copy it again".into()));
    }
    let mut decoder = reader.into_decoder().map_err(|e| bad(e.to_string()))?;
    let (width, height) = decoder.dimensions();
    if width == 0 || height == 0 {
        return Err(bad("it has no pixels".into()));
    }
    if u64::from(width) * u64::from(height) > MAX_PIXELS || decoder.total_bytes() > MAX_DECODED {
        let most = MAX_PIXELS / 1_000_000;
        let why = format!("the image is {width} x {height} pixels, {most} million at most are read; make it smaller");
        return Err(Error::format(name, why));
    }
    if matches!(decoder.color_type(), ColorType::Rgb32F | ColorType::Rgba32F) {
        let why = "an image of floating point numbers, whose white is not known; save it with 8 or 16 bits";
        return Err(Error::format(name, why));
    }
    let what = format!("the image of {width} x {height} pixels");
    check_growth(name, &what, decoder.total_bytes(), bytes.len())?;
    let orientation = decoder.orientation().map_err(|e| bad(e.to_string()))?;
    let exact = match decoder.color_type() {
        ColorType::L8 if is_jpeg => jpeg(bytes, PixelFormat::Grayscale),
        ColorType::Rgb8 if is_jpeg => jpeg(bytes, PixelFormat::Rgb),
        _ => None,
    };
    let mut image = match exact {
        Some(image) => image,
        None => DynamicImage::from_decoder(decoder).map_err(|e| bad(e.to_string()))?,
    };
    image.apply_orientation(orientation);
    let width = image.width() as usize;
    let height = image.height() as usize;
    let (channels, pixels) = match image.color().has_color() {
        true => (3, image.into_rgb8().into_raw()),
        false => (1, image.into_luma8().into_raw()),
    };
    Ok(Picture { width, height, channels, pixels })
}

/// Formats that are known but not read. Patents and C libraries stand between us and the HEIF family, which phones write; GIF is for
/// drawings and moving pictures.
fn undecodable(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        return Some("GIF");
    }
    let brand = bytes.get(4..12)?.strip_prefix(b"ftyp")?;
    // Behind the main brand come those that the file also keeps to.
    let also_avif = || bytes[12..bytes.len().min(64)].windows(4).any(|also| also == b"avif");
    match brand {
        b"avif" | b"avis" => Some("AVIF"),
        b"mif1" | b"msf1" if also_avif() => Some("AVIF"),
        b"heic" | b"heix" | b"hevc" | b"hevx" | b"heim" | b"heis" | b"mif1" | b"msf1" => Some("HEIC"),
        _ => None,
    }
}

/// A JPEG file whose last scan has no end: what is missing would be grey. Both markers stand for nothing else in a scan.
fn is_cut_off(jpeg: &[u8]) -> bool {
    let last = |marker: [u8; 2]| jpeg.windows(2).rposition(|pair| pair == marker);
    last([0xff, 0xda]) > last([0xff, 0xd9])
}

/// The name of the format that the first bytes of a file show, if it is one that is known.
pub fn format_name(bytes: &[u8]) -> Option<&'static str> {
    Some(match image::guess_format(bytes) {
        Ok(ImageFormat::Png) => "PNG",
        Ok(ImageFormat::Jpeg) => "JPEG",
        Ok(ImageFormat::WebP) => "WebP",
        Ok(ImageFormat::Pnm) => "PNM",
        Ok(ImageFormat::Tiff) => "TIFF",
        Ok(ImageFormat::Bmp) => "BMP",
        _ => return undecodable(bytes),
    })
}

/// Decoders of JPEG differ by a grey level here and there, which networks magnify. This one agrees with libjpeg-turbo to the
/// bit, and so with most of the software that features are compared with. `None` for the kinds it does not know, such as CMYK.
fn jpeg(bytes: &[u8], format: PixelFormat) -> Option<DynamicImage> {
    let found = decompress_to(bytes, format).ok()?;
    let width = found.width as u32;
    let height = found.height as u32;
    match format {
        PixelFormat::Grayscale => ImageBuffer::from_raw(width, height, found.data).map(DynamicImage::ImageLuma8),
        _ => ImageBuffer::from_raw(width, height, found.data).map(DynamicImage::ImageRgb8),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn photos_of_phones_that_cannot_be_read_are_named() {
        let heic = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic";
        let said = Picture::decode(Path::new("p.heic"), heic).unwrap_err().to_string();
        assert!(said.contains("HEIC") && said.contains("JPEG"), "{said}");
        assert!(said.contains("iPhones"), "{said}");
        assert_eq!(format_name(heic), Some("HEIC"));
        for avif in [b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf", b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiaf"] {
            let said = Picture::decode(Path::new("p.avif"), avif).unwrap_err().to_string();
            assert!(said.contains("AVIF") && !said.contains("iPhone"), "{said}");
        }
        let said = Picture::decode(Path::new("p.gif"), b"GIF89a\x01\0").unwrap_err().to_string();
        assert!(said.contains("GIF, which is not supported; save it as PNG"), "{said}");
        // One line, whatever the decoder writes.
        let said = Picture::decode(Path::new("p.jpg"), b"\xff\xd8\xff\xe0hello").unwrap_err().to_string();
        assert!(said.contains("not a readable image") && !said.contains('\n'), "{said}");
        let said = Picture::decode(Path::new("p.jpg"), b"").unwrap_err().to_string();
        assert!(said.contains("the file is empty"), "{said}");
        assert_eq!(format_name(b"P5\n1 1\n255\n "), Some("PNM"));
        assert_eq!(format_name(b"hello"), None);
    }

    #[test]
    fn a_photo_that_is_cut_off_is_broken_whatever_could_be_read_of_it() {
        let pixels = (0..64 * 48).map(|k| (k * k % 251) as u8).collect();
        let whole = Picture { width: 64, height: 48, channels: 1, pixels }.to_jpeg().unwrap();
        assert!(Picture::decode(Path::new("p.jpg"), &[&whole[..], b"more"].concat()).is_ok());
        for part in [whole.len() - 2, whole.len() / 2 + 200] {
            let said = Picture::decode(Path::new("p.jpg"), &whole[..part]).unwrap_err().to_string();
            assert!(said.contains("not a readable image") && said.contains("cut off"), "{said}");
        }
    }

    #[test]
    fn webp_is_read() {
        let pixels: Vec<u8> = (0..48).map(|v| v * 5).collect();
        let image = ImageBuffer::<Rgb<u8>, _>::from_raw(4, 4, pixels.clone()).map(DynamicImage::ImageRgb8).unwrap();
        let mut file = std::io::Cursor::new(Vec::new());
        image.write_to(&mut file, ImageFormat::WebP).unwrap();
        let read = Picture::decode(Path::new("p.webp"), &file.into_inner()).unwrap();
        assert_eq!((read.width, read.channels, read.pixels), (4, 3, pixels), "without loss");
    }

    #[test]
    fn grey_is_that_of_bt_601() {
        assert_eq!(GREY_WEIGHTS.iter().sum::<u32>(), 1 << 16);
        assert!((0..=255).all(|v| grey([v; 3]) == v), "grey stays grey");
        // Pillow 13: Image.new("RGB", (1, 1), colour).convert("L").
        let pillow = [([255, 0, 0], 76), ([0, 255, 0], 150), ([0, 0, 255], 29), ([1, 2, 3], 2), ([200, 100, 50], 124)];
        assert_eq!(pillow.map(|(color, _)| grey(color)), pillow.map(|(_, grey)| grey));
    }
}
