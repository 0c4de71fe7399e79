//! Bodies that a server is sent.

use atomlearn::archive::Content;
use atomlearn::io::TableSchema;
use atomlearn::methods::lcdl_sv::LcdlSv;
use atomlearn::prep::PrepSpec;
use atomlearn::registry::{self, Values};
use atomlearn::{Fit, Model, Result, synth};
use atomlearn_features::FeatureMap;
use atomlearn_serve::{Subject, dry};
use serde_json::json;
use std::sync::OnceLock;

/// The first byte says which request it is, the others are its body.
pub fn request(bytes: &[u8]) {
    static SUBJECT: OnceLock<Option<Subject>> = OnceLock::new();
    let Some(subject) = SUBJECT.get_or_init(|| subject().ok()) else { return };
    let Some((kind, body)) = bytes.split_first() else { return };
    let content_type = ["application/json", "application/x-npy", "image/png", "text/csv"][usize::from(kind % 4)];
    let explains = kind & 4 != 0;
    let query = match (explains, kind & 8 != 0) {
        (_, false) => "",
        (true, true) => "row=1",
        (false, true) => "scores=false",
    };
    let status = dry::status(subject, explains, query, content_type, body);
    assert!((200..500).contains(&status), "status {status}: a body must not break the server");
}

/// A small model that takes images of 4 x 4 pixels.
fn subject() -> Result<Subject> {
    let train = synth::blobs(3, 6, 16, 1);
    let mut params = Values::new();
    params.insert("max_iter".into(), json!(1));
    let mut model = Model::train(registry::method(LcdlSv::KEY)?, &params, &PrepSpec::default(), &train, &mut ())?;
    let names: Vec<String> = (0..16).map(|i| format!("f{i}")).collect();
    model.schema = Some(TableSchema::of_numbers(names));
    let frame = json!({"rows": 4, "cols": 4, "fit": "stretch"});
    let header = json!({"format": "atomlearn.feature-map/1", "spec": {"kind": "pixels", "frame": frame}, "dim": 16});
    let header = header.as_object().cloned().unwrap_or_default();
    let mut subject = Subject::new(model, "fuzz", None, None);
    subject.images = Some(FeatureMap::from_content(Content { header, ..Content::default() })?);
    Ok(subject)
}
