//! ONNX networks: activations, names, damage.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod common;

use atomlearn_features::{
    FeatureMap, FeatureSpec, FisherSpec, Fit, Frame, Handling, Network, OnnxSpec, PixelsSpec, Preset, RandomFaceSpec,
    export_with_map, extract, fit, list_layers,
};
use common::{folder, pattern, real, tiny_network, weight};
use std::path::Path;
use tract_onnx::prelude::*;

fn spec(layer: &str) -> OnnxSpec {
    OnnxSpec { layer: Some(layer.into()), preset: Preset::None, ..OnnxSpec::default() }
}

fn tiny(spec: &OnnxSpec) -> atomlearn::Result<Network> {
    Network::new(Path::new("tiny.onnx"), tiny_network(), spec)
}

#[test]
fn an_inner_layer_is_what_its_definition_says() {
    let input: Vec<f32> = (0..48).map(|i| (i % 7) as f32 - 2.0).collect();
    let exact = |j: usize| (0..48).map(|i| f64::from(input[i] * weight(i, j))).sum::<f64>();
    let fc6 = tiny(&spec("fc6")).unwrap().run(std::slice::from_ref(&input)).unwrap();
    let out = tiny(&OnnxSpec { layer: None, ..spec("") }).unwrap().run(std::slice::from_ref(&input)).unwrap();
    for j in 0..5 {
        assert!((fc6[0][j] - exact(j)).abs() < 1e-4);
        assert!((out[0][j] - exact(j).max(0.0)).abs() < 1e-4);
    }
    let batch = tiny(&OnnxSpec { batch: 4, ..spec("fc6") }).unwrap();
    let other: Vec<f32> = input.iter().rev().copied().collect();
    let found = batch.run(&[input.clone(), other]).unwrap();
    assert_eq!(found.len(), 2);
    assert!(found[0].iter().zip(&fc6[0]).all(|(a, b)| (a - b).abs() < 1e-4));
}

#[test]
fn layers_have_names_and_shapes_and_wrong_ones_a_suggestion() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.onnx");
    std::fs::write(&path, tiny_network()).unwrap();
    let found: Vec<_> = list_layers(&path, None).unwrap().into_iter().map(|l| (l.name, l.shape.unwrap())).collect();
    let expected = [("input", vec![1, 3, 4, 4]), ("flat", vec![1, 48]), ("fc6", vec![1, 5]), ("out", vec![1, 5])];
    assert_eq!(found, expected.map(|(name, shape)| (name.to_string(), shape)));
    let error = tiny(&spec("fc7")).unwrap_err().to_string();
    assert_eq!(error, "unknown layer `fc7` (did you mean `fc6`?)");
    assert!(tiny(&OnnxSpec { size: Some([8, 8]), ..spec("fc6") }).unwrap_err().to_string().contains("4x4"));
    assert!(tiny(&OnnxSpec { batch: 0, ..spec("fc6") }).is_err());
}

#[test]
fn damaged_networks_are_errors() {
    let whole = tiny_network();
    let open = |bytes: &[u8]| Network::new(Path::new("bad.onnx"), bytes.to_vec(), &spec("fc6"));
    for bytes in [&b""[..], b"hello, this is no network", &whole[..whole.len() / 2], &whole[..20]] {
        let error = open(bytes).unwrap_err().to_string();
        assert!(error.contains("bad.onnx") || error.contains("layer"), "{error}");
    }
    for i in (0..whole.len()).step_by(3) {
        let mut flipped = whole.clone();
        flipped[i] ^= 0x15;
        // An error or another network; never a panic.
        let _ = open(&flipped).map(|network| network.run(&[vec![0.5; 48]]));
    }
}

#[test]
fn a_map_carries_its_network() {
    let (place, images) = folder(2);
    let path = place.path().join("tiny.onnx");
    std::fs::write(&path, tiny_network()).unwrap();
    let onnx = OnnxSpec { batch: 3, ..spec("fc6") };
    let (map, first) =
        fit(&FeatureSpec::Onnx(onnx), Some(&path), &images, &[true; 6], Handling::default(), &()).unwrap();
    map.save(&place.path().join("map")).unwrap();
    std::fs::remove_file(&path).unwrap();
    let back = FeatureMap::load(&place.path().join("map")).unwrap();
    assert_eq!(extract(&back, &images, false, &()).unwrap().x, first.x);
    assert_eq!((first.x.nrows(), first.x.ncols()), (5, 6));
}

