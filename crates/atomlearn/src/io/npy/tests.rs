use super::*;
use crate::io::ReadOptions;
use crate::io::assemble::assemble;
use proptest::prelude::*;

fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    out.extend([1, 0]);
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    out.extend(data);
    out
}

fn array(header: &str, data: &[u8]) -> Result<Array> {
    parse(Path::new("a.npy"), "X", &npy(header, data))
}

#[test]
fn headers_of_every_spelling_are_understood() {
    for header in [
        "{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }\n",
        "{\"shape\":(2L,),\"descr\":\"<i2\",\"fortran_order\":False}",
        "{'descr': 'i2', 'fortran_order': False, 'shape': (2,)}",
    ] {
        let array = array(header, &[1, 0, 255, 255]).unwrap();
        assert_eq!((array.number(0), array.number(1)), (1.0, -1.0), "{header}");
    }
    let scalar = array("{'descr': '>f8', 'fortran_order': True, 'shape': ()}", &2.5f64.to_be_bytes()).unwrap();
    assert_eq!(scalar.scalar(), Some(2.5));
    let words = array("{'descr': '|S2', 'fortran_order': False, 'shape': (2,)}", b"a\0bc").unwrap();
    assert_eq!((words.label(0).unwrap(), words.label(1).unwrap()), ("a".into(), "bc".into()));
}

#[test]
fn wrong_headers_and_sizes_are_errors() {
    for header in [
        "",
        "{}",
        "{'descr': '<f8', 'fortran_order': Maybe, 'shape': (1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (18446744073709551615, 18446744073709551615)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693951,)}",
        "{'descr': '<c16', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<U0', 'fortran_order': False, 'shape': (100000000,)}",
        "{'descr': '<U99999999999999999999', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': 'é', 'fortran_order': False, 'shape': (1,)}",
    ] {
        assert!(array(header, &[0; 8]).is_err(), "{header}");
    }
}

proptest! {
    #[test]
    fn both_orders_give_the_same_matrix(rows in 1usize..6, cols in 1usize..6, values in prop::collection::vec(any::<i16>(), 36)) {
        let at = |row: usize, col: usize| values[row * 6 + col];
        let order = |fortran: bool| {
            let mut data = Vec::new();
            for k in 0..rows * cols {
                let (row, col) = if fortran { (k % rows, k / rows) } else { (k / cols, k % cols) };
                data.extend(at(row, col).to_le_bytes());
            }
            let name = if fortran { "True" } else { "False" };
            let bytes = npy(&format!("{{'descr': '<i2', 'fortran_order': {name}, 'shape': ({rows}, {cols})}}"), &data);
            assemble(&Npy::scan(Path::new("a.npy"), &bytes).unwrap(), &ReadOptions::default()).unwrap().x
        };
        let c = order(false);
        let f = order(true);
        prop_assert_eq!(&c, &f);
        prop_assert_eq!(c[(cols - 1, rows - 1)], f64::from(at(rows - 1, cols - 1)));
    }

    #[test]
    fn any_header_is_read_or_refused(header in "[{}'():,<>|a-zA-Z0-9 ]{0,80}") {
        let _ = array(&header, &[0; 8]);
    }
}
