//! Numbers as HDF5 describes them: any integer by its bits, and floating point numbers that `f64` holds exactly.

use super::array::Number;
use hdf5_pure::{Datatype, DatatypeByteOrder, FixedPointLayout, FloatingPointLayout};

/// What h5py calls the values of a boolean.
const BOOLEAN: [&str; 2] = ["FALSE", "TRUE"];
/// Largest stored size: no more bits fit into a `u64`.
const LARGEST: usize = 8;

/// How the elements of a dataset are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stored {
    /// Bytes per element.
    pub(super) size: usize,
    big_endian: bool,
    form: NumberForm,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum NumberForm {
    /// A type that [`Number`] has.
    Plain(Number),
    /// An integer that fills some of the bits only.
    Integer { offset: u32, bits: u32, signed: bool },
    /// A number with a sign, a leading 1 that is not stored, and an exponent whose largest value is for infinity and NaN.
    Float { sign: u32, exponent: (u32, u32), mantissa: (u32, u32), bias: i32 },
}

impl Stored {
    /// The form of a datatype; `Ok(None)` where it is not a number, and an error that says why a number cannot be read.
    pub(super) fn of(datatype: &Datatype) -> Result<Option<Self>, String> {
        let order = |order: &DatatypeByteOrder| match order {
            DatatypeByteOrder::LittleEndian => Ok(false),
            DatatypeByteOrder::BigEndian => Ok(true),
            DatatypeByteOrder::Vax => Err("numbers in the byte order of the VAX".to_string()),
        };
        let sized = |size: &u32| {
            let size = usize::try_from(*size).unwrap_or(usize::MAX);
            if size <= LARGEST { Ok(size) } else { Err(format!("numbers of {size} bytes")) }
        };
        Ok(Some(match datatype {
            Datatype::FixedPoint { size, byte_order, layout } => {
                let size = sized(size)?;
                Stored { size, big_endian: order(byte_order)?, form: integer(size, layout)? }
            }
            Datatype::FloatingPoint { size, byte_order, layout } => {
                let size = sized(size)?;
                Stored { size, big_endian: order(byte_order)?, form: float(size, layout)? }
            }
            Datatype::Enumeration { base_type, members, .. } => {
                let Some(base) = Stored::of(base_type)? else { return Ok(None) };
                let names: Vec<&str> = members.iter().map(|member| member.name.as_str()).collect();
                let boolean = base.size == 1 && is_boolean(&names);
                if boolean { Stored { form: NumberForm::Plain(Number::Bool), ..base } } else { base }
            }
            _ => return Ok(None),
        }))
    }

    /// The elements in a form that [`Number`] has, without any change of value.
    pub(super) fn unpack(self, bytes: Vec<u8>) -> (Vec<u8>, Number, bool) {
        let number = match self.form {
            NumberForm::Plain(number) => return (bytes, number, self.big_endian),
            NumberForm::Integer { signed: true, .. } => Number::I64,
            NumberForm::Integer { signed: false, .. } => Number::U64,
            NumberForm::Float { .. } => Number::F64,
        };
        let element = |element: &[u8]| {
            let join = |value: u64, &byte: &u8| value << 8 | u64::from(byte);
            let raw = if self.big_endian { element.iter().fold(0, join) } else { element.iter().rev().fold(0, join) };
            self.form.bits(raw).to_le_bytes()
        };
        (bytes.chunks_exact(self.size).flat_map(element).collect(), number, false)
    }
}

impl NumberForm {
    /// The 64 bits of the value in the form that [`Stored::unpack`] chose.
    fn bits(self, raw: u64) -> u64 {
        let part = |(start, bits): (u32, u32)| raw >> start & (u64::MAX >> (64 - bits));
        match self {
            NumberForm::Plain(_) => raw,
            NumberForm::Integer { offset, bits, signed } => {
                let value = part((offset, bits)) << (64 - bits);
                if signed { (value as i64 >> (64 - bits)) as u64 } else { value >> (64 - bits) }
            }
            NumberForm::Float { sign, exponent, mantissa, bias } => {
                let power = part(exponent);
                let fraction = part(mantissa);
                let scale = |power: i32| 2f64.powi(power - bias);
                let share = fraction as f64 * 2f64.powi(-(mantissa.1 as i32));
                let size = match power {
                    0 => share * scale(1),
                    power if power == u64::MAX >> (64 - exponent.1) && fraction == 0 => f64::INFINITY,
                    power if power == u64::MAX >> (64 - exponent.1) => f64::NAN,
                    power => (1.0 + share) * scale(power as i32),
                };
                (if raw >> sign & 1 == 1 { -size } else { size }).to_bits()
            }
        }
    }
}

