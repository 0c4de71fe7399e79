//! Cutting and scaling pictures to one size.

use crate::resize::resize;
use atomlearn::io::pictures::Picture;
use atomlearn::{Error, Result};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// The part of every image that is used, in pixels from the upper left corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Crop {
    /// Left edge.
    pub left: usize,
    /// Upper edge.
    pub top: usize,
    /// Width.
    pub width: usize,
    /// Height.
    pub height: usize,
}

impl FromStr for Crop {
    type Err = String;

    /// `WIDTHxHEIGHT+LEFT+TOP`.
    fn from_str(text: &str) -> Result<Self, String> {
        let fields: Option<Vec<usize>> = text.split(['x', '+']).map(|field| field.parse().ok()).collect();
        match fields.as_deref() {
            Some(&[width, height, left, top]) if width > 0 && height > 0 => Ok(Crop { left, top, width, height }),
            _ => Err("write WIDTHxHEIGHT+LEFT+TOP in pixels, as in 120x160+20+10".into()),
        }
    }
}

impl Crop {
    /// Cuts the part out; it must lie within the picture.
    pub fn cut(&self, picture: &Picture) -> Result<Picture> {
        let (right, bottom) = (self.left.saturating_add(self.width), self.top.saturating_add(self.height));
        if right > picture.width || bottom > picture.height {
            return Err(Error::Data(format!(
                "the crop ends at {right} x {bottom}, the image is {} x {} pixels (width x height)",
                picture.width, picture.height
            )));
        }
        let channels = picture.channels;
        let rows = picture.pixels.chunks_exact(picture.width * channels).skip(self.top).take(self.height);
        let pixels = rows.flat_map(|row| &row[self.left * channels..right * channels]).copied().collect();
        Ok(Picture { width: self.width, height: self.height, channels, pixels })
    }
}

/// What to do with images of another shape.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// Squeeze or stretch.
    #[default]
    Stretch,
    /// Keep the proportions, fill the frame and cut what stands out, equally on both sides.
    Cover,
}

/// One size for all images.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frame {
    /// Height.
    pub rows: usize,
    /// Width.
    pub cols: usize,
    /// How images of another shape are made to fit.
    pub fit: Fit,
}

impl Frame {
    /// The picture in this size.
    pub fn apply(&self, picture: &Picture) -> Result<Picture> {
        match self.fit {
            Fit::Stretch => Ok(resize(picture, self.cols, self.rows)),
            Fit::Cover => {
                let scale = (self.cols as f64 / picture.width as f64).max(self.rows as f64 / picture.height as f64);
                let side = |length: usize, least: usize| ((length as f64 * scale).round() as usize).max(least);
                let (width, height) = (side(picture.width, self.cols), side(picture.height, self.rows));
                let (left, top) = ((width - self.cols) / 2, (height - self.rows) / 2);
                let middle = Crop { left, top, width: self.cols, height: self.rows };
                middle.cut(&resize(picture, width, height))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crops_are_what_they_say_and_stay_inside() {
        let picture = Picture { width: 4, height: 3, channels: 1, pixels: (0..12).collect() };
        let crop: Crop = "2x2+1+1".parse().unwrap();
        assert_eq!(crop.cut(&picture).unwrap().pixels, [5, 6, 9, 10]);
        let outside: Crop = "4x2+1+1".parse().unwrap();
        assert!(outside.cut(&picture).unwrap_err().to_string().contains("4 x 3"));
        for bad in ["", "2x2", "0x2+1+1", "2x2+1", "2x2+1+1+1", "ax2+1+1"] {
            assert!(bad.parse::<Crop>().is_err(), "{bad}");
        }
        let cover = Frame { rows: 3, cols: 3, fit: Fit::Cover };
        assert_eq!(
            cover.apply(&Picture { width: 5, height: 3, channels: 1, pixels: (0..15).collect() }).unwrap().pixels,
            [1, 2, 3, 6, 7, 8, 11, 12, 13]
        );
    }
}
