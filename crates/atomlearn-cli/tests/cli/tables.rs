//! Tables from inspection to prediction, as people have them.

use crate::{Place, table};
use std::fmt::Write as _;

/// The usual table with other columns in front and behind; `cells` gives what stands there in row `j`.
fn widened(head: &str, front: &dyn Fn(usize) -> String) -> String {
    let mut text = String::new();
    for (j, line) in table(8).lines().enumerate() {
        let front = if j == 0 { head.to_string() } else { front(j - 1) };
        writeln!(text, "{front},{line}").unwrap();
    }
    text
}

/// The columns of a table in another order.
fn reordered(text: &str, order: &[usize]) -> String {
    let line = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        order.iter().map(|&c| cells[c]).collect::<Vec<_>>().join(",") + "\n"
    };
    text.lines().map(line).collect()
}

fn labels(csv: &str) -> Vec<String> {
    csv.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().to_string()).collect()
}

const TRAIN: &str = "--method ridge --prep standard -o m.model";

#[test]
fn columns_in_another_order_give_the_same_answers() {
    let place = Place::new();
    place.write("data.csv", table(8));
    place.ok(&format!("train data.csv {TRAIN}"));
    let expected = place.ok("predict m.model data.csv --scores");
    place.write("turned.csv", reordered(&table(8), &[3, 2, 1, 0, 4]));
    assert_eq!(place.ok("predict m.model turned.csv --scores"), expected);
    place.write("unlabelled.csv", reordered(&table(8), &[2, 0, 3, 1]));
    assert_eq!(place.ok("predict m.model unlabelled.csv --scores"), expected);
    let json = place.json("evaluate m.model turned.csv --json");
    assert_eq!((&json["accuracy"], &json["on_training_data"]), (&1.0.into(), &false.into()));
    place.write("short.csv", reordered(&table(8), &[2, 0, 4]));
    place.refuses("predict m.model short.csv", 3, &["short.csv", "`b`, `d`", "missing"]);
    place.refuses("evaluate m.model unlabelled.csv", 3, &["no column `label`", "--y"]);
    place.write("more.csv", widened("weight", &|j| format!("{j}.5")));
    let run = place.run("predict m.model more.csv --scores");
    assert_eq!((run.code, run.out), (0, expected));
    assert!(run.err.contains("ignored: `weight`"), "{}", run.err);
}

#[test]
fn a_header_of_numbers_is_a_header_from_training_to_prediction() {
    let place = Place::new();
    let text = table(8).replacen("a,b,c,d,label", "400,403,406,409,material", 1);
    place.write("spectra.csv", &text);
    let data = place.json("inspect spectra.csv --json");
    assert_eq!((&data["samples"], &data["classes"].as_array().unwrap().len()), (&24.into(), &3));
    assert_eq!((&data["table"]["header"], &data["table"]["label"]["name"]), (&true.into(), &"material".into()));
    place.ok(&format!("train spectra.csv {TRAIN}"));
    let found = place.ok("predict m.model spectra.csv");
    assert_eq!(found.lines().count(), 25);
    assert_eq!(labels(&found)[..3], ["ant", "bee", "cat"]);
    place.write("back.csv", reordered(&text, &[3, 2, 1, 0]));
    assert_eq!(place.ok("predict m.model back.csv"), found);
    // The user can say otherwise.
    assert_eq!(place.json("inspect spectra.csv --header no --json")["samples"], 25);
    let model = place.json("inspect m.model --json");
    assert_eq!(model["feature_names"], serde_json::json!(["400", "403", "406", "409"]));
}

#[test]
fn the_label_column_is_named_with_the_reason() {
    let place = Place::new();
    place.write("data.csv", table(8).replacen("label", "kind", 1));
    let run = place.run(&format!("train data.csv {TRAIN}"));
    assert!(run.err.contains("labels: column `kind` (the only column of text)"), "{}", run.err);
    let json = place.json(&format!("train data.csv {TRAIN} --json"));
    assert_eq!(json["table"]["label"]["name"], "kind");
    assert!(place.ok("inspect data.csv").contains("labels: column `kind`"));
    // A table without that column loses nothing.
    place.write("new.csv", reordered(&table(8), &[0, 1, 2, 3]));
    assert_eq!(labels(&place.ok("predict m.model new.csv"))[..3], ["ant", "bee", "cat"]);
    // A measured target is refused by name, and shown all the same.
    let mut text = String::from("rooms,area,price\n");
    (0..60).for_each(|j| writeln!(text, "{},{},{}", j % 5, 30 + 7 * j % 13, 1000 + 37 * j).unwrap());
    place.write("houses.csv", &text);
    place.refuses(
        "train houses.csv --method ridge -o h.model",
        3,
        &["`price`", "60 different numbers", "--y", "regression"],
    );
    let run = place.run("inspect houses.csv");
    assert!(run.code == 0 && run.err.contains("`price`"), "{}", run.err);
}

