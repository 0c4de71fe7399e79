//! The methods, one file each.

pub mod crc;
pub mod lcdl_sv;
pub mod linear_svm;
pub mod ridge;
