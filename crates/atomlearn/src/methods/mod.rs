//! The methods, one file each.

pub mod cadl;
pub mod crc;
pub mod lcdl_sv;
pub mod dadl;
pub mod dpl;
pub mod linear_svm;
pub mod ridge;
pub mod sadl;
