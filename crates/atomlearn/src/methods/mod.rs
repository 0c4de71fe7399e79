//! The methods, one file each.

pub mod crc;
pub mod linear_svm;
pub mod ridge;
pub mod svgdl;
