//! `atomlearn completions`: shell completions.

use crate::args::Cli;
use crate::console::Console;
use crate::failure::Failure;
use clap::CommandFactory;
use clap_complete::Shell;

/// Print completions for a shell
#[derive(clap::Args)]
#[command(after_help = "Example:\n  atomlearn completions bash > ~/.local/share/bash-completion/completions/atomlearn")]
pub struct Args {
    /// Which shell
    shell: Shell,
}

/// Prints the completion script.
pub fn run(args: &Args, console: &Console) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "atomlearn", &mut script);
    console.print_bytes(&script)
}
