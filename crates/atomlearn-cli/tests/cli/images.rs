//! Images in: feature files, maps, models that take images, pages that show them.

use crate::Place;
use crate::serving::Served;

/// Three classes of grey images with stripes of their own direction, in two sizes.
pub fn photos(place: &Place, per_class: usize) {
    for (class, name) in ["across", "down", "slant"].iter().enumerate() {
        std::fs::create_dir_all(place.path(&format!("photos/{name}"))).unwrap();
        for i in 0..per_class {
            let (width, height) = (40 + 8 * (i % 2), 40);
            let stripe = |r: usize, c: usize| [r + i, c + i, r + c + i][class] / 3 % 2 * 180 + (r * 5 + c * 3 + i) % 40;
            let pixels = (0..height).flat_map(|r| (0..width).map(move |c| stripe(r, c) as u8));
            let mut file = format!("P5\n{width} {height}\n255\n").into_bytes();
            file.extend(pixels);
            place.write(&format!("photos/{name}/{i:02}.pgm"), file);
        }
    }
}

const SIFT: &str = "--words 16 --descriptors 500 --patches 16 --dim 10";

#[test]
fn features_of_every_kind_are_written_and_read_back() {
    let place = Place::new();
    photos(&place, 6);
    place.ok("features photos --kind pixels --size 12x10 -o pixels.npz");
    let facts = place.json("inspect pixels.npz --json");
    assert_eq!((facts["samples"].as_u64(), facts["features"].as_u64()), (Some(18), Some(120)));
    assert_eq!(facts["image_shape"], serde_json::json!([12, 10]));
    assert_eq!(facts["classes"][1]["class"], "down");
    place.ok("features photos --kind random-face --dim 30 --feature-seed 4 --fit cover -o face.mat");
    assert_eq!(place.json("inspect face.mat --json")["features"], 30);

    let line = format!("features photos --kind sift-pyramid {SIFT} --train-per-class 4 --save-map sift.map --json");
    let made = place.json(&format!("{line} -o sift.npz"));
    assert_eq!((made["schema"].as_str(), made["train_samples"].as_u64()), (Some("atomlearn.features/1"), Some(12)));
    assert_eq!(made["spec"]["kind"], "sift-pyramid");
    // The split of the file is the one that is drawn with the same seed.
    let given = place.json("compare sift.npz --methods ridge --json");
    let drawn = place.json("compare sift.npz --methods ridge --train-per-class 4 --repeats 1 --seed 0 --json");
    assert_eq!(given["results"][0]["accuracy"], drawn["results"][0]["accuracy"]);
    assert_eq!(given["results"][0]["accuracy"][0], 1.0);
    place.ok("features photos --map sift.map -o again.npz");
    let values = |name: &str| {
        let inspected = place.json(&format!("inspect {name} --json"));
        (inspected["min"].clone(), inspected["max"].clone())
    };
    assert_eq!(values("sift.npz"), values("again.npz"));
    let warned = place.run(&format!("features photos --kind sift-pyramid {SIFT} -o all.npz"));
    assert!(warned.code == 0 && warned.err.contains("fitted on all images"), "{}", warned.err);
}

#[test]
fn a_model_takes_images_when_it_was_trained_on_images() {
    let place = Place::new();
    photos(&place, 6);
    place.ok(&format!("train photos --features sift-pyramid {SIFT} --method ridge -o photos.model"));
    let csv = place.ok("predict photos.model photos/down/03.pgm");
    assert_eq!(csv, "file,label\n03.pgm,down\n");
    let all = place.json("predict photos.model photos --json");
    assert_eq!((all["names"][7].as_str(), all["labels"][7].as_str()), (Some("down/01.pgm"), Some("down")));
    assert_eq!(place.ok("predict photos.model photos/slant").lines().count(), 7);
    assert_eq!(place.json("evaluate photos.model photos --json")["accuracy"], 1.0);
    assert_eq!(place.json("inspect photos.model --json")["features"]["spec"]["kind"], "sift-pyramid");
    assert!(place.ok("inspect photos.model").contains("sift-pyramid"));

    place.ok("features photos --kind pixels --size 12x10 --save-map pixels.map -o pixels.npz");
    place.ok("train photos --map pixels.map --method crc -o pixels.model");
    assert_eq!(place.ok("predict pixels.model photos").lines().count(), 19);
    // Features made before are taken as they are.
    assert_eq!(place.ok("predict pixels.model pixels.npz"), place.ok("predict pixels.model photos"));
    place.ok("train pixels.npz --method crc -o plain.model");
    place.refuses("predict plain.model photos/down/03.pgm -o out.csv", 2, &["not trained on images", "--features"]);
}

