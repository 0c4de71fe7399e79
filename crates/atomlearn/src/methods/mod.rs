//! The methods, one file each.

pub mod crc;
pub mod fddl;
pub mod linear_svm;
pub mod ridge;
pub mod src;
