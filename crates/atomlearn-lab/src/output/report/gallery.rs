//! The atoms of a method, class by class, as pictures or lines.

use super::axes::tenth;
use super::short_percent;
use crate::records::diagnostics::{Atom, AtomKind, Atoms, ClassAtoms, DEAD_BELOW};
use crate::records::record::Record;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

/// The atoms of one method.
#[derive(Serialize)]
pub struct Gallery {
    method: String,
    note: String,
    /// Small pictures are shown with sharp pixels.
    sharp: bool,
    groups: Vec<AtomsOfClass>,
}

#[derive(Serialize)]
struct AtomsOfClass {
    class: String,
    note: String,
    atoms: Vec<Drawn>,
}

#[derive(Serialize)]
struct Drawn {
    /// A data URI; empty where the atom is a line.
    picture: String,
    /// Points of the line in a box of 100 x 50.
    line: String,
    usage: String,
    /// Use against that of the most used atom shown, in per cent.
    bar: f64,
    dead: bool,
}

/// The gallery of a run that was looked into, if its method learns atoms.
pub fn gallery(record: &Record) -> Option<Gallery> {
    let atoms = record.inside.as_ref()?.atoms.as_ref()?;
    let most = atoms.classes.iter().flat_map(|group| &group.atoms).map(|atom| atom.usage).fold(0.0, f64::max);
    let group = |group: &ClassAtoms| {
        let drawn = |atom: &Atom| draw(atom, atoms, most);
        Some(AtomsOfClass {
            class: record.classes.get(group.class)?.clone(),
            note: group_note(group),
            atoms: group.atoms.iter().filter_map(drawn).collect(),
        })
    };
    Some(Gallery {
        method: record.name(),
        note: note(atoms, record.classes.len()),
        sharp: atoms.picture.is_some_and(|sides| sides.iter().all(|&side| side <= 20)),
        groups: atoms.classes.iter().filter_map(group).collect(),
    })
}

fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

fn note(atoms: &Atoms, n_classes: usize) -> String {
    let kind = match atoms.kind {
        AtomKind::Dictionary => "from which samples are built",
        AtomKind::Analysis => "with which samples are compared",
    };
    let mut note = format!("{} {kind}", count(atoms.total, "atom"));
    note += &match atoms.dead {
        0 => ", none dead".to_string(),
        dead => format!(", {dead} dead"),
    };
    if atoms.classes.len() < n_classes {
        note += &format!("; the first {} of {n_classes} classes are shown", atoms.classes.len());
    }
    if atoms.shared {
        note += "; they belong to no class, so each stands with the class that uses it most";
    }
    if !atoms.raw {
        note += "; shown as they are after preprocessing, which has no way back to the raw features";
    }
    note + "."
}

fn group_note(group: &ClassAtoms) -> String {
    let mut note = count(group.total, "atom");
    if group.atoms.len() < group.total {
        note += &format!(", {} shown", group.atoms.len());
    }
    if group.dead > 0 {
        note += &format!(", {} dead", group.dead);
    }
    note
}

fn draw(atom: &Atom, atoms: &Atoms, most: f64) -> Option<Drawn> {
    let bytes = atom.decode()?;
    let (picture, line) = match atoms.picture {
        Some([rows, cols]) => (data_uri(&bytes, rows, cols)?, String::new()),
        None => (String::new(), points(&bytes)),
    };
    Some(Drawn {
        picture,
        line,
        usage: short_percent(atom.usage),
        bar: if most > 0.0 { tenth(100.0 * atom.usage / most) } else { 0.0 },
        dead: atom.usage < DEAD_BELOW / atoms.total.max(1) as f64,
    })
}

/// A grey PNG as a data URI.
fn data_uri(pixels: &[u8], rows: usize, cols: usize) -> Option<String> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, u32::try_from(cols).ok()?, u32::try_from(rows).ok()?);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    encoder.write_header().ok()?.write_image_data(pixels).ok()?;
    Some(format!("data:image/png;base64,{}", STANDARD.encode(file)))
}

fn points(bytes: &[u8]) -> String {
    let last = bytes.len().saturating_sub(1).max(1) as f64;
    let point = |(i, byte): (usize, &u8)| {
        format!("{},{}", tenth(100.0 * i as f64 / last), tenth(25.0 - 24.0 * (f64::from(*byte) - 128.0) / 127.0))
    };
    bytes.iter().enumerate().map(point).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_survives_as_png_and_a_line_keeps_its_zero() {
        let pixels: Vec<u8> = (0..6).map(|i| 40 * i).collect();
        let uri = data_uri(&pixels, 2, 3).unwrap();
        let file = STANDARD.decode(uri.strip_prefix("data:image/png;base64,").unwrap()).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut back = vec![0; 6];
        let info = reader.next_frame(&mut back).unwrap();
        assert_eq!((info.width, info.height, back), (3, 2, pixels));
        assert!(data_uri(&[0; 5], 2, 3).is_none());
        assert_eq!(points(&[128, 255, 1]), "0,25 50,1 100,49");
    }
}
