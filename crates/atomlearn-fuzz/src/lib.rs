//! Everything that reads what others wrote, as functions of bytes: none may panic, hang or take memory out of proportion.
//!
//! `fuzz/` runs them under libFuzzer, `tests/replay.rs` runs the files of `corpus/` through them on stable Rust.

mod files;
#[cfg(feature = "networks")]
mod models;
#[cfg(feature = "networks")]
mod requests;

/// A reader under its name.
pub struct Target {
    /// Its name, which is also the folder of its corpus.
    pub name: &'static str,
    /// Takes any bytes at all.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "mat5", run: files::mat5 },
    Target { name: "mat73", run: files::mat73 },
    Target { name: "npy", run: files::npy },
    Target { name: "npz", run: files::npz },
    Target { name: "csv", run: files::csv },
    Target { name: "libsvm", run: files::libsvm },
    Target { name: "parquet", run: files::parquet },
    Target { name: "image", run: files::image },
    Target { name: "splits", run: files::splits },
    Target { name: "recipe", run: files::recipe },
    #[cfg(feature = "networks")]
    Target { name: "model", run: models::model },
    #[cfg(feature = "networks")]
    Target { name: "onnx", run: models::onnx },
    #[cfg(feature = "networks")]
    Target { name: "request", run: requests::request },
];

/// The target of this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Keeps panics that are caught and become errors from filling the terminal. Those that are not caught still end the run.
pub fn quiet_panics() {
    std::panic::set_hook(Box::new(|_| {}));
}
