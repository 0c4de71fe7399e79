//! Probabilities, several models, reloading, outliers and drift.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use atomlearn::io::TableSchema;
use atomlearn::prep::PrepSpec;
use atomlearn::registry::{METHODS, Values, method};
use atomlearn::{Mat, Model, synth};
use atomlearn_serve::{Config, Server, Source, Subject};
use common::{Running, blobs, blobs_model, config, npy, request, rows};
use serde_json::{Value, json};
use std::io::{BufReader, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

fn samples() -> Mat<f64> {
    synth::blobs(3, 4, 6, 2).x().to_owned()
}

fn numbers(value: &Value) -> Vec<Vec<f64>> {
    serde_json::from_value(value.clone()).unwrap()
}

#[test]
fn every_model_with_probabilities_answers_with_those_that_it_gives_itself() {
    let able: Vec<_> = METHODS.iter().filter(|method| method.probabilities).collect();
    assert!(!able.is_empty());
    for method in able {
        let x = samples();
        let model = blobs_model(method.key, "none");
        let expected = model.probabilities(x.as_ref()).unwrap().unwrap();
        let server = Running::start(Subject::new(model, "a", None, None), config());
        let answer = server.post_npy("/predict", &npy(x.as_ref())).json();
        for (j, row) in numbers(&answer["proba"]).iter().enumerate() {
            assert_eq!(row, &expected.col(j).iter().copied().collect::<Vec<_>>(), "{}", method.key);
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
        assert!(server.post_npy("/predict?proba=false", &npy(x.as_ref())).json()["proba"].is_null());
    }
}

#[test]
fn the_inverse_temperature_of_python_makes_probabilities_of_scores() {
    // SRC leaves classes out, whose score is minus infinity: they count as lower than all others by as much as those spread.
    for key in ["ridge", "src"] {
        let mut model = blobs_model(key, "unit");
        model.info.note("python", json!({"inverse_temperature": 2.5}));
        let server = Running::start(Subject::new(model, "a", None, None), config());
        let answer = server.post_json("/predict", &rows(samples().as_ref())).json();
        let scores: Vec<Vec<Option<f64>>> = serde_json::from_value(answer["scores"].clone()).unwrap();
        for (scores, proba) in scores.iter().zip(numbers(&answer["proba"])) {
            let finite: Vec<f64> = scores.iter().flatten().copied().collect();
            let (low, high) =
                (finite.iter().copied().fold(f64::MAX, f64::min), finite.iter().copied().fold(f64::MIN, f64::max));
            let weights: Vec<f64> =
                scores.iter().map(|s| (2.5 * (s.unwrap_or(low - (high - low).max(1.0)) - high)).exp()).collect();
            let sum: f64 = weights.iter().sum();
            assert!(weights.iter().zip(&proba).all(|(w, p)| (w / sum - p).abs() < 1e-15), "{key}");
        }
    }
}

#[test]
fn the_most_likely_classes_come_in_order() {
    let server = Running::start(blobs("auto", "none"), config());
    let answer = server.post_npy("/predict?top_k=2&scores=false", &npy(samples().as_ref())).json();
    assert!(answer["scores"].is_null());
    for (i, top) in answer["top"].as_array().unwrap().iter().enumerate() {
        let top = top.as_array().unwrap();
        assert_eq!((top.len(), &top[0]["label"]), (2, &answer["labels"][i]));
        assert!(top[0]["score"].as_f64() > top[1]["score"].as_f64());
        let largest = numbers(&answer["proba"])[i].iter().copied().fold(0.0, f64::max);
        assert_eq!(top[0]["proba"].as_f64().unwrap(), largest);
    }
    let all = server.post_npy("/predict?top_k=99", &npy(samples().as_ref())).json();
    assert_eq!(all["top"][0].as_array().unwrap().len(), 3);
    for wrong in ["top_k=0", "top_k=x", "top_k=", "min_probability=1.5", "min_probability=nan", "outlier=maybe"] {
        assert_eq!(server.post_npy(&format!("/predict?{wrong}"), &npy(samples().as_ref())).status, 400, "{wrong}");
    }
    let without = Running::start(blobs("crc", "unit"), config());
    let answer = without.post_npy("/predict?top_k=1", &npy(samples().as_ref())).json();
    assert!(answer["top"][0][0]["proba"].is_null() && answer["top"][0][0]["score"].is_number());
}

#[test]
fn a_label_is_withheld_exactly_where_no_class_is_probable_enough() {
    // Samples between the classes are doubtful.
    let x = faer_mean(samples());
    let server = Running::start(blobs("auto", "none"), Config { min_probability: Some(0.9), ..config() });
    let answer = server.post_npy("/predict", &npy(x.as_ref())).json();
    let (mut withheld, mut given) = (0, 0);
    for (i, proba) in numbers(&answer["proba"]).iter().enumerate() {
        let largest = proba.iter().copied().fold(0.0, f64::max);
        assert_eq!(answer["labels"][i].is_null(), largest < 0.9);
        let reason = answer["reasons"][i].as_str();
        assert_eq!(reason.is_some(), largest < 0.9);
        assert!(reason.is_none_or(|reason| reason.contains(&largest.to_string()) && reason.contains("0.9")));
        withheld += usize::from(largest < 0.9);
        given += usize::from(largest >= 0.9);
    }
    assert!(withheld > 0 && given > 0, "{withheld} {given}");
    // A request may ask for less.
    let answer = server.post_npy("/predict?min_probability=0", &npy(x.as_ref())).json();
    assert!(answer["reasons"].is_null() && answer["labels"].as_array().unwrap().iter().all(Value::is_string));
    // Without probabilities there is nothing to compare with.
    let without = Running::start(blobs("crc", "unit"), config());
    let refused = without.post_npy("/predict?min_probability=0.5", &npy(x.as_ref()));
    assert!(refused.status == 400 && refused.text().contains("no calibrated probabilities"));
}

/// The samples, and mixtures of those of different classes.
fn faer_mean(x: Mat<f64>) -> Mat<f64> {
    let n = x.ncols();
    Mat::from_fn(
        x.nrows(),
        2 * n,
        |i, j| if j < n { x[(i, j)] } else { (x[(i, j - n)] + x[(i, (j - n + 4) % n)]) / 2.0 },
    )
}

fn bound(sources: Vec<Source>, config: Config) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { Server::bind(sources, config).await.map(drop).map_err(|e| e.to_string()) })
}

