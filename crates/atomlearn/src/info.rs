//! What travels with a model besides what it scores with: where it comes from and how its training went.

use crate::io::ImageShape;
use crate::io::pictures::LeftOut;
use crate::observe::Trace;
use crate::params::Values;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Notes by name, in the order in which they were made. The names that this crate and its front ends know are spelt here and nowhere
/// else; others are carried along, and entries of a file that are not what they should be count as not there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Info(Values);

/// What was trained on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataInfo {
    /// Name of the file.
    pub name: String,
    /// Its SHA-256.
    pub sha256: String,
    /// Number of training samples.
    pub samples: u64,
}

/// The groups that were left out together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupsInfo {
    /// The column that says which sample is of which group.
    pub column: String,
    /// Number of groups.
    pub number: usize,
}

/// Where the weights of the training samples came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightsInfo {
    /// The column that says how much each sample counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// How much the samples of each class count, as it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class_weights: Option<String>,
}

impl Info {
    /// The note of [`Info::files`], which is long.
    pub const FILES: &str = "files";
    /// The note of [`Info::left_out`].
    pub const LEFT_OUT: &str = "left_out";

    /// All notes.
    pub fn values(&self) -> &Values {
        &self.0
    }

    /// Adds a note that only its maker reads.
    pub fn note(&mut self, name: &str, value: Value) {
        self.0.insert(name.into(), value);
    }

    /// Adds all notes of another.
    pub fn extend(&mut self, other: Info) {
        self.0.extend(other.0);
    }

    fn set(&mut self, name: &str, value: impl Serialize) {
        self.0.insert(name.into(), json!(value));
    }

