//! What the server says of itself: the OpenAPI document describes the answers that it gives, the log the requests.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use atomlearn::io::{ColumnKind, Fill, TableSchema};
use atomlearn_serve::{Config, RequestLog, Subject};
use common::{Answer, Running, blobs, blobs_model, config, request};
use serde_json::{Value, json};
use std::io::{BufReader, Read, Write};
use std::sync::Arc;

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// What a value has against a schema; as much of JSON Schema as the document uses.
fn complaints(document: &Value, schema: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let keywords = schema.as_object().unwrap();
    for (keyword, wanted) in keywords {
        let holds = match keyword.as_str() {
            "$ref" => {
                let target = document.pointer(wanted.as_str().unwrap().trim_start_matches('#')).unwrap();
                complaints(document, target, value, place, found);
                true
            }
            "const" => value == wanted,
            "enum" => wanted.as_array().unwrap().contains(value),
            "type" => {
                let types = wanted.as_array().cloned().unwrap_or(vec![wanted.clone()]);
                types.iter().any(|name| is_a(value, name.as_str().unwrap()))
            }
            "minimum" => value.as_f64().is_none_or(|v| v >= wanted.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|v| v <= wanted.as_f64().unwrap()),
            "minItems" => value.as_array().is_none_or(|v| v.len() as u64 >= wanted.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|v| v.len() as u64 <= wanted.as_u64().unwrap()),
            "required" => value.as_object().is_none_or(|object| {
                wanted.as_array().unwrap().iter().all(|name| object.contains_key(name.as_str().unwrap()))
            }),
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    complaints(document, wanted, item, &format!("{place}/{i}"), found);
                }
                true
            }
            "properties" | "additionalProperties" => {
                for (name, item) in value.as_object().into_iter().flatten() {
                    let own = &schema["properties"][name];
                    if keyword == "properties" && own.is_object() {
                        complaints(document, own, item, &format!("{place}/{name}"), found);
                    } else if keyword == "additionalProperties" && own.is_null() {
                        match wanted {
                            Value::Bool(false) => found.push(format!("{place}: `{name}` is not known")),
                            other => complaints(document, other, item, &format!("{place}/{name}"), found),
                        }
                    }
                }
                true
            }
            "anyOf" => wanted.as_array().unwrap().iter().any(|one| fits(document, one, value)),
            "description" | "contentEncoding" | "format" | "default" => true,
            other => panic!("this test does not know `{other}`"),
        };
        if !holds {
            found.push(format!("{place}: {value} does not fit {keyword} {wanted}"));
        }
    }
}

fn fits(document: &Value, schema: &Value, value: &Value) -> bool {
    let mut found = Vec::new();
    complaints(document, schema, value, "", &mut found);
    found.is_empty()
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("unknown type {other}"),
    }
}

