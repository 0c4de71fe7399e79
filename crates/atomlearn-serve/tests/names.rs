//! Samples that name their features: objects and tables in any order get the bits of rows in the right one.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use atomlearn::io::{ColumnKind, Fill, TableSchema};
use atomlearn::prep::PrepSpec;
use atomlearn::registry::{Values, method};
use atomlearn::{Model, synth};
use atomlearn_serve::{Config, Subject};
use common::{Answer, Running, blobs, blobs_model, config};
use serde_json::{Value, json};

const CSV: &str = "text/csv";

/// Two numbers, a flag and a color of three, of which `width` and `color` may be missing.
fn mixed_schema() -> TableSchema {
    let mut schema = TableSchema::of_numbers(["height", "width", "wild", "color"].map(String::from));
    schema.features[1].fill = Some(Fill::Number(0.25));
    schema.features[2].kind = ColumnKind::Boolean;
    schema.features[3].kind = ColumnKind::Category { levels: ["blue", "green", "red"].map(String::from).to_vec() };
    schema.features[3].fill = Some(Fill::Level("green".into()));
    schema
}

fn mixed() -> Subject {
    let mut model = blobs_model("lcdl-sv", "unit");
    model.schema = Some(mixed_schema());
    Subject::new(model, "mixed", None, None)
}

fn numbers() -> Subject {
    let mut model = blobs_model("crc", "unit");
    model.schema = Some(TableSchema::of_numbers(["a", "b", "c", "d", "e", "f"].map(String::from)));
    Subject::new(model, "numbers", None, None)
}

fn post(server: &Running, path: &str, content_type: &str, body: &str) -> Answer {
    server.send("POST", path, &[("Content-Type", content_type)], body.as_bytes())
}

/// The answers without their notes, and the notes.
fn answers(server: &Running, content_type: &str, body: &str) -> (Vec<Value>, Vec<String>) {
    let mut told = Vec::new();
    let mut one = |path: &str| {
        let answer = post(server, path, content_type, body);
        assert_eq!(answer.status, 200, "{body}: {}", answer.text());
        let mut value = answer.json();
        let notes = value.as_object_mut().unwrap().remove("notes").unwrap_or(json!([]));
        told.push(serde_json::from_value::<Vec<String>>(notes).unwrap());
        value
    };
    let found = vec![one("/predict"), one("/explain?row=1")];
    assert_eq!(told[0], told[1]);
    (found, told.swap_remove(0))
}

fn refused(server: &Running, content_type: &str, body: &str, parts: &[&str]) {
    for path in ["/predict", "/explain"] {
        let answer = post(server, path, content_type, body);
        let text = answer.text();
        assert_eq!(answer.status, 400, "{body}: {text}");
        assert!(parts.iter().all(|part| text.contains(part)), "{body}: {text} should have {parts:?}");
    }
}