#[test]
fn ids_are_left_out_of_learning_and_kept_beside_the_answers() {
    let place = Place::new();
    place.write("data.csv", table(8));
    place.ok(&format!("train data.csv {TRAIN}"));
    let expected = labels(&place.ok("predict m.model data.csv"));
    for (head, first) in [("", 0), ("Unnamed: 0", 0), ("patient_id", 500), ("nr", 1)] {
        place.write("ids.csv", widened(head, &|j| (first + j).to_string()));
        let run = place.run(&format!("train ids.csv {TRAIN}"));
        assert!(run.code == 0 && run.err.contains("not features"), "{head}: {}", run.err);
        assert_eq!(place.json("inspect m.model --json")["n_features"], 4, "{head}");
        let found = place.ok("predict m.model ids.csv");
        assert!(found.starts_with(&format!("id,label\n{first},ant\n")), "{head}: {found}");
        assert_eq!(labels(&found), expected, "{head}");
        let json = place.json("predict m.model ids.csv --json");
        assert_eq!(json["ids"][1], (first + 1).to_string());
    }
    place.write("ids.csv", widened("code", &|j| format!("s{}", j % 5)));
    place.ok(&format!("train ids.csv --id code {TRAIN}"));
    assert!(place.ok("predict m.model ids.csv").starts_with("id,label\ns0,ant\n"));
    place.write("plain.csv", table(8));
    assert!(place.ok("predict m.model plain.csv").starts_with("sample,label\n0,ant\n"));
}

#[test]
fn messy_cells_need_a_word_and_then_work_for_good() {
    let place = Place::new();
    let holes = widened("color,comment", &|j| format!("{},note {j}", ["red", "green", "", "blue"][j % 4]));
    place.write("messy.csv", &holes);
    place.refuses(&format!("train messy.csv {TRAIN}"), 3, &["`comment`", "--drop comment"]);
    place.refuses(&format!("train messy.csv --drop coment {TRAIN}"), 3, &["did you mean `comment`?"]);
    place.refuses(
        &format!("train messy.csv --drop comment {TRAIN}"),
        3,
        &["line 4, column 1 (`color`)", "--impute median"],
    );
    let run = place.run(&format!("train messy.csv --drop comment --impute median {TRAIN}"));
    assert!(run.code == 0 && run.err.contains("`color`") && run.err.contains("6 missing values"), "{}", run.err);
    assert_eq!(place.json("inspect m.model --json")["n_features"], 7);
    let run = place.run("predict m.model messy.csv");
    assert_eq!((run.code, run.out.lines().count()), (0, 25), "{}", run.err);
    place.write("new.csv", "color,d,c,b,a\nmauve,0,0,1,?\nred,NA,0,0,1\n");
    let run = place.run("predict m.model new.csv");
    assert_eq!((run.code, labels(&run.out).len()), (0, 2), "{}", run.err);
    assert!(run.err.contains("`color`") && run.err.contains("`mauve`"), "{}", run.err);
    place.refuses("predict m.model new.csv --impute mean", 2, &["--impute belongs to training"]);
    // Without --impute a later hole is an error that says where.
    place.write("data.csv", table(8));
    place.ok(&format!("train data.csv {TRAIN}"));
    place.write("new.csv", "a,b,c,d\n1,2,3,4\n1,,3,4\n");
    place.refuses("predict m.model new.csv", 3, &["line 3, column 2 (`b`) is missing", "--impute"]);
}

#[test]
fn semicolons_packing_and_workbooks_give_the_same_model() {
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write as _;
    let place = Place::new();
    place.write("data.csv", table(8));
    place.ok(&format!("train data.csv {TRAIN}"));
    let expected = place.ok("predict m.model data.csv --scores");
    let german = table(8).replace(',', ";").replace('.', ",");
    place.write("german.csv", &german);
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(table(8).as_bytes()).unwrap();
    place.write("data.csv.gz", packed.finish().unwrap());
    place.write("data.txt", table(8).replace(',', " "));
    place.write("data.xlsx", workbook(&table(8)));
    for name in ["german.csv", "data.csv.gz", "data.txt", "data.xlsx"] {
        place.ok(&format!("train {name} {TRAIN}"));
        assert_eq!(place.ok(&format!("predict m.model {name} --scores")), expected, "{name}");
        assert_eq!(place.ok("predict m.model data.csv --scores"), expected, "{name}");
    }
    place.refuses("train data.mat --drop a --method ridge -o n.model", 3, &["data.mat"]);
}