/// The answer has a status that the document knows for this request, and the content that it says.
fn is_described(document: &Value, method: &str, path: &str, answer: &Answer) {
    let name = path.split('?').next().unwrap();
    let content = &document["paths"][name][method]["responses"][answer.status.to_string()]["content"];
    let (kind, content) =
        content.as_object().unwrap_or_else(|| panic!("{path} {}", answer.status)).iter().next().unwrap();
    assert!(answer.head.contains(&format!("content-type: {kind}")), "{path}: {}", answer.head);
    if kind == "application/json" {
        let mut found = Vec::new();
        complaints(document, &content["schema"], &answer.json(), path, &mut found);
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

#[test]
fn the_document_describes_every_route_and_the_answers_fit_it() {
    let subjects =
        ["crc", "linear-svm", "src", "auto"].map(|key| blobs(key, if key == "auto" { "none" } else { "unit" }));
    for subject in [common::digits()].into_iter().chain(subjects) {
        let features = subject.model.prep().n_features();
        let server = Running::start(subject, Config { max_samples: 3, ..config() });
        let answer = server.get("/openapi.json");
        assert_eq!(answer.status, 200);
        let document = answer.json();
        assert_eq!(document["openapi"], "3.1.0");
        // The paths of the document are those that the server names, and the page.
        let told = server.get("/nothing").json()["error"].as_str().unwrap().to_string();
        let mut known: Vec<&str> = told.split("the paths are ").nth(1).unwrap().split(' ').collect();
        let mut paths: Vec<&str> = document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
        known.sort_unstable();
        paths.sort_unstable();
        assert_eq!(paths, known);
        for path in paths {
            for (method, operation) in document["paths"][path].as_object().unwrap() {
                assert!(operation["operationId"].is_string() && operation["responses"]["200"].is_object(), "{path}");
                let mut stream = server.connect();
                stream.write_all(&request(&method.to_uppercase(), path, &[("Connection", "close")], b"")).unwrap();
                let mut answer = Vec::new();
                stream.read_to_end(&mut answer).unwrap();
                let takes = if method == "post" { &b"HTTP/1.1 415"[..] } else { b"HTTP/1.1 200" };
                assert!(answer.starts_with(takes), "{method} {path}: {}", String::from_utf8_lossy(&answer));
                assert_eq!(answer.ends_with(b"\r\n\r\n"), method == "head", "{method} {path}");
            }
            let other = server.send("DELETE", path, &[], b"");
            assert_eq!(other.status, 405, "{path}");
        }
        for path in ["/model", "/models", "/healthz", "/metrics", "/openapi.json", "/"] {
            is_described(&document, "get", path, &server.get(path));
        }
        let schema = &document["components"]["schemas"]["Samples"];
        let row = json!(vec![1.5; features]);
        for (status, body) in [
            (200, json!([row, row])),
            (200, row.clone()),
            (200, json!({"rows": [row]})),
            (200, json!({"rows": row})),
            (413, json!([row, row, row, row])),
            (400, json!([])),
            (400, json!([[1.0]])),
            (400, json!({})),
            (400, json!({"rows": [row], "x": 1})),
            (400, json!(3)),
        ] {
            assert_eq!(fits(&document, schema, &body), status != 400, "{body}");
            for path in [
                "/predict",
                "/predict?scores=false&top_k=2",
                "/predict?outlier=true&proba=false",
                "/explain",
                "/explain?row=0",
            ] {
                let answer = server.post_json(path, &body.to_string());
                assert_eq!(answer.status, status, "{path} {body}: {}", answer.text());
                is_described(&document, "post", path, &answer);
            }
        }
        is_described(&document, "post", "/predict", &server.send("POST", "/predict", &[("Content-Type", "a/b")], b""));
        is_described(&document, "get", "/model", &server.send("GET", "/model", &[("Host", "evil.example")], b""));
    }
}

#[test]
fn the_document_describes_samples_with_names() {
    let mut model = blobs_model("crc", "unit");
    let mut table = TableSchema::of_numbers(["a", "b", "c", "d", "e"].map(String::from));
    table.features[3].fill = Some(Fill::Number(0.5));
    table.features[4].kind = ColumnKind::Category { levels: vec!["no".into(), "yes".into()] };
    model.schema = Some(table);
    let server = Running::start(Subject::new(model, "names", None, None), Config { max_samples: 2, ..config() });
    let document = server.get("/openapi.json").json();
    is_described(&document, "get", "/model", &server.get("/model"));
    let sample = json!({"e": "yes", "d": null, "c": 3, "b": "2", "a": 1, "more": [1]});
    let without = |name: &str| {
        let mut sample = sample.clone();
        sample.as_object_mut().unwrap().remove(name);
        sample
    };
    let with = |name: &str, value: Value| {
        let mut sample = sample.clone();
        sample[name] = value;
        sample
    };
    let schema = &document["components"]["schemas"]["Samples"];
    for (status, body) in [
        (200, sample.clone()),
        (200, json!([sample, without("more")])),
        (200, json!({"rows": [sample]})),
        (200, json!({"rows": sample})),
        (200, json!([[1, 2, 3, 4, 0, 1]])),
        (200, with("e", json!(true))),
        (400, without("a")),
        (400, json!([sample, without("e")])),
        (400, with("a", json!(null))),
        (400, with("a", json!(true))),
        (400, with("d", json!([1]))),
        (413, json!([sample, sample, sample])),
        (400, json!({"rows": [sample], "x": 1})),
    ] {
        assert_eq!(fits(&document, schema, &body), status != 400, "{body}");
        for path in ["/predict", "/explain"] {
            let answer = server.post_json(path, &body.to_string());
            assert_eq!(answer.status, status, "{path} {body}: {}", answer.text());
            is_described(&document, "post", path, &answer);
        }
    }
    let csv = server.send("POST", "/predict", &[("Content-Type", "text/csv")], b"e,d,c,b,a\nmaybe,1,2,3,4\n");
    is_described(&document, "post", "/predict", &csv);
    assert_eq!(csv.json()["notes"].as_array().unwrap().len(), 1, "{}", csv.text());
    assert!(document["paths"]["/predict"]["post"]["requestBody"]["content"]["text/csv"].is_object());
}

#[test]
fn the_log_has_a_line_for_every_request_and_nothing_private() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("requests.jsonl");
    let log = Arc::new(RequestLog::to_file(&path).unwrap());
    let mut server = Running::start(blobs("crc", "unit"), Config { log: Some(log), ..config() });
    let row = "[[0.7531, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]]";
    let answers = [
        ("GET", "/healthz", server.get("/healthz")),
        ("POST", "/predict", server.post_json("/predict?scores=false", row)),
        ("POST", "/explain", server.post_json("/explain", "[[1]]")),
        ("GET", "/secret", server.get("/secret?name=private")),
        ("GET", "/metrics", server.get("/metrics")),
    ];
    assert!(answers[4].2.text().contains("atomlearn_log_lines_lost_total 0\n"), "{}", answers[4].2.text());
    let mut stream = server.connect();
    stream.write_all(&request("POST", "/predict", &[JSON, ("Host", "evil.example")], row.as_bytes())).unwrap();
    let evil = Answer::read(&mut BufReader::new(stream));
    server.ask_to_stop();
    server.wait();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains("0.7531") && !text.contains("private"), "{text}");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 6);
    let all = answers.iter().map(|(method, path, answer)| (*method, *path, answer));
    for (line, (method, path, answer)) in lines.iter().zip(all.chain([("POST", "/predict", &evil)])) {
        let asked = json!([line["method"], line["path"], line["status"], line["answer_bytes"]]);
        assert_eq!(asked, json!([method, path, answer.status, answer.body.len()]));
        assert_eq!(line["error"].is_string(), answer.status != 200);
        assert!(line["milliseconds"].as_f64().unwrap() >= 0.0 && line["client"].as_str().unwrap().contains(':'));
    }
    assert_eq!((&lines[1]["body_bytes"], &lines[1]["samples"]), (&json!(row.len()), &json!(2)));
    assert_eq!((&lines[2]["body_bytes"], &lines[2]["samples"]), (&json!(5), &Value::Null));
    assert_eq!((&lines[0]["body_bytes"], &lines[0]["samples"]), (&Value::Null, &Value::Null));
}