#[test]
fn objects_and_tables_in_any_order_get_the_bits_of_rows() {
    let server = Running::start(numbers(), config());
    let (right, notes) = answers(&server, "application/json", "[[1.5, 2, -3, 4, 0.1, 6], [-1, 0.3, 2, 1e-3, 5, 0]]");
    assert!(notes.is_empty());
    let objects = r#"[{"f": 6, "b": 2, "a": 1.5, "e": 0.1, "d": 4, "c": -3},
                      {"a": -1, "c": 2, "b": 0.3, "d": 1e-3, "f": 0, "e": "5"}]"#;
    for body in [objects.to_string(), format!("{{\"rows\": {objects}}}")] {
        assert_eq!(answers(&server, "application/json", &body), (right.clone(), Vec::new()));
    }
    for body in
        ["f,b,a,e,d,c\n6,2,1.5,0.1,4,-3\n0,0.3,-1,5,1e-3,2\n", "a;b;c;d;e;f\r\n1.5;2;-3;4;0.1;6\r\n-1;.3;2;0.001;5;0"]
    {
        assert_eq!(answers(&server, CSV, body), (right.clone(), Vec::new()));
    }
    // Without names a table goes by place, and the client is told.
    let (found, notes) = answers(&server, CSV, "1.5,2,-3,4,0.1,6\n-1,0.3,2,0.001,5,0\n");
    assert_eq!(found, right);
    assert!(notes[0].contains("no header"), "{notes:?}");
    let (found, _) = answers(&server, "text/csv; header=absent", "1.5,2,-3,4,0.1,6\n-1,0.3,2,0.001,5,0\n");
    assert_eq!(found, right);
    // One object is one sample.
    let alone = server.post_json("/predict", "[[1.5, 2, -3, 4, 0.1, 6]]").body;
    let object = r#"{"f": 6, "b": 2, "a": 1.5, "e": 0.1, "d": 4, "c": -3}"#;
    for body in [object.to_string(), format!("{{\"rows\": {object}}}"), format!("[{object}]")] {
        assert_eq!(server.post_json("/predict", &body).body, alone, "{body}");
    }
    assert_eq!(server.get("/model").json()["columns"], json!(["a", "b", "c", "d", "e", "f"]));
}

