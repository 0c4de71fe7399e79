//! Pictures and networks made by hand.
#![allow(dead_code)]

use atomlearn::io::pictures::{ImageFile, Picture, list_classes};
use std::path::{Path, PathBuf};

/// Smooth colours by whole-number arithmetic, so that any language makes the same picture.
pub fn pattern(width: usize, height: usize, shift: usize) -> Picture {
    let value = |r: usize, c: usize, k: usize| (((r * r + 2 * c * c) / (50 + 20 * k) + r * c / 40 + shift) % 256) as u8;
    let pixels = (0..height).flat_map(|r| (0..width).flat_map(move |c| (0..3).map(move |k| value(r, c, k)))).collect();
    Picture { width, height, channels: 3, pixels }
}

/// Stripes of a class's own direction.
pub fn stripes(class: usize, index: usize) -> Picture {
    let (width, height) = (72 + 8 * (index % 3), 64 + 4 * (index % 2));
    let value = |r: usize, c: usize| match class {
        0 => (r + index) * 20 % 256,
        1 => (c + 2 * index) * 20 % 256,
        _ => (r + c + index) * 13 % 256,
    };
    let noise = |r: usize, c: usize| (r * 31 + c * 17 + index * 7) % 23;
    let pixels = (0..height).flat_map(|r| (0..width).map(move |c| (value(r, c) + noise(r, c)).min(255) as u8));
    Picture { width, height, channels: 1, pixels: pixels.collect() }
}

/// A folder of three classes with images of several sizes.
pub fn folder(per_class: usize) -> (tempfile::TempDir, Vec<ImageFile>) {
    let folder = tempfile::tempdir().unwrap();
    for class in 0..3 {
        let path = folder.path().join(format!("class{class}"));
        std::fs::create_dir(&path).unwrap();
        for index in 0..per_class {
            let file = path.join(format!("{index:02}.png"));
            std::fs::write(file, stripes(class, index).to_png().unwrap()).unwrap();
        }
    }
    let images = list_classes(folder.path()).unwrap().images;
    (folder, images)
}

/// A PNG file of these chunks.
pub fn png(chunks: &[(&[u8; 4], Vec<u8>)]) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in chunks {
        file.extend((data.len() as u32).to_be_bytes());
        let body: Vec<u8> = kind.iter().chain(data).copied().collect();
        file.extend(&body);
        file.extend(crc(&body).to_be_bytes());
    }
    file
}

/// The head of a PNG file: sizes, 8 bits, colour kind.
pub fn png_head(width: u32, height: u32, color: u8) -> Vec<u8> {
    let mut head = [width.to_be_bytes(), height.to_be_bytes()].concat();
    head.extend([8, color, 0, 0, 0]);
    head
}

fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _: usize| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0u32, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

/// One field of a protocol buffer.
pub enum Field<'a> {
    Int(u64, u64),
    Bytes(u64, &'a [u8]),
}

/// A message of a protocol buffer.
pub fn message(fields: &[Field<'_>]) -> Vec<u8> {
    fn varint(out: &mut Vec<u8>, mut value: u64) {
        while value >= 128 {
            out.push(value as u8 & 127 | 128);
            value >>= 7;
        }
        out.push(value as u8);
    }
    let mut out = Vec::new();
    for field in fields {
        match field {
            Field::Int(tag, value) => {
                varint(&mut out, tag << 3);
                varint(&mut out, *value);
            }
            Field::Bytes(tag, bytes) => {
                varint(&mut out, tag << 3 | 2);
                varint(&mut out, bytes.len() as u64);
                out.extend(*bytes);
            }
        }
    }
    out
}

/// Weight of feature `i` on output `j` of [`tiny_network`].
pub fn weight(i: usize, j: usize) -> f32 {
    ((i * 7 + j * 3) % 11) as f32 / 11.0 - 0.5
}

/// A network of standard operators: input `[N, 3, 4, 4]`, `flat = Flatten(input)`, `fc6 = MatMul(flat, w)` of 5 values,
/// `out = Relu(fc6)`. Shapes of all tensors are noted with the symbol N, as exporters do.
pub fn tiny_network() -> Vec<u8> {
    use Field::{Bytes, Int};
    let shape = |sides: &[Option<u64>]| {
        let dim = |side: &Option<u64>| match side {
            Some(side) => message(&[Int(1, *side)]),
            None => message(&[Bytes(2, b"N")]),
        };
        let dims: Vec<Vec<u8>> = sides.iter().map(dim).collect();
        message(&dims.iter().map(|dim| Bytes(1, dim)).collect::<Vec<_>>())
    };
    let value_info = |name: &str, sides: &[Option<u64>]| {
        let tensor = message(&[Int(1, 1), Bytes(2, &shape(sides))]);
        let kind = message(&[Bytes(1, &tensor)]);
        message(&[Bytes(1, name.as_bytes()), Bytes(2, &kind)])
    };
    let node = |inputs: &[&str], output: &str, op: &str| {
        let mut fields: Vec<Field<'_>> = inputs.iter().map(|input| Bytes(1, input.as_bytes())).collect();
        let name = format!("node_{output}");
        fields.extend([Bytes(2, output.as_bytes()), Bytes(3, name.as_bytes()), Bytes(4, op.as_bytes())]);
        message(&fields)
    };
    let raw: Vec<u8> = (0..48 * 5).flat_map(|k| weight(k / 5, k % 5).to_le_bytes()).collect();
    let weights = message(&[Int(1, 48), Int(1, 5), Int(2, 1), Bytes(8, b"w"), Bytes(9, &raw)]);
    let graph = message(&[
        Bytes(1, &node(&["input"], "flat", "Flatten")),
        Bytes(1, &node(&["flat", "w"], "fc6", "MatMul")),
        Bytes(1, &node(&["fc6"], "out", "Relu")),
        Bytes(2, b"tiny"),
        Bytes(5, &weights),
        Bytes(11, &value_info("input", &[None, Some(3), Some(4), Some(4)])),
        Bytes(12, &value_info("out", &[None, Some(5)])),
        Bytes(13, &value_info("fc6", &[None, Some(5)])),
    ]);
    let opset = message(&[Bytes(1, b""), Int(2, 13)]);
    message(&[Int(1, 8), Bytes(7, &graph), Bytes(8, &opset)])
}

/// A file of the folder of real data, or `None` (and a word about it) where there is none.
pub fn real(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("ATOMLEARN_DATA").map(|folder| Path::new(&folder).join(name));
    let found = path.filter(|path| path.exists());
    if found.is_none() {
        println!("skipped: no real data");
    }
    found
}
