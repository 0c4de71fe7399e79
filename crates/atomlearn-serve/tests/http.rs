//! The server over real sockets: answers, refusals, limits, company, end.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use atomlearn::archive::Content;
use atomlearn::registry::METHODS;
use atomlearn::{Mat, Model, io};
use atomlearn_features::FeatureMap;
use atomlearn_serve::{Config, Subject};
use common::{Answer, Running, blobs, blobs_model, config, npy, request, rows};
use serde_json::{Value, json};
use std::io::{BufReader, Read, Write};
use std::time::{Duration, Instant};

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// Samples of the blobs' six features.
fn samples(n: usize) -> Mat<f64> {
    Mat::from_fn(6, n, |i, j| ((i * 13 + j * 7 + i * j) % 17) as f64 / 3.0 - 2.0)
}

/// Scores as the program's `predict` finds them, one row per sample.
fn expected(model: &Model, x: &Mat<f64>) -> (Vec<String>, Vec<Vec<f64>>) {
    let scores = model.scores(x.as_ref()).unwrap();
    let labels = model.predict(x.as_ref()).unwrap().into_iter().map(|c| model.classes()[c].clone()).collect();
    (labels, scores.col_iter().map(|column| column.iter().copied().collect()).collect())
}

fn found(answer: &Answer) -> (Vec<String>, Vec<Vec<f64>>) {
    assert_eq!(answer.status, 200, "{}", answer.text());
    let value = answer.json();
    assert_eq!(value["schema"], "atomlearn.predict/1");
    // JSON has no infinity: null is minus infinity.
    let number = |v: &Value| v.as_f64().unwrap_or(f64::NEG_INFINITY);
    let row = |row: &Value| row.as_array().unwrap().iter().map(number).collect();
    let scores = value["scores"].as_array().map_or(Vec::new(), |scores| scores.iter().map(row).collect());
    (serde_json::from_value(value["labels"].clone()).unwrap(), scores)
}

#[test]
fn every_way_of_sending_samples_gives_the_bits_of_predict() {
    let (model, x) = (blobs_model("lcdl-sv", "pca:4,unit"), samples(5));
    let server = Running::start(blobs("lcdl-sv", "pca:4,unit"), config());
    let right = expected(&model, &x);
    let json = rows(x.as_ref());
    for body in [json.clone(), format!("{{\"rows\": {json}}}"), format!(" {json}\n")] {
        assert_eq!(found(&server.post_json("/predict", &body)), right);
    }
    assert_eq!(found(&server.post_npy("/predict", &npy(x.as_ref()))), right);
    let octets = [("Content-Type", "application/octet-stream")];
    assert_eq!(found(&server.send("POST", "/predict", &octets, &npy(x.as_ref()))), right);
    let charset = [("Content-Type", "Application/JSON; charset=utf-8")];
    assert_eq!(found(&server.send("POST", "/predict", &charset, json.as_bytes())), right);
    // A sample alone, as a row or without brackets around it, has the scores it has among others.
    for (j, (label, scores)) in right.0.iter().zip(&right.1).enumerate() {
        let one = rows(x.subcols(j, 1));
        for body in [&one[..], &one[1..one.len() - 1]] {
            assert_eq!(found(&server.post_json("/predict", body)), (vec![label.clone()], vec![scores.clone()]));
        }
    }
    let short = server.post_json("/predict?scores=false", &json);
    assert_eq!(found(&short), (right.0, Vec::new()));
}

#[test]
fn company_changes_no_bits_where_requests_are_joined() {
    let x = samples(11);
    for prep in ["unit", "standard,pca:4,unit", "unit,kernel:rbf:auto"] {
        for method in METHODS {
            let subject = blobs(method.key, prep);
            let model = &subject.model;
            assert_eq!(subject.joins(), method.independent_samples);
            if !subject.joins() {
                continue;
            }
            let all = model.scores(x.as_ref()).unwrap();
            for (start, n) in [(0, 2), (3, 2), (4, 5), (9, 2)] {
                let some = model.scores(x.subcols(start, n)).unwrap();
                assert_eq!(some, all.subcols(start, n).to_owned(), "{} behind {prep}", method.key);
            }
        }
    }
}