#[test]
fn what_does_not_fit_is_named() {
    let server = Running::start(numbers(), Config { max_samples: 2, ..config() });
    let json = "application/json";
    refused(&server, json, r#"{"a": 1, "b": 2, "d": 4, "f": 6}"#, &["row 0", "2 of the 6", "`c`, `e`"]);
    let whole = r#"{"a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6}"#;
    refused(&server, json, &format!(r#"[{whole}, {{"a": 1, "b": 2}}]"#), &["row 1", "`c`, `d`, `e`, `f`"]);
    refused(&server, json, &whole.replace('3', "null"), &["row 0", "`c`", "missing"]);
    refused(&server, json, &whole.replace('3', "\"x\""), &["row 0", "`c`", "`x`, not a number"]);
    refused(&server, json, &whole.replace('3', "[3]"), &["`c`"]);
    refused(&server, json, &whole.replace('3', "true"), &["`c`", "not a number"]);
    refused(&server, json, &whole.replace("\"c\"", "\"a\""), &["`a` comes twice"]);
    refused(&server, json, &format!("[{whole}, [1, 2, 3, 4, 5, 6]]"), &["mixed"]);
    refused(&server, json, &format!("[[1, 2, 3, 4, 5, 6], {whole}]"), &["mixed"]);
    refused(&server, json, &format!("{{\"rows\": [{whole}], \"a\": 1}}"), &["unknown field `a`"]);
    refused(&server, json, "[{}]", &["6 of the 6", "`f`"]);
    refused(&server, json, "{}", &["no samples"]);
    refused(&server, CSV, "a,b,d,f\n1,2,4,6\n", &["2 of the 6", "`c`, `e`"]);
    refused(&server, CSV, "a,b,c,d,e,f\n1,2,3,4,,6\n", &["line 2", "`e`", "missing"]);
    refused(&server, CSV, "a,b,c,d,e,f\n1,2,3,4,five,6\n2,2,3,4,5,6\n", &["line 2", "`e`", "`five`"]);
    refused(&server, CSV, "1,2,3\n4,5,6\n", &["3 columns", "6"]);
    refused(&server, CSV, &",".repeat(100_000), &["cells"]);
    refused(&server, CSV, "", &["the body"]);
    for (content_type, body) in [(json, format!("[{whole}, {whole}, {whole}]")), (CSV, "1,2,3,4,5,6\n".repeat(3))] {
        assert_eq!(post(&server, "/predict", content_type, &body).status, 413, "{body}");
    }
    // More names than needed do no harm, and are told.
    let more = whole.replace('}', r#", "note": {"x": [1]}, "zip": null}"#);
    let (_, notes) = answers(&server, json, &format!("[{whole}, {more}]"));
    assert_eq!(notes.len(), 1);
    assert!(notes[0].contains("ignored") && notes[0].contains("`note`, `zip`"), "{notes:?}");
    let (_, notes) = answers(&server, CSV, "zip,a,b,c,d,e,f\n9,1,2,3,4,5,6\n8,1,2,3,4,5,6\n");
    assert!(notes.len() == 1 && notes[0].contains("`zip`"), "{notes:?}");
}

#[test]
fn categories_flags_and_missing_values_are_encoded_as_in_training() {
    let server = Running::start(mixed(), config());
    let json = "application/json";
    let (right, _) = answers(&server, json, "[[1, 2, 1, 0, 0, 1], [3, 0.25, 0, 0, 1, 0], [5, 4, 0, 0, 0, 0]]");
    let objects = json!([
        {"color": "red", "wild": true, "height": 1, "width": 2},
        {"color": null, "wild": 0, "height": "3", "width": null},
        {"color": "pink", "wild": "False", "height": 5, "width": 4},
    ]);
    let table = "color,wild,height,width\nred,true,1,2\n,false,3,NA\npink,false,5,4\n";
    let by_place = "1,2,true,red\n3,NA,false,\n5,4,false,pink\n";
    for (content_type, body) in
        [(json, objects.to_string().as_str()), (CSV, table), ("text/csv; header=absent", by_place)]
    {
        let (found, notes) = answers(&server, content_type, body);
        assert_eq!(found, right, "{body}");
        assert!(notes.iter().any(|note| note.contains("`color`") && note.contains("`pink` (1 row)")), "{notes:?}");
    }
    refused(&server, json, &objects.to_string().replace("\"height\":5", "\"height\":null"), &["row 2", "`height`"]);
    refused(&server, json, &objects.to_string().replace("\"False\"", "\"perhaps\""), &["row 2", "`wild`", "perhaps"]);
}

#[test]
fn models_from_python_have_names_and_others_refuse_objects() {
    let mut model = blobs_model("crc", "unit");
    model.info.note("python", json!({"feature_names": ["a", "b", "c", "d", "e", "f"]}));
    let python = Running::start(Subject::new(model, "python", None, None), config());
    let plain = Running::start(blobs("crc", "unit"), config());
    let rows = "[[1, 2, 3, 4, 5, 6], [6, 4, 3, 2, 1, 0]]";
    let right = plain.post_json("/predict", rows).json();
    let objects =
        r#"[{"f": 6, "e": 5, "d": 4, "c": 3, "b": 2, "a": 1}, {"a": 6, "b": 4, "c": 3, "d": 2, "e": 1, "f": 0}]"#;
    let found = python.post_json("/predict", objects).json();
    assert_eq!((&found["scores"], &found["labels"]), (&right["scores"], &right["labels"]));
    refused(&plain, "application/json", objects, &["row 0", "no names for its features"]);
    refused(&plain, "application/json", r#"{"a": 1}"#, &["unknown field `a`", "no names for its features"]);
    // Tables go by place there, with names or without.
    for body in ["1,2,3,4,5,6\n6,4,3,2,1,0\n", "u,v,w,x,y,z\n1,2,3,4,5,6\n6,4,3,2,1,0\n"] {
        assert_eq!(post(&plain, "/predict", CSV, body).json()["scores"], right["scores"], "{body}");
    }
    assert_eq!(plain.get("/model").json()["columns"], Value::Null);
}

#[test]
fn a_column_may_be_called_rows() {
    let prep: PrepSpec = "unit".parse().unwrap();
    let data = synth::blobs(2, 8, 2, 1);
    let mut model = Model::train(method("crc").unwrap(), &Values::new(), &prep, &data, &mut ()).unwrap();
    model.schema = Some(TableSchema::of_numbers(["rows", "columns"].map(String::from)));
    let server = Running::start(Subject::new(model, "rows", None, None), config());
    let right = server.post_json("/predict", "[[1, 2]]").body;
    assert_eq!(server.post_json("/predict", r#"{"rows": 1, "columns": 2}"#).body, right);
}
