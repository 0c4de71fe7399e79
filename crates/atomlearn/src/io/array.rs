//! One array as a file stores it, turned into `f64` or text only where it is used.

use super::limits;
use crate::{Error, Result};
use std::path::Path;

/// Stored number types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Bool,
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    U64,
    I64,
    F16,
    F32,
    F64,
}

impl Number {
    /// Bytes per element.
    pub(super) fn size(self) -> usize {
        match self {
            Number::Bool | Number::U8 | Number::I8 => 1,
            Number::U16 | Number::I16 | Number::F16 => 2,
            Number::U32 | Number::I32 | Number::F32 => 4,
            Number::U64 | Number::I64 | Number::F64 => 8,
        }
    }

    /// Whole numbers, so that a `scale` applies.
    pub(super) fn is_integer(self) -> bool {
        !matches!(self, Number::Bool | Number::F16 | Number::F32 | Number::F64)
    }
}

/// The elements, in the file's own representation while that is smaller.
#[derive(Clone, Debug)]
pub(super) enum Elements {
    /// Numbers as stored; kept packed so that a byte image costs a byte per pixel until the matrix is filled.
    Packed { bytes: Vec<u8>, number: Number, big_endian: bool },
    /// Numbers already converted (from sparse arrays).
    Dense(Vec<f64>),
    /// Strings.
    Text(Vec<String>),
}

/// An array with its sizes; `row_major` says that the last index runs fastest.
#[derive(Clone, Debug)]
pub(super) struct Array {
    pub(super) shape: Vec<usize>,
    pub(super) values: Elements,
    pub(super) row_major: bool,
    /// Declared as an integer type, whatever it is stored as.
    pub(super) integer: bool,
}

impl Array {
    /// A numeric array; the bytes must fill the shape exactly.
    pub(super) fn packed(
        path: &Path,
        name: &str,
        shape: Vec<usize>,
        bytes: Vec<u8>,
        (number, big_endian): (Number, bool),
        row_major: bool,
    ) -> Result<Self> {
        let needed = limits::product(&shape).and_then(|count| count.checked_mul(number.size()));
        if needed != Some(bytes.len()) {
            return Err(Error::format(
                path,
                format!(
                    "{name} is {} but holds {} bytes; the file is damaged",
                    limits::shape_text(&shape),
                    bytes.len()
                ),
            ));
        }
        let values = Elements::Packed { bytes, number, big_endian };
        Ok(Array { shape, values, row_major, integer: number.is_integer() })
    }

    /// Strings in one dimension.
    pub(super) fn text(strings: Vec<String>) -> Self {
        Array { shape: vec![strings.len()], values: Elements::Text(strings), row_major: true, integer: false }
    }

    /// Number of elements.
    pub(super) fn len(&self) -> usize {
        match &self.values {
            Elements::Packed { bytes, number, .. } => bytes.len() / number.size(),
            Elements::Dense(values) => values.len(),
            Elements::Text(strings) => strings.len(),
        }
    }

    /// Strings are not numbers.
    pub(super) fn is_text(&self) -> bool {
        matches!(self.values, Elements::Text(_))
    }

    /// Element `index` in storage order; text gives NaN.
    pub(super) fn number(&self, index: usize) -> f64 {
        match &self.values {
            Elements::Packed { bytes, number, big_endian } => {
                let size = number.size();
                decode(&bytes[index * size..(index + 1) * size], *number, *big_endian)
            }
            Elements::Dense(values) => values[index],
            Elements::Text(_) => f64::NAN,
        }
    }

    /// All elements in storage order; the two usual types without a detour.
    pub(super) fn numbers(&self) -> Vec<f64> {
        match &self.values {
            Elements::Packed { bytes, number: Number::F64, big_endian: false } => {
                bytes.as_chunks::<8>().0.iter().map(|v| f64::from_le_bytes(*v)).collect()
            }
            Elements::Packed { bytes, number: Number::F32, big_endian: false } => {
                bytes.as_chunks::<4>().0.iter().map(|v| f64::from(f32::from_le_bytes(*v))).collect()
            }
            _ => (0..self.len()).map(|i| self.number(i)).collect(),
        }
    }

    /// Element `index` as a label; `None` where it is not a finite number.
    pub(super) fn label(&self, index: usize) -> Option<String> {
        match &self.values {
            Elements::Text(strings) => Some(strings[index].clone()),
            // 64-bit integers beyond 2^53 would lose digits on the way through f64.
            Elements::Packed { bytes, number: Number::I64, big_endian } => {
                Some((integer(bytes, index, *big_endian) as i64).to_string())
            }
            Elements::Packed { bytes, number: Number::U64, big_endian } => {
                Some(integer(bytes, index, *big_endian).to_string())
            }
            // 0.1 as `f32` is 0.1 to its owner, not 0.10000000149011612.
            Elements::Packed { number: Number::F32, .. } => single_label(self.number(index) as f32),
            _ => number_label(self.number(index)),
        }
    }

    /// The only element, if there is just one and it is a number.
    pub(super) fn scalar(&self) -> Option<f64> {
        (self.len() == 1 && !self.is_text()).then(|| self.number(0))
    }
}

