//! Tables as people have them: headers, names, ids, missing cells, categories, encodings; docs/reference/tables.md has the rules.
#![allow(clippy::unwrap_used, clippy::panic)]

use atomlearn::io::{Cell, ColumnKind, Impute, RawData, ReadOptions, TableSchema, read_bytes};
use atomlearn::{Dataset, Model, Result};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

fn open(name: &str, bytes: impl AsRef<[u8]>, options: &ReadOptions) -> Result<RawData> {
    read_bytes(Path::new(name), bytes.as_ref().to_vec(), options)
}

fn csv(text: &str) -> RawData {
    open("a.csv", text, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn refused(text: &str, options: &ReadOptions) -> String {
    open("a.csv", text, options).map(|raw| format!("read: {raw:?}")).unwrap_err().to_string()
}

fn later(schema: &RawData) -> ReadOptions {
    ReadOptions { schema: schema.schema.clone().map(Arc::new), ..ReadOptions::default() }
}

fn said(raw: &RawData) -> String {
    raw.notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// Feature `i` of sample `j`, in no order and with fractions.
fn value(i: usize, j: usize) -> f64 {
    ((7 * i + 5 * j + 3 * i * j) % 23) as f64 / 10.0
}

/// Twelve samples of `d` features and a column of classes `a`, `b`, `c`, under `header` if there is one.
fn body(d: usize, header: Option<&str>) -> String {
    let mut text = header.map_or(String::new(), |header| format!("{header}\n"));
    for j in 0..12 {
        (0..d).for_each(|i| write!(text, "{},", value(i, j)).unwrap());
        writeln!(text, "{}", ["a", "b", "c"][j % 3]).unwrap();
    }
    text
}

/// Checks that every sample is there, with its values.
fn all_there(what: &str, raw: &RawData, d: usize) {
    assert_eq!((raw.x.nrows(), raw.x.ncols()), (d, 12), "{what}");
    for j in 0..12 {
        (0..d).for_each(|i| assert_eq!(raw.x[(i, j)], value(i, j), "{what}: feature {i} of sample {j}"));
        assert_eq!(raw.labels.as_ref().unwrap()[j], ["a", "b", "c"][j % 3], "{what}");
    }
}

#[test]
fn a_header_is_told_from_a_sample_by_whole_columns() {
    for header in [
        "f0,f1,f2,f3,f4,kind",
        "400,403,406,409,412,material",
        "4000,3996.5,3990,3985,3979,material",
        "0,1,2,3,4,5",
        "1990,1991,1992,1993,1994,what",
        "0.1,7,x,3,4,class",
        "a b,\"c, d\",e,f,g,label",
    ] {
        let raw = csv(&body(5, Some(header)));
        all_there(header, &raw, 5);
        assert!(raw.schema.unwrap().header, "{header}");
    }
    all_there("none", &csv(&body(5, None)), 5);
    assert!(!csv(&body(5, None)).schema.unwrap().header);
    let wide = (0..60).map(|i| (400 + 3 * i).to_string()).collect::<Vec<_>>().join(",");
    all_there("wide", &csv(&body(60, Some(&format!("{wide},material")))), 60);
    // Numbers as labels, under a number.
    let numbers = |text: String| text.replace(",a\n", ",1\n").replace(",b\n", ",2\n").replace(",c\n", ",3\n");
    let raw = csv(&numbers(body(5, Some("0,1,2,3,4,5"))));
    assert_eq!((raw.x.ncols(), raw.schema.unwrap().label.unwrap().name.as_str()), (12, "5"));
    assert_eq!(csv(&numbers(body(5, None))).x.ncols(), 12);
}

#[test]
fn a_first_row_with_a_hole_is_still_a_sample() {
    for hole in ["", "NA", "?", "NaN", "null"] {
        let text = format!("1.5,{hole},a\n3,4,b\n5,6,a\n7,8,b\n");
        let options = ReadOptions { impute: Some(Impute::Mean), ..ReadOptions::default() };
        let raw = open("a.csv", &text, &options).unwrap();
        assert_eq!((raw.x.ncols(), raw.x[(1, 0)]), (4, 6.0), "{hole}");
        assert!(refused(&text, &ReadOptions::default()).contains("line 1, column 2 is missing"));
    }
}

#[test]
fn the_user_has_the_last_word_on_the_header() {
    let options = |header| ReadOptions { header: Some(header), ..ReadOptions::default() };
    let raw = open("a.csv", "1,2,a\n3,4,b\n5,6,a\n", &options(true)).unwrap();
    assert_eq!((raw.x.ncols(), raw.feature_names.unwrap()), (2, vec!["1".to_string(), "2".into()]));
    let raw = open("a.csv", "0,1,2,x\n3,4,9,y\n7,6,5,z\n", &options(false)).unwrap();
    assert_eq!(raw.x.ncols(), 3);
}

#[test]
fn columns_are_found_by_name_in_any_order() {
    let trained = csv("width,height,kind\n1,10,a\n2,20,b\n3,30,a\n");
    let reversed = open("b.csv", "height,note,width\n10,x,1\n20,y,2\n30,z,3\n", &later(&trained)).unwrap();
    assert_eq!(reversed.x, trained.x);
    assert_eq!(reversed.labels, None);
    assert!(said(&reversed).contains("`note`"), "{}", said(&reversed));
    let message = open("b.csv", "heigth,depth\n1,2\n", &later(&trained)).unwrap_err().to_string();
    assert!(message.contains("`width`, `height`"), "{message}");
    let message = open("b.csv", "width,heigth\n1,2\n", &later(&trained)).unwrap_err().to_string();
    assert!(message.contains("is it the column `heigth`?"), "{message}");
    let message = open("b.csv", "width,width,height\n1,2,3\n", &later(&trained)).unwrap_err().to_string();
    assert!(message.contains("two columns are called `width`"), "{message}");
    // Without a header the order is that of training, and the user hears of it.
    let bare = open("b.csv", "1,10\n2,20\n3,30\n", &later(&trained)).unwrap();
    assert_eq!(bare.x, trained.x);
    assert!(bare.notes[0].warning && said(&bare).contains("no header"), "{}", said(&bare));
}

#[test]
fn tables_without_names_go_by_the_number_of_columns() {
    let trained = csv("1.5,2,a\n3,4,b\n5,6,a\n");
    let labeled = open("b.csv", "1.5,2,a\n3,4,b\n5,6,a\n", &later(&trained)).unwrap();
    assert_eq!((&labeled.x, &labeled.labels), (&trained.x, &trained.labels));
    let plain = open("b.csv", "1.5,2\n3,4\n5,6\n", &later(&trained)).unwrap();
    assert_eq!((&plain.x, &plain.labels), (&trained.x, &None));
    let message = open("b.csv", "1,2,3,4\n", &later(&trained)).unwrap_err().to_string();
    assert!(message.contains("4 columns") && message.contains("takes 2 or 3"), "{message}");
}

#[test]
fn the_label_column_is_chosen_by_rule_and_says_why() {
    for (text, name, why) in [
        ("a,Species,b\n1,x,2\n3,y,4\n5,x,1\n", "Species", "usual"),
        ("diagnosis,a,b\n1,2,3\n0,3,4\n1,5,6\n", "diagnosis", "usual"),
        ("a,kind,b\n1,x,2\n3,y,4\n5,x,1\n", "kind", "only column of text"),
        ("a,b,c\n1,2,3\n2,3,4\n4,5,3\n", "c", "last"),
        ("label,a,y\n1,2,3\n2,3,4\n1,5,3\n", "label", "usual"),
    ] {
        let label = csv(text).schema.unwrap().label.unwrap();
        assert_eq!(label.name, name, "{text}");
        assert!(label.why.contains(why), "{text}: {}", label.why);
    }
    let options = ReadOptions { y: Some("a".into()), ..ReadOptions::default() };
    let label = open("a.csv", "a,b,class\n1,2,0\n2,3,1\n1,4,0\n", &options).unwrap().schema.unwrap().label.unwrap();
    assert_eq!((label.name.as_str(), label.why.as_str()), ("a", "named by --y"));
}

#[test]
fn a_target_that_is_no_class_is_refused_by_name() {
    let rows = |target: &dyn Fn(usize) -> String| {
        (0..60)
            .fold("a,b,price\n".to_string(), |text, j| format!("{text}{},{},{}\n", value(0, j), value(1, j), target(j)))
    };
    for text in
        [rows(&|j| format!("{}", 100.5 + j as f64)), rows(&|j| (1000 + 37 * j).to_string()), rows(&|j| format!("n{j}"))]
    {
        let message = refused(&text, &ReadOptions::default());
        for part in ["`price`", "60 different", "option `y", "regression"] {
            assert!(message.contains(part), "{message}");
        }
        let look = ReadOptions { lenient: true, ..ReadOptions::default() };
        assert!(open("a.csv", &text, &look).unwrap().notes.iter().any(|note| note.warning));
    }
    assert!(csv(&rows(&|j| (j / 2).to_string())).labels.is_some());
}

#[test]
fn ids_and_indices_are_no_features() {
    let rows = |head: &str, id: &dyn Fn(usize) -> String| {
        (0..12).fold(format!("{head}f,g,class\n"), |text, j| {
            format!("{text}{},{},{},{}\n", id(j), value(0, j), value(1, j), ["x", "y"][j % 2])
        })
    };
    for (head, id) in [
        (",", 0),
        ("Unnamed: 0,", 0),
        ("id,", 77),
        ("ID,", 3),
        ("Patient ID,", 1000),
        ("index,", 5),
        ("rank of row,", 1),
        ("zero,", 0),
    ] {
        let raw = csv(&rows(head, &|j| (id + j).to_string()));
        assert_eq!(raw.feature_names.as_deref(), Some(&["f".to_string(), "g".into()][..]), "{head}");
        assert_eq!(raw.ids.as_ref().unwrap()[2], (id + 2).to_string(), "{head}");
        assert!(said(&raw).contains("not features"), "{head}: {}", said(&raw));
        let again = open("b.csv", rows(head, &|j| (id + j).to_string()), &later(&raw)).unwrap();
        assert_eq!((again.x, again.ids), (raw.x, raw.ids), "{head}");
    }
    let twice = rows("Unnamed: 0.1,Unnamed: 0,", &|j| format!("{j},{j}"));
    assert_eq!(csv(&twice).schema.unwrap().ids.len(), 2);
    // Measured values are features whatever they are called, and so is what does not count in the order of rows.
    assert_eq!(csv(&rows("index,", &|j| format!("{}", 0.25 * j as f64))).x.nrows(), 3);
    assert_eq!(csv(&rows("n,", &|j| (11 - j).to_string())).x.nrows(), 3);
    let options = ReadOptions { id: Some("code".into()), ..ReadOptions::default() };
    let raw = open("a.csv", rows("code,", &|j| format!("{}", j % 5)), &options).unwrap();
    assert_eq!((raw.x.nrows(), raw.ids.unwrap()[6].as_str()), (2, "1"));
}

#[test]
fn dropped_columns_are_gone_and_misspelt_ones_are_told() {
    let text = "a,\"b, c\",d,class\n1,x,3,0\n2,y,4,1\n3,z,5,0\n";
    let options =
        |names: &[&str]| ReadOptions { drop: names.iter().map(|n| n.to_string()).collect(), ..Default::default() };
    for names in [&["b, c", "d"][..], &["d", "b, c"]] {
        let raw = open("a.csv", text, &options(names)).unwrap();
        assert_eq!(raw.feature_names.unwrap(), ["a"], "{names:?}");
    }
    let raw = open("a.csv", "a,b,c,class\n1,2,3,x\n2,3,4,y\n", &options(&["b, c"])).unwrap();
    assert_eq!(raw.feature_names.unwrap(), ["a"]);
    assert!(refused(text, &options(&["dd"])).contains("did you mean `d`?"));
}

#[test]
fn missing_values_are_filled_as_asked_and_the_model_keeps_how() {
    let text = "a,color,class\n1,red,x\n,red,y\n2,,x\n9,blue,y\n1,red,x\n";
    let message = refused(text, &ReadOptions::default());
    for part in ["line 3, column 1 (`a`)", "2 missing values", "option `impute = median`", "option `drop = a`"] {
        assert!(message.contains(part), "{message}");
    }
    for (impute, fill) in [(Impute::Median, 1.5), (Impute::Mean, 3.25), (Impute::MostFrequent, 1.0)] {
        let options = ReadOptions { impute: Some(impute), ..ReadOptions::default() };
        let raw = open("a.csv", text, &options).unwrap();
        assert_eq!(raw.x[(0, 1)], fill, "{impute:?}");
        // Levels in order: blue, red. The most frequent one is red.
        assert_eq!((raw.x[(1, 2)], raw.x[(2, 2)]), (0.0, 1.0), "{impute:?}");
        let new = open("b.csv", "color,a\n?,NA\n", &later(&raw)).unwrap();
        assert_eq!((new.x[(0, 0)], new.x[(1, 0)], new.x[(2, 0)]), (fill, 0.0, 1.0), "{impute:?}");
    }
    let trained = csv("a,b,class\n1,2,x\n2,3,y\n3,4,x\n");
    let message = open("b.csv", "a,b\n1,2\n1,\n", &later(&trained)).unwrap_err().to_string();
    assert!(message.contains("line 3, column 2 (`b`) is missing") && message.contains("option `impute"), "{message}");
    // Only training rows are learned from.
    let text = "a,is_train,class\n1,1,x\n,1,y\n3,1,x\n500,0,y\n";
    let options = ReadOptions { impute: Some(Impute::Mean), ..ReadOptions::default() };
    assert_eq!(open("a.csv", text, &options).unwrap().x[(0, 1)], 2.0);
}

#[test]
fn text_becomes_categories_and_unseen_ones_are_zero_with_a_warning() {
    let trained = csv("size,color,class\n1,red,x\n2,green,y\n3,red,x\n4,blue,y\n");
    let names = trained.feature_names.clone().unwrap();
    assert_eq!(names, ["size", "color=blue", "color=green", "color=red"]);
    assert_eq!([1, 2, 3].map(|i| trained.x[(i, 0)]), [0.0, 0.0, 1.0]);
    let new = open("b.csv", "color,size\nmauve,5\ngreen,6\n", &later(&trained)).unwrap();
    assert_eq!([1, 2, 3].map(|i| new.x[(i, 0)]), [0.0; 3]);
    assert_eq!([1, 2, 3].map(|i| new.x[(i, 1)]), [0.0, 1.0, 0.0]);
    let warning = new.notes.iter().find(|note| note.warning).unwrap();
    assert!(warning.text.contains("`color`") && warning.text.contains("`mauve` (1 row)"), "{}", warning.text);
    // Numbers among the levels stay levels, also where a later table has only those.
    let trained = csv("size,code,class\n1,07,x\n2,b,y\n3,07,x\n4,c,y\n5,b,x\n");
    let new = open("b.csv", "size,code\n1,07\n", &later(&trained)).unwrap();
    assert_eq!((new.x[(1, 0)], said(&new)), (1.0, String::new()));
    // True and false are one number.
    let trained = csv("on,a,class\nTrue,1,x\nFalse,2,y\ntrue,3,x\n");
    assert_eq!((trained.x.nrows(), trained.x[(0, 0)], trained.x[(0, 1)]), (2, 1.0, 0.0));
    assert_eq!(open("b.csv", "a,on\n1,False\n", &later(&trained)).unwrap().x[(0, 0)], 0.0);
    let names = (0..30).fold("a,text,class\n".to_string(), |text, j| format!("{text}{j}.5,name {j},{}\n", j % 2));
    let message = refused(&names, &ReadOptions::default());
    assert!(
        message.contains("`text`") && message.contains("`drop = text`") && message.contains("`id = text`"),
        "{message}"
    );
}

#[test]
fn bad_cells_are_named_with_the_flag_that_helps() {
    let with = |cell: &str| format!("a,b,class\n1,2,x\n\"{cell}\",3,y\n3,4,x\n4,5,y\n");
    for (cell, part) in [
        ("oops", "`drop = a`"),
        ("1,5", "`decimal = ,`"),
        ("1,000", "thousands"),
        ("1,234.5", "thousands"),
        ("1 000", "thousands"),
        ("1e400", "not a finite number"),
        ("-inf", "not a finite number"),
        ("0x10", "not a number"),
    ] {
        let message = refused(&with(cell), &ReadOptions::default());
        assert!(message.contains("line 3, column 1 (`a`) is") && message.contains(part), "{cell}: {message}");
    }
}

#[test]
fn decimal_commas_separators_and_packing() {
    let points = csv("a,b,kind\n1.5,2.25,x\n2.5,-1e3,y\n3,4,x\n");
    for (name, text) in [
        ("a.csv", "a;b;kind\n1,5;2,25;x\n2,5;-1e3;y\n3;4;x\n"),
        ("a.csv", "a;b;kind\r\n1.5;2.25;x\r\n2.5;-1e3;y\r\n3;4;x\r\n"),
        ("a.csv", "a|b|kind\n1.5|2.25|x\n2.5|-1e3|y\n3|4|x\n"),
        ("a.csv", "a\tb\tkind\n1.5\t2.25\tx\n2.5\t-1e3\ty\n3\t4\tx\n"),
        ("a.tsv", "a\tb\tkind\n1.5\t2.25\tx\n2.5\t-1e3\ty\n3\t4\tx\n"),
        ("a.tsv", "a,b,kind\n1.5,2.25,x\n2.5,-1e3,y\n3,4,x\n"),
        ("a.txt", "a b kind\n1.5  2.25 x\n 2.5 -1e3 y\n3 4 x\n"),
        ("a.txt", "a;b;kind\n1,5;2,25;x\n2,5;-1e3;y\n3;4;x\n"),
        ("a.csv", "\u{feff}a,b,kind\r1.5,2.25,x\r2.5,-1e3,y\r3,4,x\r"),
    ] {
        let raw = open(name, text, &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!((&raw.x, &raw.labels), (&points.x, &points.labels), "{name} {text}");
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(text.as_bytes()).unwrap();
        let raw = open(&format!("{name}.gz"), packed.finish().unwrap(), &ReadOptions::default()).unwrap();
        assert_eq!(raw.x, points.x, "{name}.gz");
    }
    let quoted = "a,b,kind\n\"1,5\",\"2,25\",x\n\"2,5\",-1e3,y\n3,4,x\n";
    let comma = ReadOptions { decimal_comma: Some(true), ..ReadOptions::default() };
    assert_eq!(open("a.csv", quoted, &comma).unwrap().x, points.x);
    // A model of such a table takes the other kind too.
    let german = open("a.csv", "a;b;kind\n1,5;2,25;x\n2,5;-1e3;y\n3;4;x\n", &ReadOptions::default()).unwrap();
    for text in ["b,a\n2.25,1.5\n", "a;b\n1,5;2,25\n", "a\tb\n1,5\t2,25\n"] {
        let new = open("b.csv", text, &later(&german)).unwrap();
        assert_eq!([new.x[(0, 0)], new.x[(1, 0)]], [1.5, 2.25], "{text}");
    }
    // A point may part thousands where commas are decimal.
    let message =
        open("a.csv", "a;b;kind\n1,5;1.234;x\n2,5;2;y\n3;4;x\n", &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("`1.234`") && message.contains("`decimal = .`"), "{message}");
    // Names that R writes: one cell less in the header.
    let raw = csv("a,b,kind\nr1,1.5,2.25,x\nr2,2.5,-1e3,y\nr3,3,4,x\n");
    assert_eq!((raw.x, raw.ids.unwrap()[1].as_str()), (points.x, "r2"));
}

#[test]
fn broken_rows_are_refused() {
    for (text, part) in [
        ("a,b,kind\n1,2,x\n3,4,\"y\n5,6,x\n7,8,y\n", "line 3 opens a quotation mark"),
        ("1,2\n3,4,x\n5,6,y\n", "one cell less"),
        ("a,b,kind\n1,2,x\n3,4\n", "line 3 has 2 cells"),
    ] {
        let message = refused(text, &ReadOptions::default());
        assert!(message.contains(part), "{message}");
    }
    let raw = csv("a,b,kind\n1,2,\"x \"\"one\"\"\nand more\"\n3,4,5\" y\n");
    assert_eq!(raw.labels.unwrap(), ["x \"one\"\nand more", "5\" y"]);
}

#[test]
fn other_encodings_are_read_with_a_word() {
    let latin = b"l\xe4nge,breite,stra\xdfe\n1,2,M\xfcnchen\n3,4,K\xf6ln\n5,6,K\xf6ln\n";
    let raw = open("a.csv", latin, &ReadOptions::default()).unwrap();
    assert_eq!(raw.feature_names.as_ref().unwrap()[0], "länge");
    assert_eq!(raw.labels.as_ref().unwrap()[0], "München");
    assert!(said(&raw).contains("latin-1"), "{}", said(&raw));
    let wide: Vec<u8> = std::iter::once(0xfeffu16)
        .chain("ä,b,kind\n1,2,x\n3,4,y\n".encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(open("a.csv", wide, &ReadOptions::default()).unwrap().feature_names.unwrap()[0], "ä");
    assert!(open("a.csv", b"\x00\x01\xff\xfe\x00,1\n", &ReadOptions::default()).is_err());
}

#[test]
fn a_packed_bomb_is_refused_before_it_fills_the_memory() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    let block = b"0,0\n".repeat(1 << 18);
    (0..200).for_each(|_| packed.write_all(&block).unwrap());
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 1 << 20);
    let message = open("a.csv.gz", packed, &ReadOptions::default()).unwrap_err().to_string();
    assert!(message.contains("unpacks to more than"), "{message}");
}

#[test]
fn a_copy_of_the_labels_is_no_feature() {
    let rows = |name: &str| {
        (0..12).fold(format!("f,{name},species\n"), |text, j| {
            format!("{text}{},{},{}\n", value(0, j), j % 3, ["ant", "bee", "cat"][j % 3])
        })
    };
    // Of two names for labels the first in the list is taken, and the other says the same.
    let raw = csv(&rows("target"));
    assert_eq!((raw.x.nrows(), raw.schema.unwrap().left_out[0].name.as_str()), (1, "species"));
    let raw = csv(&rows("code"));
    assert_eq!(raw.x.nrows(), 2);
    assert!(raw.notes.iter().any(|note| note.warning && note.text.contains("`drop = code`")), "{}", said(&raw));
}

#[test]
fn two_columns_of_one_name_are_refused() {
    assert!(refused("a,a,class\n1,2,x\n3,4,y\n", &ReadOptions::default()).contains("two columns are called `a`"));
}

#[test]
fn a_schema_goes_with_the_model_and_old_files_have_none() {
    let raw = csv(&body(4, Some("p,q,r,s,class")));
    let train = Dataset::new(raw.x.as_ref(), raw.labels.as_ref().unwrap()).unwrap();
    let method = atomlearn::registry::method("ridge").unwrap();
    let mut model = Model::train(method, &Default::default(), &"standard".parse().unwrap(), &train, &mut ()).unwrap();
    assert!(Model::from_bytes(&model.to_bytes().unwrap()).unwrap().schema.is_none());
    model.schema = raw.schema.clone();
    let back = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(back.schema, raw.schema);
    // One that does not fit the model is refused.
    model.schema = Some(TableSchema::of_numbers(["p", "q"].map(String::from)));
    let refused = Model::from_bytes(&model.to_bytes().unwrap()).err().unwrap().to_string();
    assert!(refused.contains("`table`"), "{refused}");
    model.schema = Some(TableSchema::of_numbers(["p", "q", "q", "r"].map(String::from)));
    assert!(Model::from_bytes(&model.to_bytes().unwrap()).is_err());
}

#[test]
fn callers_can_encode_their_own_cells() {
    let schema =
        csv("size,color,on,class\n1,red,true,x\n2,green,false,y\n3,red,true,x\n4,blue,true,y\n").schema.unwrap();
    assert!(matches!(&schema.features[1].kind, ColumnKind::Category { levels } if levels.len() == 3));
    let matched = schema.match_columns(&["on", "extra", "color", "size"]).unwrap();
    assert_eq!((matched.places.clone(), matched.others), (vec![3, 2, 0], vec![1]));
    let rows = [[Cell::Text("true"), Cell::Missing, Cell::Text("red"), Cell::Number(2.5)]];
    let cell = |row: usize, feature: usize| rows[row][matched.places[feature]];
    let encoded = schema.encode(1, cell, |row, feature| format!("row {row}, {feature}")).unwrap();
    assert_eq!((0..5).map(|i| encoded.x[(i, 0)]).collect::<Vec<_>>(), [2.5, 0.0, 0.0, 1.0, 1.0]);
    let wrong = schema.encode(1, |_, _| Cell::Text("much"), |row, _| format!("row {row}")).unwrap_err().to_string();
    assert!(wrong.contains("row 0 is `much`, not a number"), "{wrong}");
    assert_eq!(schema.feature_names().len(), schema.n_features());
}
