//! The methods: one file each, with a folder where steps have files of their own. `class_dictionary`, `linear_codes` and
//! `sparse_linear` are models that several of them learn.

pub mod analysis_ksvd;
pub mod auto;
pub mod cadl;
mod class_dictionary;
pub mod copar;
pub mod crc;
pub mod dadl;
pub mod dlsi;
pub mod dpl;
pub mod dpl_sv;
pub mod fddl;
pub mod knn;
pub mod ksvd;
pub mod lcdl_sv;
pub mod lcle_dl;
pub mod lctl;
pub mod lda;
pub mod ledl;
pub mod linear_codes;
pub mod linear_svm;
pub mod lrc;
pub mod lrsdl;
pub mod mfl;
pub mod odl;
pub mod procrc;
pub mod rbf_svm;
pub mod ridge;
pub mod sadl;
pub mod sparse_linear;
pub mod src;
pub mod svgdl;
