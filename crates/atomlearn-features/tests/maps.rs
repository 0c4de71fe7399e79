//! Maps on whole folders: same bits everywhere, files that come back, images that are wrong.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use atomlearn::io::pictures::{Picture, list_any, list_classes};
use atomlearn_features::{
    Augment, Coding, Crop, FeatureMap, FeatureSpec, FisherSpec, Handling, PixelsSpec, Pooling, RandomFaceSpec,
    SiftSpec, extract, fit,
};
use common::{folder, pattern, png, png_head};
use std::path::Path;

const SKIP: Handling = Handling { skip_broken: true, augment: Augment { flip: false, shift: false } };

fn fisher() -> FisherSpec {
    FisherSpec { components: 4, descriptor_dim: 10, descriptors: 400, patches: vec![16], ..FisherSpec::default() }
}

fn sift() -> SiftSpec {
    SiftSpec { words: 12, descriptors: 400, patches: vec![16, 24], dim: 5, ..SiftSpec::default() }
}

#[test]
fn every_kind_gives_the_same_bits_on_any_number_of_threads_and_after_a_round_trip() {
    let (folder, images) = folder(4);
    let hard = SiftSpec { coding: Coding::Hard, pooling: Pooling::Average, levels: vec![1, 2, 4, 8], ..sift() };
    let specs = [
        FeatureSpec::Pixels(PixelsSpec::default()),
        FeatureSpec::RandomFace(RandomFaceSpec { dim: 20, ..RandomFaceSpec::default() }),
        FeatureSpec::SiftPyramid(sift()),
        FeatureSpec::SiftPyramid(hard),
        FeatureSpec::Fisher(fisher()),
    ];
    let is_train: Vec<bool> = (0..images.len()).map(|i| i % 4 != 3).collect();
    for spec in specs {
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| fit(&spec, None, &images, &is_train, Handling::default(), &()).unwrap())
        };
        let ((map, first), (_, second)) = (run(1), run(4));
        assert_eq!(first.x, second.x, "{}", map.kind());
        assert_eq!((first.x.nrows(), first.x.ncols()), (map.dim(), images.len()));
        let path = folder.path().join("map");
        map.save(&path).unwrap();
        let back = FeatureMap::load(&path).unwrap();
        assert_eq!(back.spec(), map.spec());
        // Training images too: what fitting gave is what the map gives.
        assert_eq!(extract(&back, &images, false, &()).unwrap().x, first.x, "{}", map.kind());
        let one = map.apply(&Picture::open(&images[5].path).unwrap()).unwrap();
        assert_eq!(one, first.x.col(5).iter().copied().collect::<Vec<f64>>());
    }
}

#[test]
fn a_pyramid_tells_stripes_apart_and_never_sees_test_images() {
    let (_folder, images) = folder(6);
    let is_train: Vec<bool> = (0..images.len()).map(|i| i % 6 < 4).collect();
    let (map, all) =
        fit(&FeatureSpec::SiftPyramid(sift()), None, &images, &is_train, Handling::default(), &()).unwrap();
    for i in (0..images.len()).filter(|&i| !is_train[i]) {
        let distance = |j: usize| (all.x.col(i) - all.x.col(j)).squared_norm_l2();
        let near = (0..images.len()).filter(|&j| is_train[j]).min_by(|&a, &b| distance(a).total_cmp(&distance(b)));
        assert_eq!(images[near.unwrap()].class, images[i].class);
    }
    // Other test images: what is learned, and with it the features of training images, stays the same to the bit.
    for i in (0..images.len()).filter(|&i| !is_train[i]) {
        std::fs::write(&images[i].path, pattern(80, 70, i).to_png().unwrap()).unwrap();
    }
    let (again, other) =
        fit(&FeatureSpec::SiftPyramid(sift()), None, &images, &is_train, Handling::default(), &()).unwrap();
    assert_eq!(again.to_content().matrices, map.to_content().matrices);
    for (i, &trains) in is_train.iter().enumerate() {
        assert_eq!(all.x.col(i) == other.x.col(i), trains);
    }
}

#[test]
fn damaged_maps_are_refused() {
    let (folder, images) = folder(2);
    let (map, _) = fit(&FeatureSpec::SiftPyramid(sift()), None, &images, &[true; 6], Handling::default(), &()).unwrap();
    let mut content = map.to_content();
    content.matrices.take("basis").unwrap();
    assert!(FeatureMap::from_content(content).unwrap_err().to_string().contains("basis"));
    let mut content = map.to_content();
    content.header["spec"]["levels"] = serde_json::json!([1, 2]);
    assert!(FeatureMap::from_content(content).is_err());
    let mut content = map.to_content();
    content.header["spec"]["levels"] = serde_json::json!([4_000_000_000u64]);
    assert!(FeatureMap::from_content(content).is_err());
    std::fs::write(folder.path().join("no.map"), "hello").unwrap();
    assert!(FeatureMap::load(&folder.path().join("no.map")).is_err());
}

