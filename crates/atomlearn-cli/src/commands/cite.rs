//! `atomlearn cite`: BibTeX of the software and of the methods.

use crate::console::Console;
use crate::failure::Failure;
use atomlearn::registry::{self, METHODS};
use atomlearn_lab::citations;
use serde_json::json;

/// Print BibTeX entries of the software and of a method's paper
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  atomlearn cite\n  atomlearn cite lcdl-sv >> paper.bib")]
pub struct Args {
    /// Method; without it, the software and all papers
    #[arg(value_name = "KEY")]
    key: Option<String>,
}

/// Prints the entries.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    let methods: Vec<&registry::Method> = match &args.key {
        Some(key) => vec![registry::method(key)?],
        None => METHODS.iter().collect(),
    };
    let papers: Vec<String> = methods.iter().filter_map(|method| citations::paper(method)).collect();
    if args.key.is_some() && papers.is_empty() {
        console.note("this method is atomlearn's own: cite the software");
    }
    if console.json {
        return console.print_json(&json!({
            "schema": "atomlearn.cite/1", "software": citations::software(), "papers": papers,
        }));
    }
    let entries: Vec<String> = std::iter::once(citations::software()).chain(papers).collect();
    console.print(entries.join("\n").trim_end())
}