#[test]
fn every_method_gives_the_bits_of_predict() {
    let x = samples(7);
    for method in METHODS {
        let server = Running::start(blobs(method.key, "unit,kernel:rbf:auto"), config());
        let right = expected(&blobs_model(method.key, "unit,kernel:rbf:auto"), &x);
        assert_eq!(found(&server.post_npy("/predict", &npy(x.as_ref()))), right, "{}", method.key);
    }
}

#[test]
fn concurrent_requests_share_batches_and_keep_their_bits() {
    let (model, x) = (blobs_model("lcdl-sv", "unit"), samples(40));
    let (_, scores) = expected(&model, &x);
    let server = Running::start(blobs("lcdl-sv", "unit"), config());
    std::thread::scope(|scope| {
        for t in 0..8 {
            let (server, x, scores) = (&server, &x, &scores);
            scope.spawn(move || {
                let mut stream = BufReader::new(server.connect());
                for i in 0..100 {
                    let (start, n) = ((7 * t + 3 * i) % 37, 1 + (t + i) % 3);
                    let body = npy(x.subcols(start, n));
                    let content = [("Content-Type", "application/x-npy")];
                    stream.get_mut().write_all(&request("POST", "/predict", &content, &body)).unwrap();
                    assert_eq!(found(&Answer::read(&mut stream)).1, scores[start..start + n]);
                }
            });
        }
    });
    let metrics = server.get("/metrics");
    let count = |name: &str| {
        let line = metrics.text().lines().find(|line| line.starts_with(name)).unwrap();
        line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()
    };
    assert_eq!(count("atomlearn_requests_total{path=\"/predict\",status=\"200\"}"), 800.0);
    assert_eq!(count("atomlearn_predict_seconds_count"), 800.0);
    let samples: usize = (0..8).flat_map(|t| (0..100).map(move |i| 1 + (t + i) % 3)).sum();
    assert_eq!(count("atomlearn_samples_total"), samples as f64);
    assert_eq!(count("atomlearn_batch_samples_sum"), samples as f64);
    assert!(count("atomlearn_batch_samples_count") <= 800.0);
    assert_eq!(count("atomlearn_in_flight_requests"), 1.0, "the request for the metrics themselves");
}