#[test]
fn the_report_shows_images() {
    let place = Place::new();
    photos(&place, 6);
    place.ok("features photos --kind pixels --size 6x6 -o pixels.npz");
    let line = "compare pixels.npz --methods knn,ridge --train-per-class 1 --repeats 1";
    let plain = place.run(&format!("{line} --report plain.html"));
    assert_eq!(plain.code, 0, "{}", plain.err);
    place.ok(&format!("{line} --images photos --report page.html"));
    let read = |name: &str| String::from_utf8(crate::read(&place.path(name))).unwrap();
    assert!(!read("plain.html").contains("data:image/jpeg"));
    let page = read("page.html");
    assert!(page.contains("example of slant") && page.contains("data:image/jpeg;base64,"));
    let lost = place.run(&format!("{line} --images . --report lost.html"));
    assert!(lost.code == 0 && lost.err.contains("were not found"), "{}", lost.err);
}

#[test]
fn wrong_images_and_flags_are_refused() {
    let place = Place::new();
    photos(&place, 3);
    place.refuses("features photos --kind pixles -o a.npz", 2, &["pixles", "did you mean `pixels`?"]);
    place.refuses("features photos --kind pixels --words 5 -o a.npz", 2, &["--words", "sift-pyramid"]);
    place.refuses("features photos --kind pixels -o a.csv", 2, &[".npz or .mat"]);
    place.refuses("features photos --kind pixels --size 0x4 -o a.npz", 2, &["54x48"]);
    place.refuses("features photos --kind pixels --crop 9x9+90+0 -o a.npz", 3, &["9 of 9", "crop"]);
    place.refuses("features photos --kind onnx -o a.npz", 2, &["--onnx FILE"]);
    place.refuses("features photos --kind sift-pyramid --patches 10 -o a.npz", 2, &["multiples of 4"]);
    place.refuses("features photos --kind sift-pyramid --train-per-class 3 -o a.npz", 3, &["has 3 samples"]);
    place.refuses("features nowhere --kind pixels -o a.npz", 3, &["nowhere", "sub-folder"]);
    place.refuses("train photos --layer fc6 --method ridge -o a.model", 2, &["--layer", "fisher", "onnx"]);
    place.refuses("auto photos --words 5", 2, &["--words", "--features"]);
    place.refuses("auto photos --layer fc6", 2, &["--layer", "--onnx"]);
    place.write("bad.onnx", "this is no network");
    place.refuses("features photos --kind onnx --onnx bad.onnx -o a.npz", 3, &["bad.onnx", "ONNX"]);
    place.refuses("features --list-layers --onnx bad.onnx", 3, &["bad.onnx"]);
    place.write("bad.map", "this is no map");
    place.refuses("features photos --map bad.map -o a.npz", 3, &["bad.map"]);

    place.write("photos/down/01.pgm", "P5\n10000 10000\n255\n");
    place.write("photos/down/02.pgm", "P5\n0 0\n255\n");
    let line = "features photos --kind pixels -o a.npz";
    place.refuses(line, 3, &["2 of 9", "down/01.pgm", "10000 x 10000", "down/02.pgm", "--skip-broken"]);
    let run = place.run(&format!("{line} --skip-broken"));
    assert!(run.code == 0 && run.err.contains("down/02.pgm is left out"), "{}", run.err);
    assert!(run.out.contains("7 images, 2 left out"), "{}", run.out);
}

/// A folder as people have them: mixed sizes and formats, one file broken, one picture twice, one from a phone.
fn messy_photos(place: &Place) {
    photos(place, 8);
    let pgm = crate::read(&place.path("photos/down/02.pgm"));
    let picture = atomlearn::io::pictures::Picture::decode("a.pgm".as_ref(), &pgm).unwrap();
    let big = atomlearn_features::resize(&picture, 90, 75);
    place.write("photos/down/90.png", picture.to_png().unwrap());
    place.write("photos/across/91.jpg", big.to_jpeg().unwrap());
    place.write("photos/slant/92.jpg", "no image");
    place.write("photos/slant/93.heic", b"\0\0\0\x18ftypheic\0\0\0\0mif1heic");
}