#[test]
fn models_under_names_answer_as_they_do_alone() {
    let named = |key: &str| Subject::new(blobs_model(key, "unit"), key, None, None);
    let both = Running::start_all(vec![named("crc").into(), named("ridge").into()], config());
    let body = npy(samples().as_ref());
    for key in ["crc", "ridge"] {
        let alone = Running::start(named(key), config());
        let expected = alone.post_npy("/predict", &body).text().to_string();
        assert_eq!(both.post_npy(&format!("/models/{key}/predict"), &body).text(), expected);
        assert_eq!(both.get(&format!("/models/{key}/model")).text(), alone.get("/model").text());
        assert!(both.get(&format!("/models/{key}/")).text().contains("<!doctype html>"));
    }
    assert_eq!(both.post_npy("/predict", &body).text(), both.post_npy("/models/crc/predict", &body).text());
    let listed = both.get("/models").json();
    let names: Vec<&str> = listed["models"].as_array().unwrap().iter().map(|m| m["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["crc", "ridge"]);
    let nothing = both.post_npy("/models/src/predict", &body);
    assert!(nothing.status == 404 && nothing.text().contains("crc ridge"), "{}", nothing.text());
    let document = both.get("/openapi.json").json();
    assert!(document["paths"]["/models/ridge/predict"]["post"].is_object());
    assert!(document["components"]["schemas"]["Samples.ridge"].is_object());
    let counted = both.get("/metrics");
    assert!(counted.text().contains(r#"atomlearn_requests_total{path="/models/ridge/predict",status="200"} 1"#));
    assert!(counted.text().contains(r#"model="ridge""#));
    // Names must be able to stand in an address, and to tell models apart.
    let other = |name: &str| Source::from(Subject::new(blobs_model("crc", "unit"), name, None, None));
    assert!(bound(vec![other("a"), other("a")], config()).unwrap_err().contains("two models"));
    assert!(bound(vec![other("a"), other("a/b")], config()).unwrap_err().contains("letters, digits"));
    assert!(bound(Vec::new(), config()).is_err());
    assert!(bound(vec![other("a")], Config { min_probability: Some(0.5), ..config() }).unwrap_err().contains("`a`"));
    assert!(bound(vec![other("a")], Config { drift: true, ..config() }).unwrap_err().contains("`a`"));
}

#[test]
fn reloading_under_load_fails_no_request_and_every_answer_is_one_models_own() {
    // The two models that take turns differ in everything that a mixture of them would show.
    let turn = Arc::new(AtomicUsize::new(0));
    let made = |key: &str| Subject::new(blobs_model(key, "unit"), "a", None, None);
    let bytes: Vec<Vec<u8>> = ["ridge", "crc"].map(|key| blobs_model(key, "unit").to_bytes().unwrap()).to_vec();
    let next = turn.clone();
    let load = move || {
        let bytes = &bytes[next.fetch_add(1, Relaxed) % 2];
        Ok(Subject::new(Model::from_bytes(bytes).unwrap(), "other", None, None))
    };
    let server = Running::start_all(vec![Source { subject: made("crc"), load: Some(Arc::new(load)) }], config());
    let body = npy(samples().as_ref());
    let expected: Vec<String> = ["crc", "ridge"]
        .map(|key| Running::start(made(key), config()).post_npy("/predict", &body).text().into())
        .to_vec();
    let done = AtomicBool::new(false);
    let reloads = 200;
    std::thread::scope(|scope| {
        let client = || {
            let mut stream = server.connect();
            let mut answers = BufReader::new(stream.try_clone().unwrap());
            let (mut seen, question) =
                ([0, 0], request("POST", "/predict", &[("Content-Type", "application/x-npy")], &body));
            while !done.load(Relaxed) {
                stream.write_all(&question).unwrap();
                let answer = common::Answer::read(&mut answers);
                assert_eq!(answer.status, 200, "{}", answer.text());
                seen[expected.iter().position(|text| text == answer.text()).expect("the answer of one model")] += 1;
            }
            seen
        };
        let clients: Vec<_> = (0..4).map(|_| scope.spawn(client)).collect();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        for _ in 0..reloads {
            let told = runtime.block_on(server.reloader.reload());
            assert!(matches!(&told[..], [Ok(_)]), "{told:?}");
        }
        done.store(true, Relaxed);
        let seen: Vec<[usize; 2]> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        assert!((0..2).all(|k| seen.iter().map(|of| of[k]).sum::<usize>() > 0), "{seen:?}");
    });
    assert!(server.get("/metrics").text().contains(&format!("atomlearn_reloads_total{{result=\"ok\"}} {reloads}")));
}

#[test]
fn a_model_that_cannot_be_read_again_stays() {
    let load = || Err("the file is gone".to_string());
    let subject = blobs("crc", "unit");
    let server =
        Running::start_all(vec![Source { subject, load: Some(Arc::new(load)) }, demo_without_file()], config());
    let before = server.post_npy("/predict", &npy(samples().as_ref())).text().to_string();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let told = runtime.block_on(server.reloader.reload());
    let [Err(gone), Err(none)] = &told[..] else { panic!("{told:?}") };
    assert!(gone.contains("the file is gone") && none.contains("no file"), "{told:?}");
    assert_eq!(server.post_npy("/predict", &npy(samples().as_ref())).text(), before);
    assert!(server.get("/metrics").text().contains(r#"atomlearn_reloads_total{result="failed"} 1"#));
}

fn demo_without_file() -> Source {
    Subject::new(blobs_model("ridge", "unit"), "second", None, None).into()
}

#[test]
fn noise_is_unlike_all_digits_and_unseen_digits_are_not() {
    let server = Running::start(common::digits(), config());
    let model = server.get("/model").json();
    assert_eq!((&model["outliers"], &model["probabilities"]), (&json!(true), &json!(false)));
    let items = model["examples"]["items"].as_array().unwrap();
    let digits: Vec<&Value> = items.iter().map(|item| &item["values"]).collect();
    let answer = server.post_json("/predict?outlier=true", &json!(digits).to_string()).json();
    let p: Vec<f64> = serde_json::from_value(answer["outlier_p"].clone()).unwrap();
    // Thirty unseen digits: at most one in ten thousand such sets has four below 0.01.
    assert!(p.iter().filter(|&&p| p < 0.01).count() < 4, "{p:?}");
    let noise: Vec<Vec<usize>> = (0..10).map(|k| (0..64).map(|i| (i * (2 * k + 7) + k) * 31 % 17).collect()).collect();
    let answer = server.post_json("/predict?outlier=true", &json!(noise).to_string()).json();
    let p: Vec<f64> = serde_json::from_value(answer["outlier_p"].clone()).unwrap();
    assert!(p.iter().all(|&p| p < 0.01), "{p:?}");
    let why = server.post_json("/explain?row=3", &json!(noise).to_string()).json();
    assert_eq!(why["outlier_p"].as_f64().unwrap(), p[3]);
    // It is told only where it is asked for, and known.
    assert!(server.post_json("/predict", &json!(noise).to_string()).json()["outlier_p"].is_null());
    let without = Running::start(blobs("ridge", "unit"), config());
    assert!(without.post_npy("/predict?outlier=true", &npy(samples().as_ref())).json()["outlier_p"].is_null());
}

#[test]
fn the_drift_grows_when_samples_are_no_longer_those_of_training() {
    let train = synth::blobs(3, 40, 6, 1);
    let prep: PrepSpec = "none".parse().unwrap();
    let model = Model::train(method("auto").unwrap(), &Values::new(), &prep, &train, &mut ()).unwrap();
    let server = Running::start(Subject::new(model, "a", None, None), Config { drift: true, ..config() });
    let drift = || {
        let text = server.get("/metrics").text().to_string();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix(r#"atomlearn_drift_distance{model="a"} "#))
            .map(str::to_string);
        line.map(|line| line.parse::<f64>().unwrap())
    };
    assert_eq!(drift(), None);
    server.post_npy("/predict", &npy(train.x()));
    let near = drift().unwrap();
    assert!(near < 0.2, "{near}");
    let far = Mat::from_fn(6, 400, |i, j| 50.0 * ((i * j * 7 % 13) as f64 - 6.0));
    server.post_npy("/predict", &npy(far.as_ref()));
    let distance = drift().unwrap();
    assert!(distance > 0.5, "{distance}");
    assert!(server.get("/metrics").text().contains(r#"atomlearn_outliers_total{model="a"}"#));
}

#[test]
fn what_is_wrong_with_a_table_is_told_without_flags_of_the_command_line() {
    let mut model = blobs_model("crc", "unit");
    let names = ["a", "b", "c", "d", "e", "f"].map(String::from);
    model.schema = Some(TableSchema::of_numbers(names.to_vec()));
    let server = Running::start(Subject::new(model, "a", None, None), config());
    let wrong = [
        "a,b,c,d,e,f\n1,2,3,4,5,\n",
        "a,b,c,d,e,f\n1,2,3,4,5,x\n",
        "a,b,c,d,e,f\n1,2,3,4,5,inf\n",
        "a,b,c,d,e,f\n1,2,3,4,5,\"6,5\"\n",
        "a;b;c;d;e;f\n1,5;2,5;3,5;4,5;5,5;6.5\n",
        "a,b,c,d,e\n1,2,3,4,5\n",
        "a,a,b,c,d,e,f\n1,1,2,3,4,5,6\n",
        "1,2,3\n",
        "",
    ];
    for body in wrong {
        let answer = server.send("POST", "/predict", &[("Content-Type", "text/csv")], body.as_bytes());
        assert!(answer.status == 400 || answer.status == 200, "{body}: {}", answer.text());
        let told = answer.json();
        let told = if answer.status == 200 { told["notes"].to_string() } else { told["error"].to_string() };
        assert!(!told.contains("--") && told.len() > 20, "{body}: {told}");
        println!("{told}");
    }
}
