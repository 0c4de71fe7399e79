//! The reference page of the command line, made from what `--help` is made from.

use crate::args::Cli;
use clap::{Arg, Command, CommandFactory};
use std::fmt::Write;
use std::path::{Path, PathBuf};

const HEAD: &str = "\
# Command line

This page is made from the program's own definitions, and a test says when it is out of date. In the
terminal, `atomlearn --help` and `atomlearn COMMAND --help` say the same. What comes out as JSON,
and the exit codes, are in [formats](formats.md).
";

/// The whole page.
fn page() -> String {
    let mut cli = Cli::command();
    cli.build();
    let mut out = String::from(HEAD);
    let commands: Vec<_> = cli.get_subcommands().filter(|c| c.get_name() != "help").collect();
    out.push_str("\n| command | what it does |\n|---|---|\n");
    for command in &commands {
        let name = command.get_name();
        let about = command.get_about().map(ToString::to_string).unwrap_or_default();
        writeln!(out, "| [`{name}`](#{name}) | {} |", cell(&about)).unwrap();
    }
    out.push_str("\n## Options of every command\n");
    out.push_str(&table(&cli.get_arguments().filter(|a| shown(a)).collect::<Vec<_>>()));
    for command in commands {
        write_command(&mut out, command);
    }
    out
}

fn write_command(out: &mut String, command: &Command) {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ").trim();
    let about = command.get_long_about().or(command.get_about()).map(ToString::to_string).unwrap_or_default();
    let about = wrapped(&format!("{}.", about.trim_end_matches('.')));
    write!(out, "\n## {}\n\n{about}\n\n```text\n{usage}\n```\n", command.get_name()).unwrap();
    let own: Vec<&Arg> = command.get_arguments().filter(|a| shown(a) && !a.is_global_set()).collect();
    let mut headings: Vec<Option<&str>> = Vec::new();
    for argument in &own {
        if !headings.contains(&argument.get_help_heading()) {
            headings.push(argument.get_help_heading());
        }
    }
    // Options without a heading come first, as in `--help`.
    headings.sort_by_key(Option::is_some);
    for heading in headings {
        if let Some(heading) = heading {
            write!(out, "\n**{heading}**\n").unwrap();
        }
        let under: Vec<&Arg> = own.iter().copied().filter(|a| a.get_help_heading() == heading).collect();
        out.push_str(&table(&under));
    }
    if let Some(after) = command.get_after_long_help().or(command.get_after_help()) {
        write!(out, "\n```text\n{}\n```\n", after.to_string().trim_end()).unwrap();
    }
}

/// Paragraphs with lines of at most 100 columns.
fn wrapped(text: &str) -> String {
    let mut paragraphs = Vec::new();
    for paragraph in text.split("\n\n") {
        let mut lines: Vec<String> = Vec::new();
        for word in paragraph.split_whitespace() {
            match lines.last_mut() {
                Some(line) if line.chars().count() + 1 + word.chars().count() <= 100 => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_owned()),
            }
        }
        paragraphs.push(lines.join("\n"));
    }
    paragraphs.join("\n\n")
}

fn shown(argument: &Arg) -> bool {
    !argument.is_hide_set() && !["help", "version"].contains(&argument.get_id().as_str())
}

fn table(arguments: &[&Arg]) -> String {
    let mut out = String::from("\n| argument | meaning |\n|---|---|\n");
    for argument in arguments {
        let mut meaning = argument.get_long_help().or(argument.get_help()).map(ToString::to_string).unwrap_or_default();
        let takes_values = argument.get_action().takes_values();
        let values: Vec<String> =
            argument.get_possible_values().iter().map(|v| format!("`{}`", v.get_name())).collect();
        if takes_values && !values.is_empty() {
            write!(meaning, ". One of {}", values.join(", ")).unwrap();
        }
        let defaults: Vec<_> = argument.get_default_values().iter().map(|v| v.to_string_lossy()).collect();
        if takes_values && !defaults.is_empty() {
            write!(meaning, ". Default: `{}`", defaults.join(" ")).unwrap();
        }
        writeln!(out, "| `{}` | {} |", signature(argument).replace('|', "\\|"), cell(&meaning)).unwrap();
    }
    out
}

/// How an argument is typed: `--repeats <R>`, `-o, --output <FILE>`, `<DATA>`.
fn signature(argument: &Arg) -> String {
    let values: Vec<String> = match argument.get_value_names() {
        Some(names) if argument.get_action().takes_values() => names.iter().map(|n| format!("<{n}>")).collect(),
        _ => Vec::new(),
    };
    let short = argument.get_short().map(|c| format!("-{c}"));
    let long = argument.get_long().map(|l| format!("--{l}"));
    let flag = short.into_iter().chain(long).collect::<Vec<_>>().join(", ");
    [flag, values.join(" ")].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Text in a cell of a table: on one line, and nothing in it is markup but code.
fn cell(text: &str) -> String {
    let mut code = false;
    let mut out = String::new();
    for letter in text.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        if letter == '`' {
            code = !code;
        }
        if letter == '|' || !code && ['<', '*', '_', '['].contains(&letter) {
            out.push('\\');
        }
        out.push(letter);
    }
    out
}

/// A page, its lines ended as we write them, whatever the checkout has.
fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default().replace("\r\n", "\n")
}

#[test]
fn the_reference_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
    let page = page();
    if std::env::var_os("ATOMLEARN_UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let stored = read(&path);
    assert!(
        stored == page,
        "docs/reference/cli.md is out of date; run this test with ATOMLEARN_UPDATE=1 to write it again"
    );
}

#[test]
fn every_command_and_flag_is_on_the_page() {
    let page = page();
    let mut cli = Cli::command();
    cli.build();
    for command in cli.get_subcommands().filter(|c| c.get_name() != "help") {
        let section = page.split(&format!("\n## {}\n", command.get_name())).nth(1).unwrap();
        let section = section.split("\n## ").next().unwrap();
        for long in command.get_arguments().filter(|a| shown(a) && !a.is_global_set()).filter_map(Arg::get_long) {
            assert!(section.contains(&format!("--{long}")), "{} --{long}", command.get_name());
        }
    }
}

/// All pages of the documentation, and the README.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|e| e == "md") {
            found.push(path);
        }
    }
}

/// The Python tests run the commands of the documentation; those on data that are not there are only parsed, here.
#[test]
fn commands_in_the_documentation_have_flags_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = vec![root.join("README.md")];
    pages(&root.join("docs"), &mut found);
    let mut parsed = 0;
    for page in found {
        let text = read(&page).replace("\\\n", " ");
        let mut in_shell = false;
        for line in text.lines() {
            if line.starts_with("```") {
                in_shell = line == "```sh";
            }
            let Some(start) = line.find("atomlearn ").filter(|_| in_shell && !line.trim_start().starts_with("cargo"))
            else {
                continue;
            };
            let words = shlex::split(&line[start..]).unwrap_or_else(|| panic!("{}: {line}", page.display()));
            let words = words.into_iter().take_while(|w| !["&&", "|", ">"].contains(&w.as_str()));
            if let Err(error) = Cli::command().try_get_matches_from(words) {
                panic!("{}: {line}\n{error}", page.display());
            }
            parsed += 1;
        }
    }
    assert!(parsed > 60, "only {parsed} commands were found");
}
