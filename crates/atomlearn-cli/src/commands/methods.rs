//! `atomlearn methods`: what there is to train.

use crate::console::Console;
use crate::failure::Failure;
use atomlearn::registry::{self, METHODS, Method};
use atomlearn_lab::text_table::plain_table;
use serde_json::{Value, json};

/// List the methods, or the parameters of one
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  atomlearn methods\n  atomlearn methods crc\n  atomlearn methods --json")]
pub struct Args {
    /// Show this method's paper, parameters and presets
    #[arg(value_name = "KEY")]
    key: Option<String>,
}

/// Prints the registry or one row of it.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    let one = args.key.as_deref().map(registry::method).transpose()?;
    if console.json {
        let rows: Vec<Value> = match one {
            Some(method) => vec![method.to_json()],
            None => METHODS.iter().map(Method::to_json).collect(),
        };
        return console.print_json(&json!({"schema": "atomlearn.methods/1", "methods": rows}));
    }
    match one {
        Some(method) => console.print(&describe(method, console)),
        None => {
            let mut table = plain_table(console.width(), console.color);
            table.set_header(["key", "method", "paper"]);
            METHODS.iter().for_each(|method| {
                table.add_row([method.key, method.title, method.paper]);
            });
            console.print(&table.to_string())?;
            console.note("`atomlearn methods KEY` shows the parameters of one.");
            Ok(())
        }
    }
}

fn describe(method: &Method, console: &Console) -> String {
    let mut table = plain_table(console.width(), console.color);
    table.set_header(["parameter", "default", "values", "meaning"]);
    for info in method.params() {
        table.add_row([info.name.to_string(), value_text(&info.default), info.domain.to_string(), info.doc.into()]);
    }
    let mut text = format!("{}: {}\n{}\n\n{table}", method.key, method.title, method.paper);
    for (i, preset) in method.presets.iter().enumerate() {
        let intro = if i == 0 { "\n\nPresets, chosen with --set preset=NAME:" } else { "" };
        text += &format!("{intro}\n  {}: {}", preset.name, preset.doc);
    }
    text
}

/// A parameter value as one would type it.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::Null => "auto".into(),
        Value::String(word) => word.clone(),
        other => other.to_string(),
    }
}