#[test]
fn a_folder_is_looked_through() {
    let place = Place::new();
    messy_photos(&place);
    let seen = place.json("inspect photos --json");
    assert_eq!((seen["schema"].as_str(), seen["samples"].as_u64()), (Some("atomlearn.inspect/1"), Some(28)));
    let images = &seen["images"];
    let broken: Vec<&str> =
        images["broken"].as_array().unwrap().iter().map(|one| one["file"].as_str().unwrap()).collect();
    assert_eq!(broken, ["slant/92.jpg", "slant/93.heic"]);
    assert!(images["broken"][1]["why"].as_str().unwrap().contains("HEIC"));
    let formats: Vec<&str> =
        images["formats"].as_array().unwrap().iter().map(|one| one["format"].as_str().unwrap()).collect();
    assert_eq!(formats, ["JPEG", "PNG", "PNM"]);
    let twice = images["duplicates"].as_array().unwrap();
    let pair = |second: &str| twice.iter().find(|pair| pair["second"] == second);
    // Files are compared in the order of their names: `across/91.jpg` comes before what it was made of.
    assert_eq!(pair("down/02.pgm").unwrap()["first"], "across/91.jpg");
    assert_eq!(pair("down/02.pgm").unwrap()["other_class"], true);
    assert!(pair("down/90.png").is_some());
    let text = place.ok("inspect photos");
    for part in ["28 in 3 classes", "heights 40 to 75", "one of the labels is wrong", "slant/92.jpg", "--skip-broken"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn auto_chooses_features_of_photos_and_everything_after_takes_photos() {
    let place = Place::new();
    messy_photos(&place);
    place.refuses("auto photos", 3, &["2 of 28", "slant/92.jpg", "HEIC", "--skip-broken"]);
    let found = place.json("auto photos --skip-broken -o p.model --json");
    let maps = found["maps"].as_array().unwrap();
    let kinds: Vec<&str> = maps.iter().map(|map| map["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["pixels", "pixels", "fisher", "sift-pyramid"]);
    let least = maps.iter().map(|map| map["log_loss"].as_f64().unwrap()).fold(f64::INFINITY, f64::min);
    assert_eq!(found["loo"]["log_loss"].as_f64(), Some(least), "the best by leave-one-out is kept");
    let kept = place.json("inspect p.model --json");
    let chosen = maps.iter().find(|map| map["log_loss"].as_f64() == Some(least)).unwrap();
    assert_eq!((&kept["features"]["spec"]["kind"], &kept["features"]["title"]), (&chosen["kind"], &chosen["title"]));

    let csv = place.ok("predict p.model photos/down");
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!((rows[0], rows.len()), ("file,label,probability", 10));
    let cells: Vec<&str> = rows[1].split(',').collect();
    assert_eq!(cells[..2], ["00.pgm", "down"]);
    assert!((0.3..=1.0).contains(&cells[2].parse::<f64>().unwrap()));
    let rows = place.ok("predict p.model photos --skip-broken");
    assert!(rows.lines().any(|row| row == "slant/92.jpg,,"), "{rows}");

    let card = place.ok("report --card p.model");
    let title = chosen["title"].as_str().unwrap();
    for part in ["gives a photo one of 3 labels", "image-classification", title, "predict p.model photos/"] {
        assert!(card.contains(part), "no {part} in {card}");
    }
    assert!(!card.contains("raw numbers"), "{card}");
    let export = place.run("export p.model --onnx p.onnx --json");
    assert_eq!(export.code, 0, "{}", export.err);
    let export: serde_json::Value = serde_json::from_str(&export.out).unwrap();
    assert_eq!(export["map"], chosen["title"]);
    assert_eq!(export["with_map"], chosen["kind"] == "pixels");
}

#[test]
fn a_time_limit_leaves_features_untried_and_says_so() {
    let place = Place::new();
    photos(&place, 4);
    let run = place.run("auto photos --max-seconds 0.000001 --json");
    assert_eq!(run.code, 0, "{}", run.err);
    let found: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(found["maps"].as_array().unwrap().len(), 1);
    assert!(run.err.contains("fisher") && run.err.contains("--max-seconds"), "{}", run.err);
}

#[test]
fn a_split_file_holds_out_photos_from_features_and_model() {
    let place = Place::new();
    photos(&place, 6);
    let line = "compare photos --features fisher --words 4 --methods ridge --train-per-class 4 --repeats 1 --seed 3";
    let compared = place.json(&format!("{line} --save-splits s.json --json"));
    let model = "train photos --features fisher --words 4 --method ridge --splits s.json -o p.model --json";
    assert_eq!(place.json(model)["samples"], 12);
    let tested = place.json("evaluate p.model photos --splits s.json --json");
    assert_eq!(tested["samples"], 6);
    // The same images teach words and model, so that both ways find the same.
    assert_eq!(tested["accuracy"], compared["results"][0]["accuracy"][0]);
    // So it is where broken images are left out: none of the held-out photos trains.
    place.write("photos/across/00a.png", "no image");
    let line = line.replace("--seed 3", "--seed 3 --skip-broken");
    let compared = place.json(&format!("{line} --save-splits t.json --json"));
    let model =
        "train photos --features fisher --words 4 --method ridge --splits t.json --skip-broken -o q.model --json";
    assert_eq!(place.json(model)["samples"], 12);
    place.refuses("evaluate q.model photos --splits t.json", 3, &["00a.png", "--skip-broken"]);
    let tested = place.json("evaluate q.model photos --splits t.json --skip-broken --json");
    assert_eq!(tested["samples"], 6);
    assert_eq!(tested["accuracy"], compared["results"][0]["accuracy"][0]);
}

#[test]
fn features_that_saw_test_images_are_warned_about() {
    let place = Place::new();
    photos(&place, 5);
    place.ok("features photos --kind fisher --words 4 -o all.npz");
    let warned = place.run("compare all.npz --methods ridge --train-per-class 3 --repeats 1");
    assert!(warned.code == 0 && warned.err.contains("learned from 6 of the 6 samples"), "{}", warned.err);
    place.ok("features photos --kind fisher --words 4 --train-per-class 3 -o some.npz");
    let clean = place.run("compare some.npz --methods ridge");
    assert!(clean.code == 0 && !clean.err.contains("learned from"), "{}", clean.err);
    let other = place.run("compare some.npz --methods ridge --train-per-class 3 --repeats 1 --seed 9");
    assert!(other.code == 0 && other.err.contains("learned from"), "{}", other.err);
}

/// The scores of a prediction as CSV with `--scores`, by file: the columns after those of label and probability.
fn scores_of(csv: &str) -> Vec<Vec<f64>> {
    let mut lines = csv.lines();
    let first = lines.next().unwrap().split(',').position(|name| name.starts_with("score_")).unwrap();
    lines.map(|row| row.split(',').skip(first).map(|cell| cell.parse().unwrap()).collect()).collect()
}

#[test]
fn features_of_a_photo_are_the_same_to_the_bit_in_every_command() {
    let place = Place::new();
    photos(&place, 5);
    let pgm = crate::read(&place.path("photos/down/02.pgm"));
    let picture = atomlearn::io::pictures::Picture::decode("a.pgm".as_ref(), &pgm).unwrap();
    place.write("photos/down/90.png", picture.to_png().unwrap());
    place.write("photos/down/91.jpg", picture.to_jpeg().unwrap());
    for kind in ["pixels --size 9x7", "fisher --words 4", "sift-pyramid --words 8"] {
        place.ok(&format!("features photos --kind {kind} --save-map f.map -o f.npz --force"));
        place.ok("train photos --map f.map -o p.model --force");
        let from_photos = scores_of(&place.ok("predict p.model photos --scores"));
        assert_eq!((from_photos.len(), from_photos[0].len()), (17, 3));
        let bits = |scores: &[f64]| scores.iter().map(|score| score.to_bits()).collect::<Vec<u64>>();
        let from_features = scores_of(&place.ok("predict p.model f.npz --scores"));
        let served = Served::start(&place, "--quiet serve p.model --port 0");
        let files = place.json("predict p.model photos --json");
        for (i, name) in files["names"].as_array().unwrap().iter().enumerate() {
            let bytes = crate::read(&place.path(&format!("photos/{}", name.as_str().unwrap())));
            // The server goes by the bytes, whatever the kind of image is called.
            let (head, answer) = served.post_as("image/unknown", "/predict", &bytes);
            assert!(head.starts_with("HTTP/1.1 200"), "{kind}, {name}: {answer}");
            let from_server: Vec<f64> = serde_json::from_value(answer["scores"][0].clone()).unwrap();
            assert_eq!(bits(&from_server), bits(&from_photos[i]), "{kind}, {name}");
            assert_eq!(bits(&from_features[i]), bits(&from_photos[i]), "{kind}, {name}");
        }
    }
}

#[test]
fn copies_train_and_are_left_out_with_their_originals() {
    let place = Place::new();
    photos(&place, 5);
    let line = "auto photos --features pixels --size 8x8";
    let plain = place.json(&format!("{line} --json"));
    let more = place.json(&format!("{line} --augment flip,shift --json"));
    assert_eq!((plain["samples"].as_u64(), more["samples"].as_u64()), (Some(15), Some(90)));
    assert_eq!(more["groups"]["number"], 15);
    let compared = place.json("compare photos --features pixels --size 8x8 --augment flip --methods ridge --train-per-class 3 --repeats 1 --json");
    assert_eq!(compared["results"][0]["accuracy"].as_array().unwrap().len(), 1);
    place.refuses("auto photos --augment turn", 2, &["turn", "flip"]);
}

#[test]
fn networks_that_are_known_are_named_with_their_source() {
    let place = Place::new();
    photos(&place, 3);
    place.refuses(
        "features photos --kind onnx -o a.npz",
        2,
        &["--onnx FILE", "sface", "efficientnet-lite0", "aligned faces", "--preset efficientnet-lite", "--layer fc1"],
    );
    place.refuses("features photos --kind onnx --onnx sface -o a.npz", 2, &["opencv_zoo", "Apache-2.0", "sha256"]);
}
