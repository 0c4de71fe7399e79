//! `--set name=value` and `--prep`.

use crate::failure::Failure;
use atomlearn::prep::PrepSpec;
use atomlearn::registry::{self, METHODS, Method, Values};
use atomlearn_lab::compare::Entry;

/// Parses `--prep`; not given means the default.
pub fn prep(text: Option<&str>) -> Result<PrepSpec, Failure> {
    Ok(text.map(str::parse).transpose()?.unwrap_or_default())
}

/// The parameters of one method from `name=value` texts.
pub fn params(method: &Method, set: &[String]) -> Result<Values, Failure> {
    let mut values = Values::new();
    for text in set {
        let (name, value) = split(text)?;
        let name = name.strip_prefix(&format!("{}.", method.key)).unwrap_or(name);
        insert(&mut values, method, name, value)?;
    }
    Ok(method.complete(&values)?)
}

/// The methods of a comparison, with their parameters from `KEY.name=value` texts.
pub fn entries(keys: &[String], set: &[String]) -> Result<Vec<Entry>, Failure> {
    let methods: Vec<&'static Method> = match keys {
        [all] if all == "all" => METHODS.iter().collect(),
        keys => keys.iter().map(|key| registry::method(key)).collect::<Result<_, _>>()?,
    };
    if let Some(twice) = methods.iter().enumerate().find(|(i, m)| methods[..*i].iter().any(|n| n.key == m.key)) {
        return Err(Failure::usage(format!("method `{}` is named twice", twice.1.key)));
    }
    let mut values: Vec<Values> = vec![Values::new(); methods.len()];
    for text in set {
        let (name, value) = split(text)?;
        let place = match (name.split_once('.'), methods.len()) {
            (Some((key, _)), _) => {
                registry::method(key)?;
                let place = methods.iter().position(|method| method.key == key);
                place.ok_or_else(|| Failure::usage(format!("--set {text}: `{key}` is not among --methods")))?
            }
            (None, 1) => 0,
            (None, _) => {
                return Err(Failure::usage(format!(
                    "--set {text}: say whose parameter it is, as in --set {}.{text}",
                    methods[0].key
                )));
            }
        };
        let name = name.split_once('.').map_or(name, |(_, name)| name);
        insert(&mut values[place], methods[place], name, value)?;
    }
    let entry = |(method, values): (&&'static Method, Values)| {
        Ok(Entry::new(method, method.complete(&values).map_err(|e| in_method(e, method))?))
    };
    methods.iter().zip(values).map(entry).collect()
}

fn in_method(error: atomlearn::Error, method: &Method) -> Failure {
    Failure::usage(format!("{}: {error}", method.key))
}

fn split(text: &str) -> Result<(&str, &str), Failure> {
    text.split_once('=')
        .map(|(name, value)| (name.trim(), value.trim()))
        .ok_or_else(|| Failure::usage(format!("--set {text}: write it as name=value")))
}

fn insert(values: &mut Values, method: &Method, name: &str, value: &str) -> Result<(), Failure> {
    let value = method.parse_value(name, value)?;
    if values.insert(name.into(), value).is_some() {
        return Err(Failure::usage(format!("--set: `{name}` is given twice")));
    }
    Ok(())
}
