//! Text from files made harmless: for the terminal, and for spreadsheets.

use std::borrow::Cow;
use std::fmt::Write;

/// The styles that tables of this program use; nothing else that begins with an escape reaches the terminal.
const OWN_STYLES: [&str; 2] = ["\x1b[1m", "\x1b[0m"];
/// Names in tables and lists are cut here: laying out megabytes takes for ever, and nobody reads them.
pub const NAME_LETTERS: usize = 80;
/// Whole values and messages are cut here.
pub const VALUE_LETTERS: usize = 8000;

/// The text with every character that commands a terminal, or hides what is written, shown as an escape: `\x1b`,
/// `\u{202e}`. Line ends and tabs stay.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(commands) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    text.chars().for_each(|letter| push(&mut plain, letter));
    Cow::Owned(plain)
}

/// [`printable`], but for the styles of our own tables where they are wanted.
pub fn printable_table(text: &str, styled: bool) -> Cow<'_, str> {
    if !styled {
        return printable(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let taken = match OWN_STYLES.iter().find(|style| rest.starts_with(**style)) {
            Some(style) => {
                plain.push_str(style);
                style.len()
            }
            None => {
                push(&mut plain, letter);
                letter.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    Cow::Owned(plain)
}

/// A message of the library with its options as flags, to be typed as they stand.
pub fn with_flags(message: &str) -> String {
    atomlearn::options_in_words(message, |name, value| match value {
        Some(value) => format!("--{name} {}", shell_word(value)),
        None => format!("--{name}"),
    })
}

/// Lines of at most `width` letters, broken between words; further lines are indented as the first is. Lines of tables stay,
/// and so does what stands between backticks, which is there to be copied.
pub fn wrapped(text: &str, width: usize) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| wrapped_line(line, width)).collect();
    lines.join("\n")
}

fn wrapped_line(line: &str, width: usize) -> String {
    if line.chars().count() <= width || line.contains(['─', '═', '│', '\x1b']) {
        return line.to_string();
    }
    let text = line.trim_start();
    let indent = &line[..line.len() - text.len()];
    let (mut words, mut quoted): (Vec<String>, bool) = (Vec::new(), false);
    for word in text.split(' ') {
        match words.last_mut().filter(|_| quoted) {
            Some(last) => *last = format!("{last} {word}"),
            None => words.push(word.to_string()),
        }
        quoted ^= word.matches('`').count() % 2 == 1;
    }
    let (mut out, mut used) = (String::new(), 0);
    for word in words {
        let letters = word.chars().count();
        if used == 0 || used + 1 + letters > width {
            out += if used == 0 { "" } else { "\n" };
            out += indent;
            used = indent.len() + letters;
        } else {
            out.push(' ');
            used += 1 + letters;
        }
        out += &word;
    }
    out
}

/// At most the first `most` letters, printable.
pub fn brief(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}...", printable(&text[..end])),
        None => printable(text).into_owned(),
    }
}

/// A cell that a spreadsheet takes for text and not for a formula: an apostrophe goes before `=`, `+`, `-`, `@`, a tab
/// or a carriage return.
pub fn spreadsheet_safe(cell: &str) -> Cow<'_, str> {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        Cow::Owned(format!("'{cell}"))
    } else {
        Cow::Borrowed(cell)
    }
}

/// A word as a shell takes it: as it is, or between apostrophes.
pub fn shell_word(word: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || "._-+/=:,@%~".contains(letter);
    if !word.is_empty() && !word.starts_with('~') && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn push(plain: &mut String, letter: char) {
    let code = u32::from(letter);
    // Writing to a string does not fail.
    let _ = match letter {
        _ if !commands(letter) => plain.write_char(letter),
        _ if code < 0x100 => write!(plain, "\\x{code:02x}"),
        _ => write!(plain, "\\u{{{code:x}}}"),
    };
}

/// Control characters, and those that turn the direction of writing or take no room.
fn commands(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{61c}' => true,
        other => other.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_commands_a_terminal_is_shown_and_all_else_stays() {
        assert_eq!(printable("\x1b]0;title\x07\r\x7f\u{9b}31m"), "\\x1b]0;title\\x07\\x0d\\x7f\\x9b31m");
        assert_eq!(printable("a\u{202e}b\u{2066}c\u{feff}"), "a\\u{202e}b\\u{2066}c\\u{feff}");
        assert!(matches!(printable("żółw\t· 漢字\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn our_own_styles_survive_only_where_they_are_wanted() {
        let text = "\x1b[1mbest\x1b[0m \x1b[31mred";
        assert_eq!(printable_table(text, true), "\x1b[1mbest\x1b[0m \\x1b[31mred");
        assert_eq!(printable_table(text, false), "\\x1b[1mbest\\x1b[0m \\x1b[31mred");
    }

    #[test]
    fn long_text_is_cut_between_letters() {
        assert_eq!(brief("żółw", 4), "żółw");
        assert_eq!(brief("żółwie", 4), "żółw...");
        assert_eq!(brief(&"x".repeat(10 << 20), 3), "xxx...");
    }

    #[test]
    fn sentences_are_wrapped_between_words_and_commands_stay_whole() {
        assert_eq!(wrapped("one two three", 9), "one two\nthree");
        assert_eq!(wrapped("  ab cd ef\nshort", 7), "  ab cd\n  ef\nshort");
        assert_eq!(wrapped("type `a b c d e` now", 8), "type\n`a b c d e`\nnow");
        assert_eq!(wrapped("─────────", 4), "─────────");
        assert_eq!(wrapped("a lone ` does no harm here", 12), "a lone\n` does no harm here");
        assert_eq!(wrapped("", 4), "");
    }

    #[test]
    fn words_survive_a_shell() {
        for (word, safe) in [("a.csv", "a.csv"), ("my data.csv", "'my data.csv'"), ("it's", "'it'\\''s'"), ("", "''")] {
            assert_eq!(shell_word(word), safe);
        }
    }

    #[test]
    fn formulas_become_text() {
        for (cell, safe) in
            [("=1+1", "'=1+1"), ("@a", "'@a"), ("-1", "'-1"), ("+", "'+"), ("\t=", "'\t="), ("a=", "a=")]
        {
            assert_eq!(spreadsheet_safe(cell), safe);
        }
    }
}
