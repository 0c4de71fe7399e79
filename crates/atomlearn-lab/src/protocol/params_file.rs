//! Parameters in a TOML file, as `tune` writes them and `train --params` reads them.
//!
//! ```toml
//! method = "crc"
//! prep = "unit"
//!
//! [params]
//! kappa = 0.01
//! ```

use atomlearn::registry::{self, Method, Values};
use atomlearn::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::path::Path;

/// No file of parameters is longer than this.
const MOST_BYTES: u64 = 1 << 20;

/// A method with some of its parameters.
pub struct ParamsFile {
    /// The method.
    pub method: &'static Method,
    /// Preprocessing under which the parameters were chosen.
    pub prep: Option<String>,
    /// The parameters, checked.
    pub params: Values,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileContent {
    method: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    prep: Option<String>,
    #[serde(default)]
    params: toml::Table,
}

/// Reads and checks a file of parameters.
pub fn read(path: &Path) -> Result<ParamsFile> {
    let length = std::fs::metadata(path).map_err(Error::io(path))?.len();
    if length > MOST_BYTES {
        return Err(Error::format(path, format!("{length} bytes are too many for a file of parameters")));
    }
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
    parse(&text).map_err(|e| match e {
        Error::Unknown { .. } => Error::format(path, e.to_string()),
        Error::Param { .. } | Error::Data(_) => Error::format(path, e.to_string()),
        other => other,
    })
}

/// Checks the text of a file of parameters.
pub fn parse(text: &str) -> Result<ParamsFile> {
    let content: FileContent =
        toml::from_str(text).map_err(|e| Error::Data(format!("not a file of parameters: {}", e.message())))?;
    let method = registry::method(&content.method)?;
    let params = values(method, &content.params)?;
    method.complete(&params)?;
    Ok(ParamsFile { method, prep: content.prep, params })
}

/// TOML values as parameters of a method; the text `auto` stands for `auto` where there is such a value.
pub fn values(method: &Method, table: &toml::Table) -> Result<Values> {
    table.iter().map(|(name, value)| Ok((name.clone(), value_of(method, name, value)?))).collect()
}

fn value_of(method: &Method, name: &str, value: &toml::Value) -> Result<Value> {
    match value {
        toml::Value::String(text) => method.parse_value(name, text),
        toml::Value::Integer(number) => Ok(Value::from(*number)),
        toml::Value::Float(number) if number.is_finite() => Ok(Value::from(*number)),
        toml::Value::Boolean(flag) => Ok(Value::from(*flag)),
        other => Err(Error::param(name, other, "must be a finite number, a text, true or false")),
    }
}

/// The text of a file of parameters, below lines that say where they come from.
pub fn text(origin: &str, method: &str, prep: &str, params: &Values) -> Result<String> {
    let params = params.iter().map(|(name, value)| (name.clone(), to_toml(value))).collect();
    let content = FileContent { method: method.into(), prep: Some(prep.into()), params };
    let body = toml::to_string(&content).map_err(|e| Error::Data(format!("parameters cannot be written: {e}")))?;
    let comment = origin.lines().map(|line| format!("# {line}\n")).collect::<String>();
    Ok(comment + &body)
}

fn to_toml(value: &Value) -> toml::Value {
    match value {
        Value::Null => "auto".into(),
        Value::Bool(flag) => (*flag).into(),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| number.as_f64().unwrap_or_default().into(), toml::Value::from)
        }
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_of_every_kind_are_read_and_bad_files_are_named() {
        let good =
            parse("method = 'lcdl-sv'\n[params]\nlambda1 = 1e-5\nknn = 2\natoms_per_class = 'auto'\nrule = 'svm'\n");
        let good = good.unwrap();
        assert_eq!(good.method.key, "lcdl-sv");
        let expected = json!({"lambda1": 1e-5, "knn": 2, "atoms_per_class": null, "rule": "svm"});
        assert_eq!(Value::Object(good.params), expected);
        let bad = |text: &str| parse(text).err().map(|e| e.to_string()).unwrap_or_default();
        assert!(bad("method = 'crcc'").contains("did you mean `crc`"));
        assert!(bad("method = 'crc'\n[params]\nkapa = 1").contains("did you mean `kappa`"));
        assert!(bad("method = 'crc'\n[params]\nkappa = -1").contains("must be auto or a number > 0"));
        assert!(bad("method = 'crc'\n[params]\nkappa = nan").contains("finite"));
        assert!(bad("method = 'crc'\n[params]\nkappa = [1]").contains("finite"));
        assert!(bad("method = 'crc'\nkappa = 1").contains("not a file of parameters"));
        assert!(bad("{}").contains("not a file of parameters"));
        assert!(bad(&format!("method = 'crc'\nx = {}1", "[".repeat(10_000))).contains("not a file of parameters"));
    }
}
