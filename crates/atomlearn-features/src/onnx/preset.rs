//! From a picture to the numbers a network was trained on.

use super::OnnxSpec;
use super::network::Input;
use crate::frame::Crop;
use crate::resize::resize;
use atomlearn::Result;
use atomlearn::io::pictures::Picture;
use serde::{Deserialize, Serialize};

/// What is done to pixel values from 0 to 255.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// Red, green, blue; divided by 255, less (0.485, 0.456, 0.406), divided by (0.229, 0.224, 0.225).
    #[default]
    Imagenet,
    /// Blue, green, red; less (103.939, 116.779, 123.68), as the VGG networks of Caffe.
    Caffe,
    /// Red, green, blue; (x - 127) / 128.
    EfficientnetLite,
    /// Red, green, blue as they are.
    None,
}

impl Preset {
    /// What it is called on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Imagenet => "imagenet",
            Preset::Caffe => "caffe",
            Preset::EfficientnetLite => "efficientnet-lite",
            Preset::None => "none",
        }
    }

    /// Mean and deviation of every channel of the network's input, in values from 0 to 255.
    #[cfg(feature = "networks")]
    pub(crate) fn moments(self) -> ([f32; 3], [f32; 3]) {
        match self {
            Preset::Imagenet => ([0.485, 0.456, 0.406].map(|v| v * 255.0), [0.229, 0.224, 0.225].map(|v| v * 255.0)),
            Preset::Caffe => ([103.939, 116.779, 123.68], [1.0; 3]),
            Preset::EfficientnetLite => ([127.0; 3], [128.0; 3]),
            Preset::None => ([0.0; 3], [1.0; 3]),
        }
    }

    /// The value of channel `channel` of the network's input, from the pixel's red, green and blue.
    fn value(self, rgb: &[u8], channel: usize) -> f32 {
        const MEAN: [f32; 3] = [0.485, 0.456, 0.406];
        const DEVIATION: [f32; 3] = [0.229, 0.224, 0.225];
        const BGR_MEAN: [f32; 3] = [103.939, 116.779, 123.68];
        match self {
            Preset::Imagenet => (f32::from(rgb[channel]) / 255.0 - MEAN[channel]) / DEVIATION[channel],
            Preset::Caffe => f32::from(rgb[2 - channel]) - BGR_MEAN[channel],
            Preset::EfficientnetLite => (f32::from(rgb[channel]) - 127.0) / 128.0,
            Preset::None => f32::from(rgb[channel]),
        }
    }
}

/// Networks see the middle of an image whose shorter side was this much larger: 256 for 224.
const MARGIN: (usize, usize) = (256, 224);

/// The picture as the network's input, in its order of axes.
pub(super) fn prepare(spec: &OnnxSpec, input: &Input, picture: &Picture) -> Result<Vec<f32>> {
    let part = spec.crop.map(|crop| crop.cut(picture)).transpose()?;
    let framed = frame(part.as_ref().unwrap_or(picture), input.rows, input.cols, spec.stretch)?;
    // A network with one channel gets grey, which all channels of a grey picture in colour are.
    let rgb = if input.channels == 1 { framed.grey().color() } else { framed.color() };
    let pixels = rgb.pixels.chunks_exact(3);
    Ok(if input.channels_last {
        pixels.flat_map(|rgb| (0..input.channels).map(|c| spec.preset.value(rgb, c))).collect()
    } else {
        (0..input.channels).flat_map(|c| pixels.clone().map(move |rgb| spec.preset.value(rgb, c))).collect()
    })
}

fn frame(picture: &Picture, rows: usize, cols: usize, stretch: bool) -> Result<Picture> {
    if stretch || (picture.height, picture.width) == (rows, cols) {
        return Ok(resize(picture, cols, rows));
    }
    let shorter = rows.max(cols) * MARGIN.0 / MARGIN.1;
    let scale = |length: usize| length * shorter / picture.width.min(picture.height);
    let (width, height) = (scale(picture.width).max(cols), scale(picture.height).max(rows));
    // Halves are rounded to even, as in the usual training code.
    let middle = |length: usize, part: usize| ((length - part) as f64 / 2.0).round_ties_even() as usize;
    let crop = Crop { left: middle(width, cols), top: middle(height, rows), width: cols, height: rows };
    crop.cut(&resize(picture, width, height))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_equal_their_definitions() {
        let rgb = [10, 127, 255];
        assert_eq!(Preset::None.value(&rgb, 2), 255.0);
        assert_eq!(Preset::EfficientnetLite.value(&rgb, 1), 0.0);
        assert!((Preset::Caffe.value(&rgb, 0) - (255.0 - 103.939)).abs() < 1e-4);
        for preset in [Preset::None, Preset::EfficientnetLite, Preset::Caffe, Preset::Imagenet] {
            let (means, deviations) = preset.moments();
            for channel in 0..3 {
                let raw = f32::from(rgb[if preset == Preset::Caffe { 2 - channel } else { channel }]);
                let exact = (raw - means[channel]) / deviations[channel];
                assert!((preset.value(&rgb, channel) - exact).abs() < 1e-4, "{preset:?}");
            }
        }
        assert!((Preset::Imagenet.value(&rgb, 0) - (10.0 / 255.0 - 0.485) / 0.229).abs() < 1e-6);
    }

    #[test]
    fn axes_are_in_the_networks_order() {
        let picture = Picture { width: 2, height: 1, channels: 3, pixels: vec![1, 2, 3, 4, 5, 6] };
        let spec = OnnxSpec { preset: Preset::None, ..OnnxSpec::default() };
        let input = Input { rows: 1, cols: 2, channels: 3, channels_last: false };
        assert_eq!(prepare(&spec, &input, &picture).unwrap(), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        let last = Input { channels_last: true, ..input };
        assert_eq!(prepare(&spec, &last, &picture).unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn the_middle_is_cut_out_of_the_enlarged_image() {
        let picture = Picture { width: 600, height: 300, channels: 1, pixels: vec![9; 600 * 300] };
        let framed = frame(&picture, 224, 224, false).unwrap();
        assert_eq!((framed.width, framed.height), (224, 224));
    }
}