/// True for the enumeration that stands for booleans; any other is its numbers.
fn is_boolean(names: &[&str]) -> bool {
    names.len() == BOOLEAN.len() && BOOLEAN.iter().all(|name| names.contains(name))
}

fn integer(size: usize, layout: &FixedPointLayout) -> Result<NumberForm, String> {
    let offset = u32::from(layout.bit_offset);
    let bits = u32::from(layout.bit_precision);
    let signed = layout.signed;
    if bits == 0 || u64::from(offset) + u64::from(bits) > 8 * size as u64 {
        return Err(format!("integers of {bits} bits from bit {offset} on in {size} bytes"));
    }
    let plain = match (size, signed) {
        _ if offset > 0 || bits as usize != 8 * size => None,
        (1, false) => Some(Number::U8),
        (1, true) => Some(Number::I8),
        (2, false) => Some(Number::U16),
        (2, true) => Some(Number::I16),
        (4, false) => Some(Number::U32),
        (4, true) => Some(Number::I32),
        (8, false) => Some(Number::U64),
        (8, true) => Some(Number::I64),
        _ => None,
    };
    Ok(plain.map_or(NumberForm::Integer { offset, bits, signed }, NumberForm::Plain))
}

fn float(size: usize, layout: &FloatingPointLayout) -> Result<NumberForm, String> {
    let exponent = (u32::from(layout.exponent_location), u32::from(layout.exponent_size));
    let mantissa = (u32::from(layout.mantissa_location), u32::from(layout.mantissa_size));
    let whole = (u32::from(layout.bit_offset), u32::from(layout.bit_precision));
    let ieee = |size_: usize, exponent_: (u32, u32), bias: u32| {
        size == size_
            && whole == (0, 8 * size_ as u32)
            && (exponent, mantissa) == (exponent_, (0, exponent_.0))
            && layout.exponent_bias == bias
    };
    for (number, bytes, place, bias) in
        [(Number::F16, 2, (10, 5), 15), (Number::F32, 4, (23, 8), 127), (Number::F64, 8, (52, 11), 1023)]
    {
        if ieee(bytes, place, bias) {
            return Ok(NumberForm::Plain(number));
        }
    }
    let unknown = || {
        format!(
            "floating point numbers of {} bits, {} of them exponent and {} mantissa",
            whole.1, exponent.1, mantissa.1
        )
    };
    let inside = |(start, bits): (u32, u32)| bits > 0 && start >= whole.0 && start + bits <= whole.0 + whole.1;
    let apart = exponent.0 + exponent.1 <= mantissa.0 || mantissa.0 + mantissa.1 <= exponent.0;
    // The sign is the one bit that is left over, wherever it is.
    let fits = inside(exponent) && inside(mantissa) && apart && exponent.1 + mantissa.1 + 1 == whole.1;
    let fits = fits && (whole.0 + whole.1) as usize <= 8 * size;
    let bias = i32::try_from(layout.exponent_bias).ok().filter(|_| fits).ok_or_else(unknown)?;
    // All values must be numbers that `f64` has: at most 52 bits, not above its largest power, not below its smallest.
    let largest = (1i64 << exponent.1.min(32)) - 2 - i64::from(bias);
    let smallest = 1 - i64::from(bias) - i64::from(mantissa.1);
    if exponent.1 > 11 || mantissa.1 > 52 || largest > 1023 || smallest < -1022 {
        return Err(unknown());
    }
    let held = |bit: u32, (start, bits): (u32, u32)| bit >= start && bit < start + bits;
    let free = (whole.0..whole.0 + whole.1).find(|&bit| !held(bit, exponent) && !held(bit, mantissa));
    let sign = free.ok_or_else(unknown)?;
    Ok(NumberForm::Float { sign, exponent, mantissa, bias })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::array::Array;
    use std::path::Path;

    fn values(datatype: &Datatype, bytes: &[u8]) -> Vec<f64> {
        let stored = Stored::of(datatype).unwrap().unwrap();
        let (bytes, number, big_endian) = stored.unpack(bytes.to_vec());
        let shape = vec![bytes.len() / number.size()];
        Array::packed(Path::new("a.h5"), "X", shape, bytes, (number, big_endian), true).unwrap().numbers()
    }

    fn fixed(size: u32, signed: bool, bit_offset: u16, bit_precision: u16) -> Datatype {
        let layout = FixedPointLayout { signed, bit_offset, bit_precision };
        Datatype::FixedPoint { size, byte_order: DatatypeByteOrder::BigEndian, layout }
    }

    fn floating(size: u32, exponent: (u8, u8), mantissa_size: u8, exponent_bias: u32) -> Datatype {
        let layout = FloatingPointLayout {
            bit_offset: 0,
            bit_precision: 8 * size as u16,
            exponent_location: exponent.0,
            exponent_size: exponent.1,
            mantissa_location: 0,
            mantissa_size,
            exponent_bias,
        };
        Datatype::FloatingPoint { size, byte_order: DatatypeByteOrder::LittleEndian, layout }
    }

    #[test]
    fn integers_are_read_by_their_bits() {
        assert_eq!(values(&fixed(2, false, 4, 12), &[0xff, 0xf5, 0x00, 0x1f]), [4095.0, 1.0]);
        assert_eq!(values(&fixed(2, true, 0, 12), &[0x0f, 0xff, 0x07, 0xff]), [-1.0, 2047.0]);
        assert_eq!(values(&fixed(3, true, 0, 24), &[0xff, 0xff, 0xfe, 0, 1, 0]), [-2.0, 256.0]);
        assert_eq!(values(&fixed(2, true, 0, 16), &[0xff, 0xfe]), [-2.0]);
        assert!(Stored::of(&fixed(2, true, 8, 12)).is_err() && Stored::of(&fixed(16, true, 0, 128)).is_err());
    }

    #[test]
    fn brain_floats_are_not_halves() {
        // The upper half of a single.
        let all: Vec<u16> = vec![0x3f80, 0xc040, 0x0001, 0x7f7f, 0xff80, 0x8000, 0x3dcd];
        let bytes: Vec<u8> = all.iter().flat_map(|value| value.to_le_bytes()).collect();
        let expected: Vec<f64> = all.iter().map(|&value| f64::from(f32::from_bits(u32::from(value) << 16))).collect();
        assert_eq!(values(&floating(2, (7, 8), 7, 127), &bytes), expected);
        assert!(values(&floating(2, (7, 8), 7, 127), &[0xc1, 0x7f])[0].is_nan());
        assert_eq!(values(&floating(2, (10, 5), 10, 15), &[0x00, 0x3c]), [1.0], "a half");
        assert_eq!(values(&floating(4, (23, 8), 23, 100), &1.5f32.to_le_bytes()), [1.5 * 2f64.powi(27)]);
        let wide = Stored::of(&floating(8, (48, 15), 48, 16383)).unwrap_err();
        assert!(wide.contains("15 of them exponent"), "{wide}");
        assert!(Stored::of(&floating(16, (112, 15), 112, 16383)).unwrap_err().contains("16 bytes"));
    }

    #[test]
    fn only_the_boolean_enumeration_is_boolean() {
        assert!(is_boolean(&["FALSE", "TRUE"]) && is_boolean(&["TRUE", "FALSE"]));
        assert!(!is_boolean(&["a", "b"]) && !is_boolean(&["FALSE", "TRUE", "MAYBE"]) && !is_boolean(&[]));
        let base_type = Box::new(fixed(1, false, 0, 8));
        assert_eq!(
            values(&Datatype::Enumeration { size: 1, base_type, members: Vec::new() }, &[0, 1, 2]),
            [0.0, 1.0, 2.0]
        );
    }
}