#[test]
fn bad_requests_are_told_what_where_and_what_to_do() {
    let limits = Config { max_body: 20_000, max_samples: 50, ..config() };
    let server = Running::start(blobs("crc", "unit"), limits);
    let refused = |answer: Answer, status: u16, words: &[&str]| {
        assert_eq!(answer.status, status, "{}", answer.text());
        assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
        let value = answer.json();
        let text = value["error"].as_str().unwrap();
        for word in words {
            assert!(text.contains(word), "`{word}` is not in: {text}");
        }
    };
    let json_cases: &[(&str, u16, &[&str])] = &[
        ("[[1, 2, 3, 4, 5]]", 400, &["row 0", "5 numbers", "takes 6"]),
        ("[[1,2,3,4,5,6],[1,2,3,4,5,6,7]]", 400, &["row 1", "more than 6", "column"]),
        ("[1, 2, 3]", 400, &["row 0", "3 numbers", "takes 6"]),
        ("[1,2,3,4,5,6,7]", 400, &["more than 6"]),
        ("[[1,2,3,4,5,6], 7]", 400, &["mixed"]),
        ("[1, [1,2,3,4,5,6]]", 400, &["mixed"]),
        ("[[1,2,3,4,5,null]]", 400, &["null", "f64"]),
        ("[[1,2,3,4,5,\"x\"]]", 400, &["string", "column"]),
        ("[[1,2,3,4,5,NaN]]", 400, &["line 1 column"]),
        ("[[1,2,3,4,5,1e999]]", 400, &["out of range"]),
        ("[[1,2,3,4,5,6]", 400, &["EOF"]),
        ("[[1,2,3,4,5,6]] x", 400, &["trailing"]),
        ("{\"x\": [[1,2,3,4,5,6]]}", 400, &["unknown field `x`", "rows"]),
        ("{\"rows\": 3}", 400, &["rows of numbers"]),
        ("{}", 400, &["no samples"]),
        ("[]", 400, &["no samples", "application/x-npy"]),
        ("", 400, &["EOF"]),
        ("\u{fffd}", 400, &["expected value"]),
    ];
    for (body, status, words) in json_cases {
        refused(server.post_json("/predict", body), *status, words);
        refused(server.post_json("/explain", body), *status, words);
    }
    refused(server.post_json("/predict", &"[".repeat(9000)), 400, &["cannot be used"]);
    let many = rows(samples(51).as_ref());
    refused(server.post_json("/predict", &many), 413, &["50 samples", "--max-samples"]);
    refused(server.post_npy("/predict", &npy(samples(51).as_ref())), 413, &["50 samples"]);
    refused(server.post_json("/predict", &" ".repeat(20_001)), 413, &["20000 bytes", "--max-body"]);

    let good = npy(samples(2).as_ref());
    refused(server.post_npy("/predict", b"not an array"), 400, &["not a NumPy array"]);
    refused(server.post_npy("/predict", &good[..good.len() - 1]), 400, &["ends too early"]);
    refused(server.post_npy("/predict", &npy(Mat::zeros(5, 2).as_ref())), 400, &["5 features", "takes 6"]);
    let mut nan = samples(3);
    nan[(4, 1)] = f64::NAN;
    refused(server.post_npy("/predict", &npy(nan.as_ref())), 400, &["sample 1, feature 4", "NaN"]);
    let huge = String::from_utf8_lossy(&good[10..70]).replace("(2, 6)", "(9999999999999, 6)").into_bytes();
    let huge = [&b"\x93NUMPY\x01\x00"[..], &(huge.len() as u16).to_le_bytes(), &huge].concat();
    let answer = server.post_npy("/predict", &huge);
    assert_eq!(answer.status, 400, "{}", answer.text());

    let body = rows(samples(1).as_ref());
    refused(server.send("POST", "/predict", &[], body.as_bytes()), 415, &["no content type", "application/json"]);
    let form = [("Content-Type", "text/plain")];
    refused(server.send("POST", "/predict", &form, body.as_bytes()), 415, &["text/plain", "application/x-npy"]);
    refused(server.get("/nothing"), 404, &["/nothing", "/predict"]);
    for (method, path, allow) in
        [("GET", "/predict", "post"), ("POST", "/metrics", "get, head"), ("DELETE", "/", "get, head")]
    {
        let answer = server.send(method, path, &[], b"");
        assert!(answer.head.contains(&format!("allow: {allow}")), "{}", answer.head);
        refused(answer, 405, &[path, "use"]);
    }
    refused(server.post_json("/predict?rule=svm", &body), 400, &["rule=svm", "scores=true"]);
    refused(server.post_json("/explain?row=x", &body), 400, &["row=x"]);
    refused(server.post_json("/explain?row=1", &body), 400, &["row 1", "0 to 0"]);
    let evil = [JSON, ("Host", "evil.example")];
    refused(server.send("POST", "/predict", &evil, body.as_bytes()), 403, &["evil.example", "--host"]);
    let foreign = [JSON, ("Origin", "https://evil.example")];
    refused(server.send("POST", "/predict", &foreign, body.as_bytes()), 403, &["origins"]);
    // After all this it still works.
    assert_eq!(server.post_json("/predict", &body).status, 200);
}

#[test]
fn bodies_without_a_length_are_bounded_too() {
    let server = Running::start(blobs("crc", "unit"), Config { max_body: 10_000, ..config() });
    let send = |chunks: &[&[u8]]| {
        let mut text = request("POST", "/predict", &[JSON, ("Transfer-Encoding", "chunked")], b"");
        for chunk in chunks {
            text.extend(format!("{:x}\r\n", chunk.len()).bytes().chain(chunk.iter().copied()).chain(*b"\r\n"));
        }
        text.extend(b"0\r\n\r\n");
        let mut stream = server.connect();
        stream.write_all(&text).unwrap();
        Answer::read(&mut BufReader::new(stream))
    };
    assert_eq!(send(&[b"[[1,2,", b"3,4,5", b",6]]"]).status, 200);
    assert_eq!(send(&[&[b' '; 6000], &[b' '; 6000]]).status, 413);
}

