use super::*;
use proptest::prelude::*;

fn try_read(text: &str, y: Option<&str>) -> Result<RawData> {
    let options = ReadOptions { y: y.map(Into::into), ..Default::default() };
    read(Path::new("a.csv"), text.as_bytes(), &options)
}

#[test]
fn headers_are_told_from_data() {
    for (text, y, d, n, first) in [
        ("a,b,label\n1,2,x\n", None, 2, 1, "x"),
        ("label,a,b\n3,2,1\n", None, 2, 1, "3"),
        ("a,b,c\n1,2,3\n", None, 2, 1, "3"),
        ("a,b,c\n1,2,3\n", Some("b"), 2, 1, "2"),
        ("1,2,x\n3,4,z\n", None, 2, 2, "x"),
        ("1,2,5\n3,4,6\n", Some("1"), 2, 2, "1"),
        ("0,1,target\n3,4,6.0\n", None, 2, 1, "6"),
        ("Class;a\nx;1\n", None, 1, 1, "x"),
        ("\"a, quoted\",y\r\n1e3, 7 \r\n", None, 1, 1, "7"),
        ("\u{feff}a,b\n1,2\n", None, 1, 1, "2"),
    ] {
        let raw = try_read(text, y).unwrap();
        assert_eq!((raw.x.nrows(), raw.x.ncols()), (d, n), "{text}");
        assert_eq!(raw.labels.unwrap()[0], first, "{text}");
    }
}

#[test]
fn bad_cells_are_named_by_line_and_column() {
    for (text, y, part) in [
        ("a,b,y\n1,2,0\n1,oops,0\n", None, "line 3, column 2 (`b`) is `oops`"),
        ("1,2,0\n,2,0\n", None, "line 2, column 1 is missing"),
        ("a,y\n1,0\n1\n", None, "line 3 has 1 cells"),
        ("a,y\n1,\n", None, "sample 0"),
        ("a,y\n1,NaN\n", None, "sample 0"),
        ("1,2\n3,4\n", Some("3"), "1 to 2"),
        ("a,b\n", None, "0 samples"),
        ("one\ntwo\n", None, "two columns"),
        ("\n\n", None, "two columns"),
        ("a,is_train,y\n1,2,0\n", None, "0 or 1"),
    ] {
        let message = try_read(text, y).unwrap_err().to_string();
        assert!(message.contains(part), "{text:?} gave {message}");
    }
    let message = read(Path::new("a.csv"), b"a,b\n1,\xff\x01\n", &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("line 2") && message.contains("UTF-8"), "{message}");
}

#[test]
fn options_that_mean_nothing_here_are_refused() {
    let options = ReadOptions { x: Some("X".into()), ..Default::default() };
    assert!(read(Path::new("a.csv"), b"1,2\n", &options).is_err());
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[-0-9.,;\"a-e\n\t ]{0,80}") {
        let _ = try_read(&text, None);
        let _ = variables(Path::new("a.csv"), text.as_bytes(), &ReadOptions::default());
    }

    #[test]
    fn numbers_survive(rows in prop::collection::vec(prop::collection::vec(-1e300f64..1e300, 3), 1..5)) {
        let text: String = rows.iter().map(|row| format!("{},{},{},k\n", row[0], row[1], row[2])).collect();
        let raw = try_read(&text, None).unwrap();
        for (sample, row) in rows.iter().enumerate() {
            for (feature, &value) in row.iter().enumerate() {
                prop_assert_eq!(raw.x[(feature, sample)], value);
            }
        }
    }
}
