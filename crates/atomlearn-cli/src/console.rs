//! Where text goes: results to stdout, everything else to stderr.

use crate::args::Global;
use crate::failure::Failure;
use crate::plain::{NAME_LETTERS, VALUE_LETTERS, brief, printable_table, with_flags, wrapped};
use atomlearn_lab::text_table::plain_table;
use clap::ColorChoice;
use serde::Serialize;
use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal, Write};

/// Width of tables that are not printed on a terminal.
const WIDTH: u16 = 100;

/// How to print.
pub struct Console {
    /// Results as JSON.
    pub json: bool,
    /// Colour and bold on stdout.
    pub color: bool,
    color_stderr: bool,
    quiet: bool,
    /// The words that the user typed after the program's name.
    pub typed: Vec<String>,
}

impl Console {
    /// From the global flags, the words that were typed, and what stdout and stderr are.
    pub fn new(global: &Global, words: &[OsString]) -> Self {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let wanted = !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let decide = |is_terminal: bool| match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => wanted && is_terminal,
        };
        Console {
            json: global.json,
            color: decide(std::io::stdout().is_terminal()),
            color_stderr: decide(std::io::stderr().is_terminal()),
            quiet: global.quiet,
            typed: words.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect(),
        }
    }

    /// Prints a result for people; what files put into it cannot command the terminal.
    pub fn print(&self, text: &str) -> Result<(), Failure> {
        self.print_line(&printable_table(text, self.color))
    }

    /// Prints tables with sentences around them: on a terminal, sentences are wrapped between words.
    pub fn print_report(&self, text: &str) -> Result<(), Failure> {
        let text = printable_table(text, self.color);
        if std::io::stdout().is_terminal() { self.print_line(&self.wrapped(&text)) } else { self.print_line(&text) }
    }

    fn wrapped(&self, text: &str) -> String {
        wrapped(text, usize::from(self.width()))
    }

    fn print_line(&self, text: &str) -> Result<(), Failure> {
        self.print_bytes(format!("{}\n", text.trim_end_matches('\n')).as_bytes())
    }

    /// Prints a result as it is. A reader that has gone away, as in `| head`, is no failure.
    pub fn print_bytes(&self, bytes: &[u8]) -> Result<(), Failure> {
        let mut out = std::io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(Failure::failed(format!("cannot write to stdout: {e}"))),
            _ => Ok(()),
        }
    }

    /// Prints a result as JSON, which is for programs: text stays as it is, but for what JSON escapes itself.
    pub fn print_json(&self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(value);
        self.print_line(&text.map_err(|e| Failure::failed(format!("cannot write JSON: {e}")))?)
    }

    /// Tells the user something that is not a result.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            let text = self.for_stderr(&brief(&with_flags(text), VALUE_LETTERS));
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }

    /// Whether notes are to be left out.
    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Warns, even with `--quiet`.
    pub fn warn(&self, text: &str) {
        self.labeled("warning", "\x1b[1;33m", text);
    }

    /// Says what went wrong.
    pub fn error(&self, text: &str) {
        self.labeled("error", "\x1b[1;31m", text);
    }

    fn labeled(&self, label: &str, style: &str, text: &str) {
        let text = self.for_stderr(&format!("{label}: {}", brief(&with_flags(text), VALUE_LETTERS)));
        let rest = text.strip_prefix(label).filter(|_| self.color_stderr).and_then(|rest| rest.strip_prefix(':'));
        let text = rest.map_or_else(|| text.clone(), |rest| format!("{style}{label}:\x1b[0m{rest}"));
        let _ = writeln!(std::io::stderr(), "{text}");
    }

    /// On a terminal, sentences are wrapped between words.
    fn for_stderr(&self, text: &str) -> String {
        if std::io::stderr().is_terminal() { self.wrapped(text) } else { text.to_string() }
    }

    /// True if progress bars make sense.
    pub fn bars(&self) -> bool {
        !self.quiet && std::io::stderr().is_terminal()
    }

    /// Names and values below each other; long values are wrapped beside their names, very long ones are cut.
    pub fn facts(&self, facts: &[(&str, String)]) -> String {
        let mut table = plain_table(self.width(), self.color);
        table.load_style(comfy_table::presets::NOTHING);
        facts.iter().for_each(|(name, value)| {
            table.add_row([brief(name, NAME_LETTERS), brief(value, VALUE_LETTERS)]);
        });
        table.to_string().lines().map(|line| line.trim_end().to_string() + "\n").collect()
    }

    /// Width for tables.
    pub fn width(&self) -> u16 {
        terminal_size::terminal_size().map_or(WIDTH, |(width, _)| width.0.max(40))
    }
}