/// Values of onnxruntime by `bench/onnx_golden.py make`, for the picture of `common::pattern`.
fn golden(name: &str) -> Vec<f64> {
    let text = include_str!("golden/onnx.json");
    let golden: serde_json::Value = serde_json::from_str(text).unwrap();
    golden[name].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn agrees(file: &str, layer: &str, name: &str) {
    let Some(path) = real(file) else { return };
    let onnx = OnnxSpec { preset: Preset::EfficientnetLite, ..spec(layer) };
    let network = Network::open(&path, &onnx).unwrap();
    let found = network.apply(&pattern(300, 260, 0)).unwrap();
    let expected = golden(name);
    assert_eq!(found.len(), expected.len());
    let largest = expected.iter().fold(0.0f64, |most, v| most.max(v.abs()));
    let apart = found.iter().zip(&expected).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
    println!("{name}: {apart:.2e} apart, the largest value is {largest:.2e}");
    assert!(apart < 1e-3 * largest, "{name}: {apart} of {largest}");
}

#[test]
fn real_networks_agree_with_onnxruntime() {
    agrees("onnx/tiny_vgg.onnx", "fc6", "tiny_vgg fc6");
    agrees("onnx/tiny_vgg_valueinfo.onnx", "fc6", "tiny_vgg fc6");
    agrees("onnx/efficientnet_lite0.onnx", "features", "efficientnet_lite0 features");
}

/// The numbers of a float32 array in an `.npz` file that was stored without compression.
fn stored_array(npz: &[u8], name: &str) -> Vec<f32> {
    let entry = format!("{name}.npy");
    let at = npz.windows(entry.len()).position(|bytes| bytes == entry.as_bytes()).unwrap();
    let magic = at + npz[at..].windows(6).position(|bytes| bytes == b"\x93NUMPY").unwrap();
    let header = usize::from(u16::from_le_bytes([npz[magic + 8], npz[magic + 9]]));
    let text = String::from_utf8_lossy(&npz[magic + 10..magic + 10 + header]).into_owned();
    let shape = text.split(['(', ')']).nth(1).unwrap();
    let count: usize = shape.split(',').filter_map(|side| side.trim().parse::<usize>().ok()).product();
    let data = &npz[magic + 10 + header..][..4 * count];
    data.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

#[test]
fn the_small_vgg_gives_its_expected_layers() {
    let (Some(path), Some(expected)) = (real("onnx/tiny_vgg.onnx"), real("onnx/tiny_vgg_expected.npz")) else { return };
    let npz = std::fs::read(expected).unwrap();
    let inputs: Vec<Vec<f32>> = stored_array(&npz, "input").chunks_exact(3 * 32 * 32).map(<[f32]>::to_vec).collect();
    assert_eq!(inputs.len(), 2);
    for layer in ["fc6", "fc7_relu", "logits"] {
        let network = Network::open(&path, &OnnxSpec { batch: 2, ..spec(layer) }).unwrap();
        let found: Vec<f64> = network.run(&inputs).unwrap().concat();
        let expected = stored_array(&npz, layer);
        assert_eq!(found.len(), expected.len());
        assert!(found.iter().zip(expected).all(|(a, b)| (a - f64::from(b)).abs() < 1e-4 * (1.0 + a.abs())), "{layer}");
    }
}

/// The scores that an exported graph gives for one image.
fn run_graph(bytes: &[u8], image: Tensor) -> Vec<f64> {
    let model = tract_onnx::onnx().model_for_read(&mut &bytes[..]).unwrap();
    let shape = image.shape().to_vec();
    let fact = InferenceFact::dt_shape(image.datum_type(), shape);
    let mut model = model.with_input_fact(0, fact).unwrap();
    model.select_outputs_by_name(["scores"]).unwrap();
    let plan = model.into_typed().unwrap().into_runnable().unwrap();
    let scores = plan.run(tvec!(image.into())).unwrap();
    scores[0].view().as_slice::<f64>().unwrap().to_vec()
}

#[test]
fn an_exported_graph_takes_images_where_onnx_can_express_the_map() {
    let (_folder, images) = folder(4);
    let labels: Vec<String> = images.iter().map(|image| image.class.clone().unwrap()).collect();
    let here = tempfile::tempdir().unwrap();
    let path = here.path().join("tiny.onnx");
    std::fs::write(&path, tiny_network()).unwrap();
    let small = PixelsSpec { crop: None, frame: Frame { rows: 6, cols: 5, fit: Fit::Stretch } };
    let specs = [
        FeatureSpec::Pixels(small.clone()),
        FeatureSpec::RandomFace(RandomFaceSpec { pixels: small, dim: 7, seed: 1 }),
        FeatureSpec::Onnx(OnnxSpec { preset: Preset::Caffe, ..spec("fc6") }),
        FeatureSpec::Fisher(FisherSpec { components: 2, descriptor_dim: 5, descriptors: 99, ..FisherSpec::default() }),
    ];
    let picture = pattern(5, 6, 3);
    for spec in specs {
        let (map, all) = fit(&spec, Some(&path), &images, &vec![true; images.len()], Handling::default(), &()).unwrap();
        let data = atomlearn::Dataset::new(all.x.as_ref(), &labels).unwrap();
        let method = atomlearn::registry::method("ridge").unwrap();
        let prep = "standard".parse().unwrap();
        let model = atomlearn::Model::train(method, &Default::default(), &prep, &data, &mut ()).unwrap();
        let exported = export_with_map(&model.to_onnx().unwrap(), &map).unwrap();
        assert_eq!(exported.with_map, map.kind() != "fisher", "{}", exported.input);
        if !exported.with_map {
            assert!(exported.input.contains("begins after") && exported.input.contains("Fisher"), "{}", exported.input);
            continue;
        }
        // The network takes 4 x 4, the others take the picture's own size: nothing is resampled on either side.
        let (shown, image) = if map.kind() == "onnx" {
            let shown = pattern(4, 4, 9);
            let planes = (0..3).flat_map(|c| (0..16).map(move |k| (k, c)));
            let values: Vec<f32> = planes.map(|(k, c)| f32::from(shown.pixels[3 * k + c])).collect();
            (shown, Tensor::from_shape(&[1, 3, 4, 4], &values).unwrap())
        } else {
            let grey = picture.grey();
            (grey.clone(), Tensor::from_shape(&[1, 6, 5], &grey.pixels).unwrap())
        };
        let features = map.apply(&shown).unwrap();
        let x = atomlearn::Mat::from_fn(features.len(), 1, |i, _| features[i]);
        let expected = model.scores(x.as_ref()).unwrap();
        let found = run_graph(&exported.bytes, image);
        for (c, found) in found.iter().enumerate() {
            assert!(
                (found - expected[(c, 0)]).abs() < 1e-5 * (1.0 + found.abs()),
                "{}: {found} {}",
                map.kind(),
                expected[(c, 0)]
            );
        }
    }
}
