//! Copies of training images that show the same thing a little differently.

use crate::frame::Crop;
use atomlearn::io::pictures::Picture;
use atomlearn::{Error, Result};
use serde::{Deserialize, Serialize};

/// Shifted copies are narrower and lower by this share.
const SHIFT: usize = 16;

/// Which copies of training images are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Augment {
    /// The mirror image, left and right exchanged.
    pub flip: bool,
    /// Four images moved by a sixteenth: cut at the corners, so that no pixel is invented.
    pub shift: bool,
}

impl std::str::FromStr for Augment {
    type Err = Error;

    /// A comma list of `flip` and `shift`.
    fn from_str(text: &str) -> Result<Self> {
        let mut augment = Augment::default();
        for word in text.split(',').map(str::trim) {
            match word {
                "flip" => augment.flip = true,
                "shift" => augment.shift = true,
                other => return Err(Error::param("augment", other, "must be a comma list of flip and shift")),
            }
        }
        Ok(augment)
    }
}

impl Augment {
    /// True if nothing is added.
    pub fn is_none(self) -> bool {
        self == Augment::default()
    }

    /// Number of copies of every training image.
    pub fn n_copies(self) -> usize {
        usize::from(self.flip) + 4 * usize::from(self.shift)
    }

    /// The copies of a picture.
    pub(crate) fn copies(self, picture: &Picture) -> Result<Vec<Picture>> {
        let mut copies = Vec::with_capacity(self.n_copies());
        if self.flip {
            copies.push(mirrored(picture));
        }
        if self.shift {
            let (across, down) = (picture.width / SHIFT, picture.height / SHIFT);
            for (left, top) in [(0, 0), (across, 0), (0, down), (across, down)] {
                let crop = Crop { left, top, width: picture.width - across, height: picture.height - down };
                copies.push(crop.cut(picture)?);
            }
        }
        Ok(copies)
    }
}

fn mirrored(picture: &Picture) -> Picture {
    let row_length = picture.width * picture.channels;
    let row = |row: &[u8]| row.chunks_exact(picture.channels).rev().flatten().copied().collect::<Vec<u8>>();
    Picture { pixels: picture.pixels.chunks_exact(row_length).flat_map(row).collect(), ..*picture }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_mirror_images_and_corners() {
        let picture = Picture { width: 2, height: 1, channels: 3, pixels: vec![1, 2, 3, 4, 5, 6] };
        assert_eq!(mirrored(&picture).pixels, [4, 5, 6, 1, 2, 3]);
        assert_eq!(mirrored(&mirrored(&picture)), picture);
        let wide = Picture { width: 32, height: 16, channels: 1, pixels: (0..=255).chain(0..=255).collect() };
        let both: Augment = "shift,flip".parse().unwrap();
        let copies = both.copies(&wide).unwrap();
        assert_eq!(copies.len(), both.n_copies());
        assert!(copies[1..].iter().all(|copy| (copy.width, copy.height) == (30, 15)));
        assert_eq!((copies[1].pixels[0], copies[4].pixels[0]), (wide.pixels[0], wide.pixels[32 + 2]));
        assert!("flip,turn".parse::<Augment>().unwrap_err().to_string().contains("turn"));
    }
}
