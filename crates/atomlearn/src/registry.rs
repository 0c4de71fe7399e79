//! All methods, one row each: feeds command line, Python, documentation, tuning and the conformance tests.

pub use crate::method::{Method, Preset, chosen};
pub use crate::params::Values;
use crate::{Error, Result, methods};

const CADL_PRESETS: &[Preset] = &[
    Preset { name: "default", doc: "The defaults: the published AR demo", values: "{}" },
    Preset {
        name: "ar",
        doc: "AR, as printed in the paper",
        values: r#"{"lambda1": 4e-3, "lambda2": 4e-4, "lambda3": 4e-4}"#,
    },
    Preset {
        name: "scene15",
        doc: "Scene15, as printed in the paper",
        values: r#"{"lambda1": 1e-4, "lambda2": 1e-2, "lambda3": 1e-4}"#,
    },
    Preset {
        name: "caltech101",
        doc: "Caltech101, as printed in the paper",
        values: r#"{"lambda1": 5e-4, "lambda2": 5e-4, "lambda3": 5e-3}"#,
    },
    Preset {
        name: "ucf50",
        doc: "UCF50, as printed in the paper",
        values: r#"{"lambda1": 1e-2, "lambda2": 3e-5, "lambda3": 1e-3}"#,
    },
];

const DPL_PRESETS: &[Preset] = &[
    Preset { name: "eyaleb", doc: "Extended Yale B, as printed in the paper; the defaults", values: "{}" },
    Preset { name: "ar", doc: "AR, as printed in the paper", values: r#"{"lambda": 5e-3}"# },
    Preset { name: "caltech101", doc: "Caltech101, as printed in the paper", values: r#"{"lambda": 1e-4}"# },
    Preset {
        name: "ucf50",
        doc: "UCF50, as printed in the paper",
        values: r#"{"lambda": 1e-2, "tau": 1e-2, "atoms_per_class": 50}"#,
    },
];

const DADL_PRESETS: &[Preset] = &[
    Preset { name: "faces", doc: "Extended Yale B and AR, as printed in the paper; the defaults", values: "{}" },
    Preset { name: "caltech101", doc: "Caltech101, as printed in the paper", values: r#"{"knn": 5, "lambda3": 4.0}"# },
    Preset {
        name: "scene15",
        doc: "Scene15, as printed in the paper",
        values: r#"{"knn": 5, "lambda2": 1e-2, "lambda3": 1.0}"#,
    },
];

/// Every method, in the order in which tables list them.
pub static METHODS: &[Method] = &[
    Method::of::<methods::auto::Auto>(
        "Self-tuning fusion of three readings of one code (auto)",
        "this project; the code is that of Zhang, Yang, Feng: Sparse representation or collaborative representation. ICCV 2011",
        &[],
    ),
    Method::of::<methods::lcdl_sv::LcdlSv>(
        "Locality-constrained dictionary learning with support vectors (LCDL-SV)",
        "Yin, Wu, Chen: Locality constraint dictionary learning with support vector for pattern classification. IEEE Access 2019",
        &[
            Preset {
                name: "default",
                doc: "eta1, eta2, rule and max_iter chosen on the training samples, all else as the authors' code does",
                values: "{}",
            },
            Preset {
                name: "authors-code",
                doc: "what the authors' code does",
                values: r#"{"eta1": 1e-2, "eta2": 5.0, "rule": "fused", "max_iter": 20}"#,
            },
            Preset {
                name: "paper",
                doc: "as printed: theta = 0.2 and unsquared distances in the atom graph",
                values: r#"{"eta1": 1e-2, "eta2": 5.0, "rule": "fused", "max_iter": 20, "theta": 0.2, "affinity": "unsquared"}"#,
            },
        ],
    )
    .partitioned_by::<methods::lcdl_sv::LcdlSv>(),
    Method::of::<methods::svgdl::Svgdl>(
        "Support vector guided dictionary learning (SVGDL)",
        "Cai, Zuo, Zhang, Feng, Wang: Support vector guided dictionary learning. ECCV 2014",
        &[],
    )
    .partitioned_by::<methods::svgdl::Svgdl>(),
    Method::of::<methods::src::Src>(
        "Sparse representation (SRC)",
        "Wright, Yang, Ganesh, Sastry, Ma: Robust face recognition via sparse representation. PAMI 2009",
        &[],
    ),
    Method::of::<methods::crc::Crc>(
        "Collaborative representation (CRC-RLS)",
        "Zhang, Yang, Feng: Sparse representation or collaborative representation: which helps face recognition? ICCV 2011",
        &[],
    )
    .partitioned_by::<methods::crc::Crc>(),
    Method::of::<methods::ksvd::Ksvd>(
        "K-SVD with a ridge classifier",
        "Aharon, Elad, Bruckstein: K-SVD: an algorithm for designing overcomplete dictionaries for sparse representation. IEEE TSP 2006",
        &[],
    ),
    Method::of::<methods::dksvd::DKsvd>(
        "Discriminative K-SVD (D-KSVD)",
        "Zhang, Li: Discriminative K-SVD for dictionary learning in face recognition. CVPR 2010",
        &[
            Preset { name: "small-weights", doc: "the defaults: chosen by cross-validation", values: "{}" },
            Preset {
                name: "published",
                doc: "settings of the LC-KSVD package for Extended Yale B",
                values: r#"{"beta": 4.0, "sparsity": 30, "atoms_per_class": 15, "init_iter": 20, "max_iter": 50, "readout": "joint"}"#,
            },
        ],
    ),
    Method::of::<methods::lcksvd::LcKsvd1>(
        "Label-consistent K-SVD, label consistency only (LC-KSVD1)",
        "Jiang, Lin, Davis: Label consistent K-SVD: learning a discriminative dictionary for recognition. IEEE TPAMI 2013",
        &[
            Preset { name: "small-weights", doc: "the defaults: chosen by cross-validation", values: "{}" },
            Preset {
                name: "published",
                doc: "settings of the authors' package for Extended Yale B",
                values: r#"{"alpha": 16.0, "sparsity": 30, "atoms_per_class": 15, "init_iter": 20, "code_iter": 20, "max_iter": 50, "ridge": 1.0, "readout": "joint"}"#,
            },
        ],
    ),
    Method::of::<methods::lcksvd::LcKsvd2>(
        "Label-consistent K-SVD with classification error (LC-KSVD2)",
        "Jiang, Lin, Davis: Label consistent K-SVD: learning a discriminative dictionary for recognition. IEEE TPAMI 2013",
        &[
            Preset { name: "small-weights", doc: "the defaults: chosen by cross-validation", values: "{}" },
            Preset {
                name: "published",
                doc: "settings of the authors' package for Extended Yale B",
                values: r#"{"alpha": 16.0, "beta": 4.0, "sparsity": 30, "atoms_per_class": 15, "init_iter": 20, "code_iter": 20, "max_iter": 50, "ridge": 1.0, "readout": "joint"}"#,
            },
        ],
    ),
    Method::of::<methods::fddl::Fddl>(
        "Fisher discrimination dictionary learning (FDDL)",
        "Yang, Zhang, Feng, Zhang: Sparse representation based Fisher discrimination dictionary learning for image classification. IJCV 2014",
        &[],
    ),
    Method::of::<methods::cadl::Cadl>(
        "Class-aware analysis dictionary learning (CADL)",
        "Wang, Guo, Guo, Luo, Kong: Class-aware analysis dictionary learning for pattern classification. IEEE Signal Processing Letters 2017",
        CADL_PRESETS,
    )
    .partitioned_by::<methods::cadl::Cadl>(),
    Method::of::<methods::sadl::Sadl>(
        "Structured analysis dictionary learning (SADL)",
        "Tang, Panahi, Krim, Dai: Analysis dictionary learning based classification: structure for robustness. IEEE Transactions on Image Processing 2019",
        &[],
    )
    .partitioned_by::<methods::sadl::Sadl>(),
    Method::of::<methods::dpl::Dpl>(
        "Projective dictionary pair learning (DPL)",
        "Gu, Zhang, Zuo, Feng: Projective dictionary pair learning for pattern classification. NIPS 2014",
        DPL_PRESETS,
    ),
    Method::of::<methods::dadl::Dadl>(
        "Discriminative analysis dictionary learning (DADL)",
        "Guo, Guo, Kong, Zhang, He: Discriminative analysis dictionary learning. AAAI 2016",
        DADL_PRESETS,
    ),
    Method::of::<methods::ridge::Ridge>(
        "Ridge regression on one-hot labels",
        "Hoerl, Kennard: Ridge regression. Technometrics 1970",
        &[],
    )
    .partitioned_by::<methods::ridge::Ridge>(),
    Method::of::<methods::linear_svm::LinearSvm>(
        "Linear SVM, one against the rest",
        "Fan et al.: LIBLINEAR: a library for large linear classification. JMLR 2008 (the objective; the solver is our own)",
        &[],
    )
    .partitioned_by::<methods::linear_svm::LinearSvm>(),
    Method::of::<methods::rbf_svm::RbfSvm>(
        "SVM with a Gaussian kernel, one against the rest",
        "Boser, Guyon, Vapnik: A training algorithm for optimal margin classifiers. COLT 1992 (here with squared hinge loss)",
        &[],
    ),
    Method::of::<methods::lda::Lda>(
        "Linear discriminant analysis with shrinkage",
        "Ledoit, Wolf: A well-conditioned estimator for large-dimensional covariance matrices. J. Multivariate Analysis 2004 (the shrinkage)",
        &[],
    ),
    Method::of::<methods::knn::Knn>(
        "Nearest neighbours",
        "Cover, Hart: Nearest neighbor pattern classification. IEEE Transactions on Information Theory 1967",
        &[],
    ),
];

/// The method of this name.
pub fn method(key: &str) -> Result<&'static Method> {
    METHODS
        .iter()
        .find(|method| method.key == key)
        .ok_or_else(|| Error::unknown("method", key, METHODS.iter().map(|method| method.key)))
}