    fn get<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_value(self.0.get(name)?.clone()).ok()
    }

    /// Notes which version trained, and when.
    pub fn set_origin(&mut self, version: &str, time: &str) {
        self.set("version", version);
        self.set_time(time);
    }

    /// Notes when it was trained.
    pub fn set_time(&mut self, time: &str) {
        self.set("time", time);
    }

    /// When it was trained.
    pub fn time(&self) -> Option<String> {
        self.get("time")
    }

    /// Notes what was trained on.
    pub fn set_data(&mut self, data: &DataInfo) {
        self.set("data", data);
    }

    /// What was trained on.
    pub fn data(&self) -> Option<DataInfo> {
        self.get("data")
    }

    /// Notes the smallest and the largest value of the raw training samples.
    pub fn set_range(&mut self, range: [f64; 2]) {
        self.set("range", range);
    }

    /// Notes that samples are images.
    pub fn set_image_shape(&mut self, shape: ImageShape) {
        let order = if shape.column_major { "columns" } else { "rows" };
        self.set("image_shape", json!({"rows": shape.rows, "cols": shape.cols, "order": order}));
    }

    /// Height and width, if samples are images.
    pub fn image_shape(&self) -> Option<ImageShape> {
        let shape = self.0.get("image_shape")?;
        let side = |name: &str| shape.get(name)?.as_u64().and_then(|side| usize::try_from(side).ok());
        let rows = side("rows").filter(|&n| n > 0)?;
        let cols = side("cols").filter(|&n| n > 0)?;
        rows.checked_mul(cols)?;
        Some(ImageShape { rows, cols, column_major: shape.get("order").is_some_and(|order| order == "columns") })
    }

    /// Notes the file of every training sample, in their order, where samples are photos.
    pub fn set_files(&mut self, files: &[String]) {
        self.set(Self::FILES, files);
    }

    /// The file of every training sample; none where they have none.
    pub fn files(&self) -> Vec<String> {
        self.get(Self::FILES).unwrap_or_default()
    }

    /// Notes what of a folder of photos was not trained on, if there is such.
    pub fn set_left_out(&mut self, left_out: &LeftOut) {
        if !left_out.is_empty() {
            self.set(Self::LEFT_OUT, left_out);
        }
    }

    /// What of a folder of photos was not trained on.
    pub fn left_out(&self) -> LeftOut {
        self.get(Self::LEFT_OUT).unwrap_or_default()
    }

    /// Notes the groups that were left out together.
    pub fn set_groups(&mut self, groups: &GroupsInfo) {
        self.set("groups", groups);
    }

    /// The groups that were left out together.
    pub fn groups(&self) -> Option<GroupsInfo> {
        self.get("groups")
    }

    /// Notes where the weights of the training samples came from.
    pub fn set_weights(&mut self, weights: &WeightsInfo) {
        self.set("weights", weights);
    }

    /// Where the weights of the training samples came from, if they had any.
    pub fn weights(&self) -> Option<WeightsInfo> {
        self.get("weights")
    }

    /// Notes which parameters were chosen from the data, if any were.
    pub fn set_chosen(&mut self, chosen: &Values) {
        if !chosen.is_empty() {
            self.set("chosen", chosen);
        }
    }

    /// The parameters that were chosen from the data.
    pub fn chosen(&self) -> Values {
        self.get("chosen").unwrap_or_default()
    }

    /// Notes the number of logical partitions, which decides how sums are rounded.
    pub fn set_partitions(&mut self, partitions: usize) {
        self.set("partitions", partitions);
    }

    /// Notes how training went: iterations, objective, warnings.
    pub fn set_trace(&mut self, trace: &Trace) {
        if let Some(last) = trace.steps.last() {
            self.set("n_iter", last.iter);
            self.set("objective", last.objective);
        }
        if !trace.warnings.is_empty() {
            self.set("warnings", &trace.warnings);
        }
    }

    /// The names of the features, where training in Python had them.
    pub fn feature_names(&self) -> Option<Vec<String>> {
        let names = self.0.get("python")?.get("feature_names")?.as_array()?;
        names.iter().map(|name| Some(name.as_str()?.trim().to_string())).collect()
    }

    /// What Python fills missing values of every feature with; empty where it fills none.
    pub fn fills(&self) -> Vec<Option<f64>> {
        let fills = self.0.get("python").and_then(|notes| notes.get("fill")?.as_array());
        fills.into_iter().flatten().map(Value::as_f64).collect()
    }

    /// The factor by which Python made probabilities of scores, from cross-validation.
    pub fn inverse_temperature(&self) -> Option<f64> {
        self.0.get("python")?.get("inverse_temperature")?.as_f64()
    }

    /// Forgets what holds for the model before it learned more: iterations, objective, files, calibration.
    pub fn set_learned_more(&mut self) {
        self.0.retain(|name, _| !["n_iter", "objective", Self::FILES].contains(&name.as_str()));
        if let Some(notes) = self.0.get_mut("python").and_then(Value::as_object_mut) {
            notes.remove("inverse_temperature");
        }
    }
}

impl From<Values> for Info {
    fn from(values: Values) -> Self {
        Info(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_come_back_in_order_and_strange_ones_are_carried_but_not_believed() {
        let mut info = Info::default();
        info.set_origin("9.9", "now");
        info.set_data(&DataInfo { name: "a".into(), sha256: "b".into(), samples: 3 });
        info.set_image_shape(ImageShape { rows: 2, cols: 3, column_major: true });
        info.set_chosen(&Values::new());
        info.set_left_out(&LeftOut::default());
        info.set_trace(&Trace { warnings: vec!["mind the gap".into()], ..Trace::default() });
        let names: Vec<&String> = info.values().keys().collect();
        assert_eq!(names, ["version", "time", "data", "image_shape", "warnings"]);
        let back: Info = serde_json::from_str(&serde_json::to_string(&info).unwrap()).unwrap();
        assert_eq!((back.data().unwrap().samples, back.image_shape().unwrap().rows, &back), (3, 2, &info));
        let strange = json!({"data": 5, "groups": {"number": -1}, "image_shape": {"rows": 0}, "own": [1], "files": [2], "left_out": 3});
        let strange: Info = serde_json::from_value(strange).unwrap();
        assert!(strange.files().is_empty() && strange.left_out().is_empty());
        assert!(strange.data().is_none() && strange.groups().is_none() && strange.image_shape().is_none());
        assert_eq!(strange.values()["own"], json!([1]));
    }
}
