//! Any program as a learner: it reads two files and writes a third.
//!
//! `{train}` is CSV with one row per training sample, the features `x0`, `x1`, ... and last `label`; `{test}` has the same features and
//! no label. The program writes CSV with one row per test sample, in their order, to `{out}`: under a header, a column
//! `label` and, if it likes, one column for every class with scores or probabilities, named as the class or, as `predict` names
//! them, `proba_CLASS`.

use crate::protocol::data::{digest, digest_text};
use crate::run::outside::{Answer, Outside, Task};
use atomlearn::classifier::best_class;
use atomlearn::{Error, Mat, MatRef, Result};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often a running program is looked after.
const NAP: Duration = Duration::from_millis(20);
/// Lines of its messages that an error repeats.
const LINES: usize = 12;

/// A command with `{train}`, `{test}` and `{out}` in it.
#[derive(Clone, Debug)]
pub struct Program {
    name: String,
    text: String,
    words: Vec<String>,
}

impl Program {
    /// From `COMMAND`, or `NAME=COMMAND`; without a name it is called as its script, or else its program.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |why: &str| Error::param("external", text, why.to_string());
        let is_name =
            |name: &&str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || ['-', '_', '.'].contains(&c));
        let named = text.split_once('=').filter(|(name, _)| is_name(&name.trim()));
        let (name, command) = named.map_or((None, text), |(name, command)| (Some(name.trim().to_string()), command));
        let words = shlex::split(command).ok_or_else(|| wrong("has a quote that is not closed"))?;
        let program = words.first().ok_or_else(|| wrong("names no program"))?;
        for place in ["{train}", "{test}", "{out}"] {
            if !words.iter().any(|word| word.contains(place)) {
                return Err(wrong(&format!(
                    "must hold {{train}}, {{test}} and {{out}}, as in 'python my.py {{train}} {{test}} {{out}}'; {place} is missing"
                )));
            }
        }
        let script = words.iter().skip(1).find(|word| !word.contains('{') && Path::new(word).extension().is_some());
        let stem = Path::new(script.unwrap_or(program)).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let name = name.or(stem).unwrap_or_else(|| "external".into());
        Ok(Program { name, text: command.trim().to_string(), words })
    }

    fn command(&self, folder: &Path) -> Command {
        let put_in = |word: &String| {
            [("{train}", "train.csv"), ("{test}", "test.csv"), ("{out}", "out.csv")]
                .iter()
                .fold(word.clone(), |word, (place, file)| word.replace(place, &folder.join(file).to_string_lossy()))
        };
        let words: Vec<String> = self.words.iter().map(put_in).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stdin(Stdio::null());
        command
    }

    fn failed(&self, why: String, folder: &Path) -> Error {
        let said = std::fs::read(folder.join("messages")).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(LINES)..].join("\n  ");
        let said = if last.is_empty() { String::new() } else { format!("; its last words:\n  {last}") };
        Error::Data(format!("external method `{}` ({}) {why}{said}", self.name, self.text))
    }
}

impl Outside for Program {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> String {
        self.text.clone()
    }

    /// The command, and the content of every file that it names: a script that was changed is another method.
    fn identity(&self) -> String {
        let files = self.words.iter().map(Path::new).filter(|path| path.is_file());
        let contents: Vec<String> = files.filter_map(|path| digest(path).ok()).collect();
        digest_text(&format!("{}\n{contents:?}", self.text))
    }

    fn learn_and_predict(&self, task: &Task<'_>, go_on: &mut dyn FnMut() -> ControlFlow<()>) -> Result<Answer> {
        let folder = tempfile::tempdir().map_err(Error::io("a folder for the files of an external method"))?;
        let folder = folder.path();
        let labels: Vec<&str> = task.train_targets.iter().map(|&class| task.classes[class].as_str()).collect();
        write_csv(&folder.join("train.csv"), task.train, Some(&labels))?;
        write_csv(&folder.join("test.csv"), task.test, None)?;
        let messages = folder.join("messages");
        let file = File::create(&messages).map_err(Error::io(&messages))?;
        let copy = file.try_clone().map_err(Error::io(&messages))?;
        let start = Instant::now();
        let child = self.command(folder).stdout(copy).stderr(file).spawn();
        let mut child = child.map_err(|e| self.failed(format!("cannot be started: {e}"), folder))?;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(Error::io(&self.words[0]))? {
                break status;
            }
            if go_on().is_break() {
                let _ = child.kill();
                let _ = child.wait();
                return Err(Error::Interrupted);
            }
            std::thread::sleep(NAP);
        };
        let train_seconds = start.elapsed().as_secs_f64();
        if !status.success() {
            return Err(self.failed(format!("failed ({status})"), folder));
        }
        let answer = read_answer(&folder.join("out.csv"), task).map_err(|why| self.failed(why, folder))?;
        Ok(Answer { train_seconds, ..answer })
    }
}

fn write_csv(path: &Path, x: MatRef<'_, f64>, labels: Option<&[&str]>) -> Result<()> {
    let failed = |e: csv::Error| Error::format(path, e.to_string());
    let mut writer = csv::Writer::from_path(path).map_err(failed)?;
    let head = (0..x.nrows()).map(|i| format!("x{i}")).chain(labels.map(|_| "label".to_string()));
    writer.write_record(head).map_err(failed)?;
    for j in 0..x.ncols() {
        // The shortest text that gives the same number again.
        let cells = x.col(j).iter().map(f64::to_string).chain(labels.map(|labels| labels[j].to_string()));
        writer.write_record(cells).map_err(failed)?;
    }
    writer.flush().map_err(Error::io(path))
}

