//! The methods, one file each.

pub mod auto;
pub mod cadl;
pub mod crc;
pub mod dadl;
pub mod dksvd;
pub mod dpl;
pub mod fddl;
pub mod knn;
pub mod ksvd;
mod label_ksvd;
pub mod lcdl_sv;
pub mod lcksvd;
pub mod lda;
pub mod linear_svm;
pub mod lrc;
pub mod odl;
pub mod procrc;
pub mod rbf_svm;
pub mod ridge;
pub mod sadl;
pub mod sparse_linear;
pub mod src;
pub mod svgdl;
