//! Every file of the corpus goes through its target, in a process of its own with little memory and little time.
#![allow(clippy::unwrap_used, clippy::panic)]

use atomlearn_fuzz::{TARGETS, target};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const TARGET: &str = "ATOMLEARN_FUZZ_TARGET";
/// Address space of the process, in KiB. The program itself and its libraries take about 100 MiB of it.
const MEMORY: u64 = 512 << 10;
/// For all files of a target together; the slowest takes a second or two.
const TIME: Duration = Duration::from_secs(60);

fn corpus(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// The part that runs in the process with limits; without a target to run it does nothing.
#[test]
fn one_target() {
    let Ok(name) = std::env::var(TARGET) else { return };
    let target = target(&name).unwrap();
    for file in corpus(&name) {
        println!("{}", file.file_name().unwrap().to_string_lossy());
        (target.run)(&std::fs::read(&file).unwrap());
    }
    println!("all done");
}

#[test]
fn every_file_is_survived_with_little_memory_and_time() {
    let mut failures = Vec::new();
    for target in TARGETS {
        let (status, output) = run(target.name);
        let last = output.lines().last().unwrap_or("nothing").to_string();
        match status {
            None => failures.push(format!("{}: {last} is still running after {TIME:?}", target.name)),
            Some(status) if !status.success() || !output.contains("all done") => failures.push(format!(
                "{}: the process ended with {status}; last lines:\n{}",
                target.name,
                tail(&output)
            )),
            Some(_) => {}
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn every_target_has_a_corpus() {
    for target in TARGETS {
        assert!(!corpus(target.name).is_empty(), "{}", target.name);
    }
}

/// How the limited process for a target ended, `None` if it had to be stopped, and what it printed.
fn run(name: &str) -> (Option<ExitStatus>, String) {
    let itself = std::env::current_exe().unwrap();
    // The shell of every Unix can set the limit; elsewhere a panic and a hang are still noticed.
    let mut command = if cfg!(target_os = "linux") {
        let mut command = Command::new("sh");
        command.arg("-c").arg(format!("ulimit -v {MEMORY} && exec \"$0\" \"$@\"")).arg(&itself);
        command
    } else {
        Command::new(&itself)
    };
    command.args(["--exact", "one_target", "--nocapture", "--test-threads", "1"]).env(TARGET, name);
    // Every thread reserves address space of its own.
    command.env("RAYON_NUM_THREADS", "1").env("MALLOC_ARENA_MAX", "1");
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let output = drain(child.stdout.take().unwrap());
    let complaints = drain(child.stderr.take().unwrap());
    let status = wait(&mut child);
    let (output, complaints) = (output.join().unwrap(), complaints.join().unwrap());
    let failed = status.is_none_or(|status| !status.success());
    (status, if failed { format!("{complaints}{output}") } else { output })
}

/// Reads a pipe to its end, so that the process never waits for a reader.
fn drain(mut pipe: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = Vec::new();
        pipe.read_to_end(&mut text).unwrap();
        String::from_utf8_lossy(&text).into_owned()
    })
}

fn wait(child: &mut Child) -> Option<ExitStatus> {
    let start = Instant::now();
    while start.elapsed() < TIME {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    None
}

fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}