/// A workbook of one sheet with numbers and inline text, packed without compression.
fn workbook(csv: &str) -> Vec<u8> {
    let mut sheet =
        String::from("<worksheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\"><sheetData>");
    for (row, line) in csv.lines().enumerate() {
        write!(sheet, "<row r=\"{}\">", row + 1).unwrap();
        for (column, cell) in line.split(',').enumerate() {
            let at = format!("{}{}", char::from(b'A' + column as u8), row + 1);
            match cell.parse::<f64>() {
                Ok(_) => write!(sheet, "<c r=\"{at}\"><v>{cell}</v></c>").unwrap(),
                Err(_) => write!(sheet, "<c r=\"{at}\" t=\"inlineStr\"><is><t>{cell}</t></is></c>").unwrap(),
            }
        }
        sheet.push_str("</row>");
    }
    sheet.push_str("</sheetData></worksheet>");
    let relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let package = "http://schemas.openxmlformats.org/package/2006/relationships";
    let main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    let members = [
        (
            "_rels/.rels",
            format!(
                "<Relationships xmlns=\"{package}\"><Relationship Id=\"r1\" Type=\"{relation}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            format!(
                "<Relationships xmlns=\"{package}\"><Relationship Id=\"r1\" Type=\"{relation}/worksheet\" Target=\"worksheets/sheet1.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/workbook.xml",
            format!(
                "<workbook xmlns=\"{main}\" xmlns:r=\"{relation}\"><sheets><sheet name=\"Data\" sheetId=\"1\" r:id=\"r1\"/></sheets></workbook>"
            ),
        ),
        ("xl/worksheets/sheet1.xml", sheet),
    ];
    stored_zip(&members)
}

fn stored_zip(members: &[(&str, String)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in members {
        let mut crc = flate2::Crc::new();
        crc.update(text.as_bytes());
        let start = file.len() as u32;
        let mut common = Vec::new();
        [20u16, 0, 0, 0, 33].iter().for_each(|v| common.extend(v.to_le_bytes()));
        [crc.sum(), text.len() as u32, text.len() as u32].iter().for_each(|v| common.extend(v.to_le_bytes()));
        [name.len() as u16, 0].iter().for_each(|v| common.extend(v.to_le_bytes()));
        file.extend(b"PK\x03\x04");
        file.extend(&common);
        file.extend(name.as_bytes());
        file.extend(text.as_bytes());
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&common);
        directory.extend([0; 10]);
        directory.extend(start.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, count) = (file.len() as u32, members.len() as u16);
    file.extend(&directory);
    file.extend(b"PK\x05\x06\x00\x00\x00\x00");
    file.extend(count.to_le_bytes());
    file.extend(count.to_le_bytes());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}

#[test]
fn far_scales_and_own_training_data_are_told() {
    let place = Place::new();
    let plain = table(8);
    let text = plain.lines().enumerate().map(|(j, line)| match j {
        0 => format!("big,{line}\n"),
        _ => format!("{},{line}\n", 1e4 * (j * j % 17) as f64),
    });
    place.write("data.csv", text.collect::<String>());
    let run = place.run("train data.csv --method ridge -o m.model");
    assert!(run.code == 0 && run.err.contains("`big` against") && run.err.contains("--prep standard"), "{}", run.err);
    let run = place.run("compare data.csv --methods ridge --train-per-class 4 --repeats 1");
    assert!(run.err.matches("differ in scale").count() == 1, "{}", run.err);
    // Without a method it is `auto`, which scales features itself.
    let run = place.run("train data.csv -o auto.model");
    assert!(run.code == 0 && !run.err.contains("scale"), "{}", run.err);
    assert_eq!(place.json("inspect auto.model --json")["method"], "auto");
    let run = place.run("train data.csv --method ridge --prep standard,unit -o m.model");
    assert!(!run.err.contains("scale"), "{}", run.err);
    let text = place.ok("evaluate m.model data.csv");
    assert!(text.lines().next().unwrap().contains("trained on"), "{text}");
    assert_eq!(place.json("evaluate m.model data.csv --json")["on_training_data"], true);
    place.write("other.csv", widened("big", &|j| format!("{j}")));
    assert!(!place.ok("evaluate m.model other.csv").lines().next().unwrap().contains("trained on"));
}

#[test]
fn shards_follow_the_first_of_them_by_name() {
    let place = Place::new();
    std::fs::create_dir(place.path("parts")).unwrap();
    let (text, half) = (widened("color", &|j| ["red", "blue"][j % 2].to_string()), 13);
    let lines: Vec<&str> = text.lines().collect();
    let first = lines[..half].join("\n") + "\n";
    let second = format!("{}\n{}\n", lines[0], lines[half..].join("\n"));
    place.write("parts/0.csv", &first);
    place.write("parts/1.csv", reordered(&second, &[5, 4, 0, 3, 2, 1]));
    place.write("whole.csv", &text);
    place.ok("train parts --out-of-core --method ridge --prep standard -o big.model");
    place.ok(&format!("train whole.csv {TRAIN}"));
    let (big, small) = (place.ok("predict big.model whole.csv"), place.ok("predict m.model whole.csv"));
    assert_eq!(big, small);
    assert_eq!(place.ok("predict big.model parts --out-of-core"), small);
    assert_eq!(
        place.json("inspect big.model --json")["feature_names"],
        place.json("inspect m.model --json")["feature_names"]
    );
}

#[test]
fn what_to_type_can_be_typed_whatever_a_column_is_called() {
    let place = Place::new();
    let text = widened("it's \u{d8} (mm)", &|j| if j == 3 { "?".into() } else { format!("{j}") });
    place.write("data.csv", &text);
    let run = place.run("train data.csv --method ridge -o m.model");
    assert_eq!(run.code, 3);
    assert!(run.err.contains(r"--drop 'it'\''s Ø (mm)'"), "{}", run.err);
}