#[test]
fn too_much_data_at_a_time_is_refused_for_now() {
    let limits = Config { max_body: 60_000, max_in_flight: 60_000, ..config() };
    let server = Running::start(blobs("crc", "unit"), limits);
    let head = request("POST", "/predict", &[JSON, ("Content-Length", "50000")], &[b' '; 40_000]);
    let body = " ".repeat(40_000) + &rows(samples(1).as_ref());
    let start = Instant::now();
    let status = || server.post_json("/predict", &body).status;
    // The first to arrive takes the memory; on a busy machine that may be the second, so the first tries again.
    let slow = loop {
        let mut slow = server.connect();
        slow.write_all(&head).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        if status() == 503 {
            break slow;
        }
        assert!(start.elapsed() < Duration::from_secs(20), "never refused");
    };
    drop(slow);
    while status() != 200 {
        assert!(start.elapsed() < Duration::from_secs(20), "never free again");
    }
}

#[test]
fn slow_clients_do_not_stay() {
    let short = Duration::from_millis(500);
    let limits = Config { header_time: short, request_time: short, ..config() };
    let server = Running::start(blobs("crc", "unit"), limits);
    let start = Instant::now();
    // Half a head, and nothing at all.
    let mut half = server.connect();
    half.write_all(b"GET /healthz HTTP/1.1\r\nHo").unwrap();
    let mut idle = server.connect();
    let mut rest = Vec::new();
    let _ = half.read_to_end(&mut rest);
    let _ = idle.read_to_end(&mut rest);
    assert!(start.elapsed() >= Duration::from_millis(200) && start.elapsed() < Duration::from_secs(10));
    // A body that does not come.
    let mut late = server.connect();
    late.write_all(&request("POST", "/predict", &[JSON, ("Content-Length", "50")], b"[[1,")).unwrap();
    let answer = Answer::read(&mut BufReader::new(late));
    assert_eq!(answer.status, 408);
    assert!(answer.json()["error"].as_str().unwrap().contains("0.5 s"), "{}", answer.text());
}

#[test]
fn a_stop_finishes_what_has_begun_and_takes_nothing_new() {
    let mut server = Running::start(blobs("crc", "unit"), config());
    let body = rows(samples(3).as_ref());
    let text = request("POST", "/predict", &[JSON], body.as_bytes());
    let (first, second) = text.split_at(text.len() - 10);
    let mut begun = BufReader::new(server.connect());
    begun.get_mut().write_all(first).unwrap();
    let idle = server.connect();
    std::thread::sleep(Duration::from_millis(200));
    server.ask_to_stop();
    std::thread::sleep(Duration::from_millis(200));
    assert!(std::net::TcpStream::connect(server.address).is_err(), "new connections are refused");
    begun.get_mut().write_all(second).unwrap();
    assert_eq!(Answer::read(&mut begun).status, 200);
    let start = Instant::now();
    server.wait();
    assert!(start.elapsed() < Duration::from_secs(5), "idle connections do not hold it up");
    drop(idle);
}

#[test]
fn an_explanation_agrees_with_predict() {
    let server = Running::start(common::digits(), config());
    let digits = io::digits();
    let x = digits.x.subcols(10, 3);
    let (labels, scores) = found(&server.post_npy("/predict", &npy(x)));
    let answer = server.post_npy("/explain?row=2", &npy(x));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let why = answer.json();
    assert_eq!((&why["schema"], &why["row"], &why["rows"]), (&json!("atomlearn.explain/1"), &json!(2), &json!(3)));
    assert_eq!(why["label"], labels[2]);
    assert_eq!(why["scores"]["fused"], json!(scores[2]));
    let eta2 = why["eta2"].as_f64().unwrap();
    for c in 0..10 {
        let part = |rule: &str| why["scores"][rule][c].as_f64().unwrap();
        assert!((part("residual") + eta2 * part("svm") - part("fused")).abs() < 1e-9);
    }
    assert_eq!(why["picture"], json!([8, 8]));
    let atoms = why["atoms"].as_array().unwrap();
    let shares: Vec<f64> = atoms.iter().map(|atom| atom["share"].as_f64().unwrap()).collect();
    assert!(shares.windows(2).all(|pair| pair[0] >= pair[1]) && shares.iter().sum::<f64>() <= 1.0 + 1e-12);
    assert!(atoms.iter().all(|atom| atom["neighbours"].as_array().is_some_and(|all| !all.is_empty())));
}

