//! Folders of photos as people have them: nothing is passed over in silence, and what is left out is told everywhere.

use crate::Place;
use crate::images::photos;
use atomlearn::io::pictures::Picture;
use serde_json::{Value, json};

const PIXELS: &str = "--features pixels --size 8x8";

/// The bytes of the drawing that is a photo of this name.
fn drawing(place: &Place, name: &str) -> Vec<u8> {
    crate::read(&place.path(name))
}

fn jpeg(place: &Place, name: &str) -> Vec<u8> {
    Picture::decode(name.as_ref(), &drawing(place, name)).unwrap().to_jpeg().unwrap()
}

/// Two classes of drawings so small that `auto` tries pixels only.
fn small_photos(place: &Place) {
    for (class, name) in ["across", "down"].iter().enumerate() {
        std::fs::create_dir_all(place.path(&format!("small/{name}"))).unwrap();
        for i in 0..8 {
            let value = |r: usize, c: usize| ([r, c][class] + i) / 3 % 2 * 180 + (r * 5 + c * 3 + i) % 40;
            let pixels = (0..20).flat_map(|r| (0..20).map(move |c| (r, c))).map(|(r, c)| value(r, c) as u8).collect();
            let picture = Picture { width: 20, height: 20, channels: 1, pixels };
            place.write(&format!("small/{name}/{i}.png"), picture.to_png().unwrap());
        }
    }
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_command_reads_a_folder_in_the_same_way() {
    let place = Place::new();
    photos(&place, 4);
    place.write("photos/loose.pgm", drawing(&place, "photos/down/01.pgm"));
    std::fs::create_dir(place.path("photos/down/deep")).unwrap();
    place.write("photos/down/deep/x.pgm", drawing(&place, "photos/down/02.pgm"));
    place.write("photos/notes.txt", "nothing to see");
    let said = |line: &str| {
        let run = place.run(line);
        assert_eq!(run.code, 0, "{line}: {}", run.err);
        run
    };
    for line in [
        format!("train photos {PIXELS} --method ridge -o p.model"),
        format!("auto photos {PIXELS} --json"),
        format!("compare photos {PIXELS} --methods ridge --train-per-class 2 --repeats 1"),
        "evaluate p.model photos".into(),
        "inspect photos".into(),
        "features photos --kind pixels -o p.npz".into(),
    ] {
        let err = said(&line).err;
        for part in ["no class: loose.pgm", "one level up: down/deep", "is not read: notes.txt"] {
            assert_eq!(err.matches(part).count(), 1, "{line}: {part} in {err}");
        }
    }
    let images = &place.json("inspect photos --json")["images"];
    assert_eq!(images["loose"], json!(["loose.pgm"]));
    assert_eq!((&images["folders"], &images["files"]), (&json!(["down/deep"]), &json!(["notes.txt"])));
    assert_eq!(place.json("evaluate p.model photos --json")["samples"], 12);
    let run = said("predict p.model photos");
    let files: Vec<&str> = run.out.lines().skip(1).map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!((files.len(), files[0], files[1]), (13, "loose.pgm", "across/00.pgm"));
    assert!(run.err.contains("down/deep") && !run.err.contains("loose"), "{}", run.err);
    let left_out = &place.json("predict p.model photos --json")["left_out"];
    assert_eq!((&left_out["files"], &left_out["folders"]), (&json!(["notes.txt"]), &json!(["down/deep"])));

    // Without labels, a folder within is part of the folder.
    std::fs::create_dir_all(place.path("inbox/more")).unwrap();
    place.write("inbox/a.pgm", drawing(&place, "photos/down/01.pgm"));
    place.write("inbox/more/b.pgm", drawing(&place, "photos/slant/01.pgm"));
    let rows = place.ok("predict p.model inbox");
    let files: Vec<&str> = rows.lines().map(|row| row.split(',').next().unwrap()).collect();
    assert_eq!(files, ["file", "a.pgm", "more/b.pgm"]);
    std::fs::remove_dir_all(place.path("inbox/more")).unwrap();
    place.refuses("evaluate p.model inbox", 3, &["one sub-folder per class"]);
    place.refuses("evaluate p.model inbox/a.pgm", 3, &["one sub-folder of images per class"]);
}

#[test]
fn photos_are_known_by_their_content() {
    let place = Place::new();
    photos(&place, 4);
    for name in ["down/90.jfif", "down/91"] {
        place.write(&format!("photos/{name}"), jpeg(&place, "photos/down/01.pgm"));
    }
    place.ok(&format!("train photos {PIXELS} --method ridge -o p.model"));
    assert_eq!(place.json("inspect p.model --json")["info"]["data"]["samples"], 14);
    assert_eq!(place.ok("predict p.model photos/down/91"), "file,label\n91,down\n");
    // What looks like a picture but is none that can be read is not passed over.
    place.write("photos/down/g.gif", b"GIF89a\x01\0\x01\0");
    let gif = ["g.gif", "GIF, which is not supported; save it as PNG"];
    place.refuses("predict p.model photos/down/g.gif", 3, &gif);
    place.refuses("predict p.model photos", 3, &gif);
    place.refuses(&format!("auto photos {PIXELS}"), 3, &[gif[0], gif[1], "--skip-broken"]);
    assert_eq!(place.ok("predict p.model photos/down/g.gif --skip-broken"), "file,label\ng.gif,\n");
    let run = place.run("predict p.model photos --skip-broken");
    assert!(run.out.lines().any(|row| row == "down/g.gif,"), "{}", run.out);
    // One sentence, and it says what becomes of the photo.
    assert_eq!(run.err.matches("g.gif").count(), 1, "{}", run.err);
    assert!(run.err.contains("down/g.gif gets an empty label: ") && !run.err.contains("left out"), "{}", run.err);
    let left_out = &place.json("predict p.model photos --skip-broken --json")["left_out"];
    assert_eq!(left_out["broken"][0]["file"], "down/g.gif");
}

#[test]
fn what_is_left_out_and_what_the_estimate_rests_on_is_told_everywhere() {
    let place = Place::new();
    small_photos(&place);
    place.write("small/down/broken.jpg", "no image");
    let line = "auto small --skip-broken --report p.html -o p.model --force";
    let run = place.run(line);
    assert_eq!(run.code, 0, "{}", run.err);
    assert_eq!(run.err.matches("broken.jpg is left out").count(), 1, "{}", run.err);
    let left_out = "1 photo cannot be read and is left out: down/broken.jpg";
    let caution = "the kind of features was chosen by this same estimate";
    let page = String::from_utf8(crate::read(&place.path("p.html"))).unwrap().replace("&#x2f;", "/");
    let inspected = place.ok("inspect p.model");
    let card = place.ok("report --card p.model");
    for (where_, text) in [("terminal", &run.out), ("page", &page), ("inspect", &inspected), ("card", &card)] {
        let text = words(text);
        for part in [left_out, caution, "evaluate", "by a classifier trained without them"] {
            assert!(text.contains(part), "{where_}: no {part} in {text}");
        }
        assert!(!text.contains("nothing else was held back"), "{where_}: {text}");
    }
    // What was tried is told in sentences, and so is what is done to the numbers.
    assert!(!inspected.contains("maps_tried") && !inspected.contains('{'), "{inspected}");
    assert_eq!(inspected.matches("this one was chosen").count(), 1, "{inspected}");
    assert!(!card.contains("nothing is done") && card.contains("The model takes these numbers as they are"), "{card}");
    let found = place.json(&format!("{line} --json"));
    assert_eq!(found["left_out"]["broken"][0]["file"], "down/broken.jpg");
    assert!(found["left_out"]["broken"][0]["why"].as_str().unwrap().contains("not a readable image"));
    assert_eq!(place.json("inspect p.model --json")["info"]["left_out"], found["left_out"]);

    // Pixels of one kind learn nothing, so the estimate holds; words are learned from all photos.
    place.ok(&format!("auto small {PIXELS} --skip-broken -o q.model"));
    let plain = words(&place.ok("inspect q.model"));
    assert!(plain.contains("without being trained on") && !plain.contains("too high"), "{plain}");
    photos(&place, 4);
    let told = words(&place.ok("auto photos --features fisher --words 4 -o f.model"));
    assert!(told.contains("fitted on all of them, the left-out one included, so"), "{told}");
}

#[test]
fn a_comparison_counts_broken_photos_first_and_says_how_to_train_on_what_it_compared() {
    let place = Place::new();
    small_photos(&place);
    place.write("small/down/broken.jpg", "no image");
    place.write("small/down/empty.png", "");
    let all = std::fs::read_dir(place.path("small/down")).unwrap().count()
        + std::fs::read_dir(place.path("small/across")).unwrap().count();
    let line = "compare small --features fisher --methods ridge";
    place.refuses(line, 3, &[&format!("2 of {all} images"), "down/empty.png: the file is empty", "--skip-broken"]);
    assert!(!place.run(line).err.contains("split"), "{}", place.run(line).err);
    let inspected = words(&place.ok("inspect small"));
    assert!(inspected.contains("down/empty.png: the file is empty; write it again"), "{inspected}");
    place.ok(&format!("compare small {PIXELS} --skip-broken --methods auto --folds 2 --report p.html"));
    let page = String::from_utf8(crate::read(&place.path("p.html"))).unwrap();
    assert!(page.contains(&format!("atomlearn train small {PIXELS} --skip-broken --method auto")));
}

#[test]
fn training_photos_are_called_by_their_files() {
    let place = Place::new();
    small_photos(&place);
    // One photo lies in the wrong folder.
    std::fs::rename(place.path("small/down/3.png"), place.path("small/across/wrong.png")).unwrap();
    place.ok(&format!("auto small {PIXELS} -o p.model"));
    let text = place.ok("explain p.model small/down/5.png");
    assert!(text.contains("Nearest training photos:\n  down/5.png of class down, distance 0.000"), "{text}");
    let why = place.json("explain p.model small/down/5.png --json");
    assert_eq!(why["samples"][0]["nearest"][0]["file"], "down/5.png");
    let inspected = place.json("inspect p.model --json");
    assert_eq!(inspected["info"]["files"].as_array().unwrap().len(), 16);
    let files: Vec<&Value> = inspected["suspicious"].as_array().unwrap().iter().map(|one| &one["file"]).collect();
    assert!(files.contains(&&json!("across/wrong.png")), "{files:?}");
    assert!(!place.ok("inspect p.model").contains("down/7.png"), "a long list");
}

#[test]
fn twins_are_named_and_twins_of_other_labels_are_suspicious() {
    let place = Place::new();
    small_photos(&place);
    place.write("small/across/again.png", drawing(&place, "small/across/2.png"));
    place.write("small/across/strayed.png", drawing(&place, "small/down/2.png"));
    let line = format!("auto small {PIXELS}");
    let told = words(&place.ok(&line));
    for part in [
        "2 training samples equal another one (duplicates)",
        "2 training samples equal one with another label (duplicates): one of the two labels must be wrong",
        "too low for them",
        "these are equal: across/strayed.png (across) = down/2.png (down); across/2.png (across) = across/again.png (across)",
        "(equals down/2.png)",
    ] {
        assert!(told.contains(part), "no {part} in {told}");
    }
    let found = place.json(&format!("{line} --json"));
    assert_eq!(found["duplicates"][0]["samples"], json!(["across/strayed.png", "down/2.png"]));
    let twins: Vec<(&Value, &Value)> =
        found["suspicious"].as_array().unwrap().iter().take(2).map(|one| (&one["file"], &one["twin"])).collect();
    let [a, b] = [json!("across/strayed.png"), json!("down/2.png")];
    assert!(twins.contains(&(&a, &b)) && twins.contains(&(&b, &a)), "{twins:?}");
    // Rows of tables have numbers.
    place.write("twins.csv", "x,y,label\n1,2,a\n1,3,a\n2,1,b\n3,1,b\n1,2,b\n2,4,a\n");
    let told = words(&place.ok("auto twins.csv"));
    assert!(told.contains("these are equal: row 0 (a) = row 4 (b)"), "{told}");
}
