//! The methods, one file each.

pub mod cadl;
pub mod crc;
pub mod dadl;
pub mod dpl;
pub mod fddl;
pub mod lcdl_sv;
pub mod linear_svm;
pub mod ridge;
pub mod sadl;
pub mod src;