/// What the program wrote, or what is wrong with it.
fn read_answer(path: &Path, task: &Task<'_>) -> Result<Answer, String> {
    let mut reader = csv::Reader::from_path(path).map_err(|_| "wrote no file {out}".to_string())?;
    let bad = |e: csv::Error| format!("wrote a file {{out}} that is no CSV: {e}");
    let head: Vec<String> = reader.headers().map_err(bad)?.iter().map(|cell| cell.trim().to_string()).collect();
    let column = |name: &str| head.iter().position(|cell| cell == name);
    let label =
        column("label").ok_or_else(|| format!("wrote no column `label` to {{out}}, but {}", head.join(", ")))?;
    let of_class: Option<Vec<usize>> =
        task.classes.iter().map(|class| column(class).or_else(|| column(&format!("proba_{class}")))).collect();
    let (mut predictions, mut values) = (Vec::new(), Vec::new());
    for (row, record) in reader.records().enumerate() {
        let record = record.map_err(bad)?;
        let text = record.get(label).unwrap_or_default().trim();
        let class = task.classes.iter().position(|class| class == text);
        predictions.push(class.ok_or_else(|| {
            format!(
                "predicts `{text}` for test sample {row} (counted from 0), which is no class of the training samples"
            )
        })?);
        for &place in of_class.iter().flatten() {
            let text = record.get(place).unwrap_or_default().trim();
            let value: Option<f64> = text.parse().ok().filter(|value: &f64| value.is_finite());
            values
                .push(value.ok_or_else(|| format!("wrote `{text}` as a score of test sample {row} (counted from 0)"))?);
        }
    }
    if predictions.len() != task.test.ncols() {
        return Err(format!("wrote {} predictions for {} test samples", predictions.len(), task.test.ncols()));
    }
    let n_classes = task.classes.len();
    let scores = of_class.map(|_| Mat::from_fn(n_classes, predictions.len(), |c, j| values[j * n_classes + c]));
    let is_sum = |scores: &Mat<f64>| {
        (0..scores.ncols()).all(|j| {
            let column = scores.col(j);
            column.iter().all(|p| (0.0..=1.0 + 1e-6).contains(p)) && (column.iter().sum::<f64>() - 1.0).abs() < 1e-3
        })
    };
    if let Some(j) = scores
        .as_ref()
        .and_then(|scores| best_class(scores.as_ref()).iter().zip(&predictions).position(|(a, b)| a != b))
    {
        return Err(format!(
            "predicts another class for test sample {j} (counted from 0) than the one with its greatest score"
        ));
    }
    let are_probabilities = scores.as_ref().is_some_and(is_sum);
    Ok(Answer { predictions, scores, are_probabilities, ..Answer::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        Program::parse(text).unwrap_err().to_string()
    }

    #[test]
    fn names_come_from_the_user_the_script_or_the_program() {
        let name = |text: &str| Program::parse(text).unwrap().name;
        assert_eq!(name("python my.py {train} {test} {out}"), "my");
        assert_eq!(name("forest=python my.py {train} {test} {out}"), "forest");
        assert_eq!(name("./learn {train} {test} {out}"), "learn");
        assert_eq!(name("python -c 'a=1' {train} {test} {out}"), "python");
        assert!(refusal("python my.py {train} {out}").contains("{test} is missing"));
        assert!(refusal("python 'my.py {train} {test} {out}").contains("not closed"));
        assert!(refusal(" ").contains("names no program"));
    }

    fn answer(text: &str) -> Result<Answer, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out.csv");
        std::fs::write(&path, text).unwrap();
        let x = Mat::zeros(1, 2);
        let classes = ["a", "b c"].map(String::from);
        let task = Task {
            train: x.as_ref(),
            train_targets: vec![0, 1],
            test: x.as_ref(),
            classes: &classes,
            split_sha256: "",
        };
        read_answer(&path, &task)
    }

    #[test]
    fn answers_are_read_and_bad_ones_named() {
        let plain = answer("label\nb c\na\n").unwrap();
        assert_eq!((plain.predictions, plain.scores.is_none()), (vec![1, 0], true));
        let scored = answer("b c,label,a\n0.75,b c,0.25\n0.5,a,0.5\n").unwrap();
        assert!(scored.are_probabilities && scored.scores.unwrap()[(0, 0)] == 0.25);
        let as_predict_writes = answer("label,proba_a,proba_b c\nb c,0.25,0.75\na,0.5,0.5\n").unwrap();
        assert!(as_predict_writes.are_probabilities && as_predict_writes.scores.unwrap()[(1, 0)] == 0.75);
        assert!(!answer("b c,label,a\n7,b c,-2\n0.5,a,0.5\n").unwrap().are_probabilities);
        for (text, part) in [
            ("label\na\n", "1 predictions for 2"),
            ("label\na\nd\n", "`d` for test sample 1"),
            ("klass\na\na\n", "no column `label`"),
            ("b c,label,a\n7,a,-2\n0.5,a,0.5\n", "another class for test sample 0"),
            ("b c,label,a\nx,a,-2\n0.5,a,0.5\n", "`x` as a score"),
        ] {
            let why = answer(text).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }
}
