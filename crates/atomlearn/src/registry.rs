//! All methods, one row each: feeds command line, Python, documentation, tuning and the conformance tests.

pub use crate::method::{Method, chosen};
pub use crate::params::{Preset, Values};
use crate::{Error, NameKind, Result, methods};

/// Every method, in the order in which tables list them.
pub static METHODS: &[Method] = &[
    Method::of::<methods::auto::Auto>().in_partitions::<methods::auto::Auto>(),
    Method::of::<methods::lcdl_sv::LcdlSv>().in_partitions::<methods::lcdl_sv::LcdlSv>(),
    Method::of::<methods::svgdl::Svgdl>().in_partitions::<methods::svgdl::Svgdl>(),
    Method::of::<methods::lcle_dl::LcleDl>(),
    Method::of::<methods::ledl::Ledl>(),
    Method::of::<methods::src::Src>(),
    Method::of::<methods::crc::Crc>().in_partitions::<methods::crc::Crc>(),
    Method::of::<methods::procrc::ProCrc>(),
    Method::of::<methods::lrc::Lrc>().in_partitions::<methods::lrc::Lrc>(),
    Method::of::<methods::ksvd::Ksvd>(),
    Method::of::<methods::ksvd::dksvd::DKsvd>(),
    Method::of::<methods::ksvd::lcksvd::LcKsvd1>(),
    Method::of::<methods::ksvd::lcksvd::LcKsvd2>(),
    Method::of::<methods::odl::Odl>().in_batches::<methods::odl::Odl>(),
    Method::of::<methods::fddl::Fddl>(),
    Method::of::<methods::dlsi::Dlsi>(),
    Method::of::<methods::copar::Copar>(),
    Method::of::<methods::lrsdl::Lrsdl>(),
    Method::of::<methods::mfl::Mfl>(),
    Method::of::<methods::cadl::Cadl>().in_partitions::<methods::cadl::Cadl>(),
    Method::of::<methods::sadl::Sadl>().in_partitions::<methods::sadl::Sadl>(),
    Method::of::<methods::dpl::Dpl>(),
    Method::of::<methods::dpl_sv::DplSv>(),
    Method::of::<methods::dadl::Dadl>(),
    Method::of::<methods::lctl::Lctl>(),
    Method::of::<methods::analysis_ksvd::AnalysisKsvd>(),
    Method::of::<methods::ridge::Ridge>().in_partitions::<methods::ridge::Ridge>().with_sums::<methods::ridge::Ridge>(),
    Method::of::<methods::linear_svm::LinearSvm>().in_partitions::<methods::linear_svm::LinearSvm>(),
    Method::of::<methods::rbf_svm::RbfSvm>(),
    Method::of::<methods::lda::Lda>().with_sums::<methods::lda::Lda>(),
    Method::of::<methods::knn::Knn>(),
];

/// The method of this name.
///
/// ```
/// use atomlearn::{registry, synth};
///
/// let method = registry::method("lcdl-sv")?;
/// let mut values = method.preset("authors-code")?;
/// values.insert("max_iter".into(), 5.into());
/// let model = method.fit(&values, &synth::blobs(3, 12, 8, 1), &mut ())?;
/// assert_eq!(model.classes().len(), 3);
/// let error = registry::method("lcdlsv").err().map(|error| error.to_string());
/// assert_eq!(error.as_deref(), Some("unknown method `lcdlsv` (did you mean `lcdl-sv`?)"));
/// # Ok::<(), atomlearn::Error>(())
/// ```
pub fn method(key: &str) -> Result<&'static Method> {
    METHODS
        .iter()
        .find(|method| method.key == key)
        .ok_or_else(|| Error::unknown(NameKind::Method, key, METHODS.iter().map(|method| method.key)))
}
