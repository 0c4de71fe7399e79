//! Images in: feature files, maps, models that take images, pages that show them.

use crate::Place;

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
    place.refuses("train photos --words 5 --method ridge -o a.model", 2, &["--words", "--features"]);
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