#[test]
fn broken_images_are_named_or_skipped() {
    let (folder, _) = folder(2);
    std::fs::write(folder.path().join("class1/00.png"), "no image").unwrap();
    std::fs::write(folder.path().join("class1/notes.txt"), "no image either").unwrap();
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let listing = list_classes(folder.path()).unwrap();
    assert_eq!(
        (listing.images.len(), listing.left_out.files.len(), &listing.empty_classes[..]),
        (6, 1, &["empty".to_string()][..])
    );
    let spec = FeatureSpec::Pixels(PixelsSpec::default());
    let error = fit(&spec, None, &listing.images, &[true; 6], Handling::default(), &()).unwrap_err().to_string();
    assert!(
        error.contains("1 of 6") && error.contains("class1/00.png") && error.contains("option `skip-broken`"),
        "{error}"
    );
    for spec in [spec, FeatureSpec::SiftPyramid(sift())] {
        let (_, some) = fit(&spec, None, &listing.images, &[true; 6], SKIP, &()).unwrap();
        assert_eq!((some.places, some.broken[0].name.as_str()), (vec![0, 1, 3, 4, 5], "class1/00.png"));
    }
    let tiny = FeatureSpec::SiftPyramid(SiftSpec { patches: vec![128], ..sift() });
    let error = fit(&tiny, None, &listing.images, &[true; 6], SKIP, &()).unwrap_err().to_string();
    assert!(error.contains("at least two training images"), "{error}");
    let crop = Some(Crop { left: 0, top: 0, width: 1000, height: 10 });
    let outside = FeatureSpec::Pixels(PixelsSpec { crop, ..PixelsSpec::default() });
    let error = fit(&outside, None, &listing.images, &[true; 6], SKIP, &()).unwrap_err().to_string();
    assert!(error.contains("none of the 6"), "{error}");
}

#[test]
fn bombs_and_empty_pictures_are_refused_by_their_heads() {
    let open = |bytes: &[u8]| Picture::decode(Path::new("a.png"), bytes).unwrap_err().to_string();
    let bomb = png(&[(b"IHDR", png_head(10_000, 10_000, 2)), (b"IDAT", vec![0; 40]), (b"IEND", vec![])]);
    assert!(open(&bomb).contains("10000 x 10000 pixels"), "{}", open(&bomb));
    assert!(open(b"P5\n100000 100000\n255\n").contains("a.png"));
    assert!(open(b"P5\n10000 10000\n255\n").contains("make it smaller"));
    for empty in [&b"P5\n0 5\n255\n"[..], b"P6\n5 0\n255\n", b"P5", b"\xff\xd8\xff\xe0", b"BM"] {
        assert!(open(empty).contains("not a readable image"), "{}", open(empty));
    }
    assert!(open(b"").contains("the file is empty"));
    let none = png(&[(b"IHDR", png_head(0, 4, 0)), (b"IEND", vec![])]);
    assert!(open(&none).contains("not a readable image"));
    let whole = pattern(20, 10, 0).to_png().unwrap();
    for cut in 0..whole.len() - 24 {
        assert!(Picture::decode(Path::new("a.png"), &whole[..cut]).is_err(), "cut at {cut}");
    }
}

#[test]
fn pictures_are_turned_as_exif_says() {
    let upright = pattern(3, 2, 0).to_png().unwrap();
    // After the head (8 + 25 bytes): a TIFF header and one entry, orientation 6 (turn clockwise).
    let exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0".to_vec();
    let chunk = png(&[(b"eXIf", exif)]);
    let turned = [&upright[..33], &chunk[8..], &upright[33..]].concat();
    let (a, b) = (pattern(3, 2, 0), Picture::decode(Path::new("a.png"), &turned).unwrap());
    assert_eq!((b.width, b.height), (2, 3));
    for r in 0..2 {
        for c in 0..3 {
            assert_eq!(b.pixels[(c * 2 + 1 - r) * 3..][..3], a.pixels[(r * 3 + c) * 3..][..3]);
        }
    }
}

#[cfg(unix)]
#[test]
fn links_in_circles_do_not_trap_the_search() {
    use std::os::unix::fs::symlink;
    let (folder, images) = folder(2);
    symlink(folder.path(), folder.path().join("class0/up")).unwrap();
    symlink("loop", folder.path().join("loop")).unwrap();
    symlink(folder.path(), folder.path().join("again")).unwrap();
    let listing = list_classes(folder.path()).unwrap();
    assert_eq!(listing.images, images);
    assert_eq!(listing.empty_classes, ["again"]);
}

#[test]
fn one_file_and_flat_folders_can_be_listed() {
    let (folder, images) = folder(2);
    assert_eq!(list_any(folder.path()).unwrap().images, images);
    let flat = list_any(&folder.path().join("class0")).unwrap().images;
    assert_eq!((flat.len(), flat[1].class.clone(), flat[1].name.as_str()), (2, None, "01.png"));
    assert_eq!(list_any(&images[0].path).unwrap().images[0].name, "00.png");
}

#[test]
fn copies_of_training_images_follow_them_and_test_images_have_none() {
    let (_folder, images) = folder(2);
    let is_train: Vec<bool> = (0..images.len()).map(|i| i % 2 == 0).collect();
    let augment: Augment = "flip,shift".parse().unwrap();
    for spec in [FeatureSpec::Pixels(PixelsSpec::default()), FeatureSpec::Fisher(fisher())] {
        let (_, plain) = fit(&spec, None, &images, &is_train, Handling::default(), &()).unwrap();
        let handling = Handling { augment, ..Handling::default() };
        let (_, all) = fit(&spec, None, &images, &is_train, handling, &()).unwrap();
        let expected: Vec<usize> =
            (0..images.len()).flat_map(|i| vec![i; if is_train[i] { 1 + augment.n_copies() } else { 1 }]).collect();
        assert_eq!(all.places, expected);
        for (j, &place) in plain.places.iter().enumerate() {
            let first = all.places.iter().position(|&p| p == place).unwrap();
            assert_eq!(
                all.x.col(first),
                plain.x.col(j),
                "the image itself comes first, and copies change nothing about it"
            );
        }
    }
}