/// A sparse matrix from its row indices, column starts and values, as MATLAB has them. The caller has checked that the
/// dense form may be made.
pub(super) fn dense_columns(
    path: &Path,
    name: &str,
    (rows, cols): (usize, usize),
    (places, starts, values): &(Array, Array, Array),
) -> Result<Array> {
    let bad = |why: &str| Error::format(path, format!("sparse `{name}` is damaged: {why}; save the file again"));
    if rows == 0 || cols == 0 {
        return Err(Error::format(path, format!("`{name}` is empty ({rows} x {cols})")));
    }
    if starts.len() != cols + 1 {
        return Err(bad("column starts do not match the columns"));
    }
    let stored = places.len().min(values.len());
    let starts = limits::column_starts((0..starts.len()).map(|k| starts.number(k)), stored)
        .ok_or_else(|| bad("column starts step back, or lead outside of the stored entries"))?;
    let mut dense = limits::filled(path, name, rows * cols, 0.0)?;
    for (col, range) in starts.windows(2).enumerate() {
        for k in range[0]..range[1] {
            let row = places.number(k);
            if !(row >= 0.0 && row < rows as f64) {
                return Err(bad("an entry outside the matrix"));
            }
            dense[row as usize + col * rows] = values.number(k);
        }
    }
    Ok(Array { shape: vec![rows, cols], values: Elements::Dense(dense), row_major: false, integer: false })
}

/// A number as a label: whole ones without a decimal point and with all their digits, others with as many as tell them
/// apart; `None` where it is not finite.
pub(super) fn number_label(value: f64) -> Option<String> {
    let whole = value.fract() == 0.0;
    // Zero is added because -0 is 0.
    value.is_finite().then(|| if whole { format!("{:.0}", value + 0.0) } else { value.to_string() })
}

/// [`number_label`] of a number with fewer digits.
pub(super) fn single_label(value: f32) -> Option<String> {
    if value.fract() == 0.0 { number_label(f64::from(value)) } else { value.is_finite().then(|| value.to_string()) }
}

fn integer(bytes: &[u8], index: usize, big_endian: bool) -> u64 {
    ordered(&bytes[8 * index..8 * index + 8], big_endian)
}

/// The bytes as one unsigned number.
fn ordered(bytes: &[u8], big_endian: bool) -> u64 {
    let join = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
    if big_endian { bytes.iter().fold(0, join) } else { bytes.iter().rev().fold(0, join) }
}

/// One stored number; `bytes` has the type's size.
fn decode(bytes: &[u8], number: Number, big_endian: bool) -> f64 {
    let raw = ordered(bytes, big_endian);
    match number {
        Number::Bool => f64::from(u8::from(raw != 0)),
        Number::U8 | Number::U16 | Number::U32 | Number::U64 => raw as f64,
        Number::I8 => f64::from(raw as u8 as i8),
        Number::I16 => f64::from(raw as u16 as i16),
        Number::I32 => f64::from(raw as u32 as i32),
        Number::I64 => raw as i64 as f64,
        Number::F16 => half(raw as u16),
        Number::F32 => f64::from(f32::from_bits(raw as u32)),
        Number::F64 => f64::from_bits(raw),
    }
}

/// IEEE half precision: 1 sign, 5 exponent, 10 fraction bits.
fn half(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 31);
    let fraction = f64::from(bits & 1023);
    match exponent {
        0 => sign * fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        _ => sign * (1.0 + fraction / 1024.0) * 2f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_type_decodes_in_both_byte_orders() {
        let both = |bytes: &[u8], number| {
            let reversed: Vec<u8> = bytes.iter().rev().copied().collect();
            let (little, big) = (decode(bytes, number, false), decode(&reversed, number, true));
            assert_eq!(little, big);
            little
        };
        assert_eq!(both(&[200], Number::U8), 200.0);
        assert_eq!(both(&[200], Number::I8), -56.0);
        assert_eq!(both(&(-2i16).to_le_bytes(), Number::I16), -2.0);
        assert_eq!(both(&65535u16.to_le_bytes(), Number::U16), 65535.0);
        assert_eq!(both(&(-7i32).to_le_bytes(), Number::I32), -7.0);
        assert_eq!(both(&(-7i64).to_le_bytes(), Number::I64), -7.0);
        assert_eq!(both(&7u64.to_le_bytes(), Number::U64), 7.0);
        assert_eq!(both(&1.5f32.to_le_bytes(), Number::F32), 1.5);
        assert_eq!(both(&(-0.1f64).to_le_bytes(), Number::F64), -0.1);
        assert_eq!(both(&0x3c01u16.to_le_bytes(), Number::F16), 1.0 + 1.0 / 1024.0);
        assert_eq!(both(&0x0001u16.to_le_bytes(), Number::F16), 2f64.powi(-24));
        assert_eq!(both(&0xfc00u16.to_le_bytes(), Number::F16), f64::NEG_INFINITY);
        assert_eq!(both(&[3], Number::Bool), 1.0);
    }

    #[test]
    fn labels_have_no_needless_decimals() {
        assert_eq!(number_label(3.0).as_deref(), Some("3"));
        assert_eq!(number_label(-0.0).as_deref(), Some("0"));
        assert_eq!(number_label(2.5).as_deref(), Some("2.5"));
        assert_eq!(number_label(f64::NAN), None);
        assert_eq!(number_label(1e23).as_deref(), Some("99999999999999991611392"), "as Python's int(1e23)");
        assert_eq!((number_label(1e-7).as_deref(), number_label(-3.0).as_deref()), (Some("0.0000001"), Some("-3")));
        let singles = [0.1f32, 2.0, f32::NAN].map(single_label);
        assert_eq!(singles, [Some("0.1".into()), Some("2".into()), None]);
        let bytes = u64::MAX.to_le_bytes().to_vec();
        let array = Array::packed(Path::new("a"), "y", vec![1], bytes, (Number::U64, false), true).unwrap();
        assert_eq!(array.label(0).as_deref(), Some("18446744073709551615"));
    }
}
