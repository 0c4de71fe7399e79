//! Text out of files without loss: what is not valid text is written as escapes, so that different bytes stay different.

use std::ffi::OsStr;
use std::fmt::Write;

/// UTF-8; bytes that are none become `\xNN`, as Python's `backslashreplace` has it.
pub(super) fn from_utf8(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            let _ = write!(text, "\\x{byte:02x}");
        }
    }
    text
}

/// UTF-16; halves of pairs that stand alone become `\uNNNN`.
pub(super) fn from_utf16(units: &[u16]) -> String {
    let mut text = String::with_capacity(units.len());
    for unit in char::decode_utf16(units.iter().copied()) {
        match unit {
            Ok(letter) => text.push(letter),
            Err(alone) => {
                let _ = write!(text, "\\u{:04x}", alone.unpaired_surrogate());
            }
        }
    }
    text
}

/// UTF-32; numbers that are no letters become `\uNNNN`.
pub(super) fn from_utf32(codes: impl Iterator<Item = u32>) -> String {
    let mut text = String::new();
    for code in codes {
        match char::from_u32(code) {
            Some(letter) => text.push(letter),
            None => {
                let _ = write!(text, "\\u{code:04x}");
            }
        }
    }
    text
}

/// The name of a file or folder.
pub(super) fn from_name(name: &OsStr) -> String {
    from_utf8(name.as_encoded_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_bytes_stay_different() {
        assert_eq!(from_utf8("日本 ü".as_bytes()), "日本 ü");
        assert_eq!(from_utf8(b"a\xff\xfeb"), "a\\xff\\xfeb");
        assert_ne!(from_utf8(b"caf\xe9"), from_utf8(b"caf\xe8"));
        assert_eq!(from_utf16(&[0x61, 0xd83d, 0xde00]), "a😀");
        assert_eq!(from_utf16(&[0xd83d, 0x61]), "\\ud83da");
        assert_eq!(from_utf32([0x1f600, 0xd800, 0x11_0000].into_iter()), "😀\\ud800\\u110000");
    }
}