#[test]
fn every_method_can_be_explained() {
    for method in METHODS {
        let server = Running::start(blobs(method.key, "unit"), config());
        let answer = server.post_json("/explain", &rows(samples(1).as_ref()));
        assert_eq!(answer.status, 200, "{}: {}", method.key, answer.text());
        let why = answer.json();
        assert_eq!(why["eta2"].is_number(), method.key == "lcdl-sv", "{}", method.key);
        let facts = server.get("/model").json();
        assert_eq!(facts["method"], method.key);
        assert_eq!(why["classes"], facts["classes"]);
        // The estimate that training stored, where it did.
        assert_eq!(facts["estimate"]["accuracy"].is_number(), method.key == "auto", "{facts}");
        assert_eq!(facts["findings"][0][0] == "accuracy", method.key == "auto", "{facts}");
    }
}

#[test]
fn the_page_and_its_files_come_with_safe_headers() {
    let server = Running::start(blobs("crc", "unit"), config());
    for (path, kind) in [
        ("/", "text/html"),
        ("/main.js", "text/javascript"),
        ("/style.css", "text/css"),
        ("/healthz", "application/json"),
    ] {
        let answer = server.get(path);
        assert_eq!(answer.status, 200, "{path}");
        for part in
            [&format!("content-type: {kind}"), "content-security-policy: default-src 'none'", "nosniff", "no-store"]
        {
            assert!(answer.head.contains(part), "{path}: no {part} in {}", answer.head);
        }
        assert!(!answer.head.contains("access-control"), "{path}");
    }
    // Every file that the page names is there.
    let page = server.get("/").text().to_string();
    for part in page.split(['"']).filter(|part| part.ends_with(".js") || part.ends_with(".css")) {
        assert_eq!(server.get(&format!("/{part}")).status, 200, "{part}");
    }
    assert!(!page.contains("http://") && !page.contains("https://"));
}

#[test]
fn shapes_that_do_not_fit_are_not_used() {
    let shape = |rows, cols| Some(io::ImageShape { rows, cols, column_major: true });
    let image = |subject: Subject| subject.facts()["image"].clone();
    let with = |shape| image(Subject::new(blobs_model("crc", "unit"), "blobs", shape, None));
    assert_eq!(with(shape(2, 3)), json!({"rows": 2, "cols": 3, "order": "columns"}));
    assert_eq!((with(shape(2, 2)), with(None)), (Value::Null, Value::Null));
}

#[test]
fn images_are_samples_of_models_that_were_trained_on_images() {
    let frame = json!({"rows": 2, "cols": 3, "fit": "stretch"});
    let spec = json!({"kind": "pixels", "crop": null, "frame": frame});
    let header = json!({"format": "atomlearn.feature-map/1", "spec": spec, "dim": 6});
    let Value::Object(header) = header else { panic!() };
    let map = FeatureMap::from_content(Content { header, ..Content::default() }).unwrap();
    let mut subject = blobs("ridge", "unit");
    subject.images = Some(map);
    let server = Running::start(subject, config());
    let right = found(&server.post_json("/predict", "[[9, 200, 30, 0, 255, 77]]"));
    let form = [("Content-Type", "image/x-portable-graymap")];
    let send = |body: &[u8]| server.send("POST", "/predict", &form, body);
    assert_eq!(found(&send(b"P5\n3 2\n255\n\x09\xc8\x1e\x00\xff\x4d")), right);
    for bad in [&b"no image"[..], b"P5\n10000 10000\n255\n", b"P5\n0 2\n255\n"] {
        assert_eq!(send(bad).status, 400, "{}", send(bad).text());
    }
    // Who sends it the wrong way is told the right one.
    for wrong in [&[("Content-Type", "multipart/form-data")][..], &[]] {
        let answer = server.send("POST", "/predict", wrong, b"P5\n3 2\n255\n\x09\xc8\x1e\x00\xff\x4d");
        assert!(answer.status == 415 && answer.text().contains("`Content-Type: image/jpeg`"), "{}", answer.text());
    }
    let plain = Running::start(blobs("ridge", "unit"), config());
    let answer = plain.send("POST", "/predict", &[("Content-Type", "text/html")], b"x");
    assert!(answer.status == 415 && !answer.text().contains("image/jpeg"), "{}", answer.text());
    let answer = plain.send("POST", "/predict", &form, b"P5\n3 2\n255\n\x09\xc8\x1e\x00\xff\x4d");
    assert!(answer.status == 415 && answer.text().contains("not trained on images"), "{}", answer.text());
}
