//! The methods, one file each.

pub mod crc;
pub mod dksvd;
pub mod ksvd;
mod label_ksvd;
pub mod lcdl_sv;
pub mod lcksvd;
pub mod linear_svm;
pub mod ridge;
pub mod sparse_linear;
pub mod svgdl;
