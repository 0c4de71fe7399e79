//! The part of networks that tract does: parsing a file, running it up to a tensor.

use super::network::{Input, Layer};
use super::{OnnxSpec, sizes};
use atomlearn::{Error, NameKind, Result};
use std::path::Path;
use std::sync::Arc;
use tract_onnx::prelude::*;
use tract_onnx::tract_hir::infer::Factoid;
use tract_onnx::tract_hir::internal::DimLike;

/// No layer has more values.
const MAX_DIM: usize = 1 << 22;
/// No input is larger on a side.
const MAX_SIDE: usize = 4096;

/// A network that is ready to run.
#[derive(Clone)]
pub(super) struct Plan(Arc<TypedSimplePlan>);

impl Plan {
    /// What the network takes, how many numbers its layer gives for an image, and how to run it.
    pub(super) fn new(path: &Path, bytes: &[u8], spec: &OnnxSpec) -> Result<(Input, usize, Self)> {
        guarded(path, || {
            let (mut model, input) = open_model(path, bytes, spec.batch, spec.size)?;
            let outlet = choose(&model, spec.layer.as_deref())?;
            let failed = |e: TractError| cannot(path, "run this network up to that layer", &e);
            model.select_output_outlets(&[outlet]).map_err(failed)?;
            let model = model.into_optimized().map_err(failed)?;
            sizes::check_values(path, &model, spec.batch)?;
            let shape = model.output_fact(0).map_err(failed)?.shape.as_concrete().map(<[usize]>::to_vec);
            let dim = features_of(shape.as_deref(), spec.batch)
                .ok_or_else(|| Error::format(path, wrong_shape(spec, shape.as_deref())))?;
            Ok((input, dim, Plan(model.into_runnable().map_err(failed)?)))
        })
    }

    /// The layer's values for a batch of images.
    pub(super) fn run(&self, path: &Path, shape: [usize; 4], values: &[f32]) -> Result<Vec<f32>> {
        guarded(path, || {
            let failed = |e: TractError| cannot(path, "run the network", &e);
            let input = Tensor::from_shape(&shape, values).map_err(failed)?;
            let output = self.0.run(tvec!(input.into())).map_err(failed)?;
            let output = output[0].cast_to::<f32>().map_err(failed)?;
            Ok(output.view().as_slice::<f32>().map_err(failed)?.to_vec())
        })
    }
}

/// The tensors that depend on the input, in the order of computation.
pub(super) fn list_layers(path: &Path, bytes: &[u8], size: Option<[usize; 2]>) -> Result<Vec<Layer>> {
    guarded(path, || {
        let (mut model, _) = open_model(path, bytes, 1, size)?;
        // Shapes are a help; a network that cannot be analysed still has names.
        let _ = model.analyse(false);
        Ok(layers(&model))
    })
}

fn layers(model: &InferenceModel) -> Vec<Layer> {
    let mut reached = vec![false; model.nodes().len()];
    for outlet in model.input_outlets().unwrap_or_default() {
        reached[outlet.node] = true;
    }
    let mut layers = Vec::new();
    for node in model.eval_order().unwrap_or_default() {
        if !reached[node] && !model.node(node).inputs.iter().any(|input| reached[input.node]) {
            continue;
        }
        reached[node] = true;
        for slot in 0..model.node(node).outputs.len() {
            let outlet = OutletId::new(node, slot);
            let fact = model.outlet_fact(outlet).ok().and_then(|fact| fact.shape.as_concrete_finite().ok().flatten());
            let name = model.outlet_label(outlet).unwrap_or(&model.node(node).name).to_string();
            layers.push(Layer { name, shape: fact.map(|shape| shape.to_vec()) });
        }
    }
    layers
}

/// The tensor of that name, or the first output.
fn choose(model: &InferenceModel, layer: Option<&str>) -> Result<OutletId> {
    let outputs = model.output_outlets().unwrap_or_default();
    let Some(name) = layer else {
        return outputs.first().copied().ok_or_else(|| Error::Data("the network has no output; name a layer".into()));
    };
    let label = |outlet: &OutletId| model.outlet_label(*outlet).unwrap_or(&model.node(outlet.node).name) == name;
    let all = model.nodes().iter().flat_map(|node| (0..node.outputs.len()).map(|slot| OutletId::new(node.id, slot)));
    all.into_iter().find(label).ok_or_else(|| {
        let known = layers(model);
        Error::unknown(NameKind::Layer, name, known.iter().map(|layer| layer.name.as_str()))
    })
}

/// Parses the file and fixes the sizes of its one input.
fn open_model(path: &Path, bytes: &[u8], batch: usize, size: Option<[usize; 2]>) -> Result<(InferenceModel, Input)> {
    if bytes.is_empty() {
        return Err(Error::format(path, "the file is empty; copy or export the network again"));
    }
    let damaged = |e: TractError| cannot(path, "read it as an ONNX network; copy or export it again", &e);
    // Shapes noted in the file may use symbols that contradict a fixed batch size; they follow from the input anyway.
    let reader = tract_onnx::onnx().with_ignore_value_info(true);
    let declared = reader.proto_model_for_read(&mut &bytes[..]).map_err(damaged)?;
    declared.graph.iter().try_for_each(|graph| sizes::check(path, graph, bytes.len()))?;
    let mut model = reader.model_for_proto_model(&declared).map_err(damaged)?;
    let count = model.input_outlets().map_err(damaged)?.len();
    if count != 1 {
        return Err(Error::format(path, format!("the network has {count} inputs; one that takes images has one")));
    }
    let fact = model.input_fact(0).map_err(damaged)?.clone();
    let sides: Vec<Option<usize>> =
        fact.shape.dims().map(|dim| dim.concretize().and_then(|dim| dim.to_usize().ok())).collect();
    let input = image_input(path, &sides, size)?;
    let shape = input.shape(batch);
    model.set_input_fact(0, InferenceFact::dt_shape(f32::datum_type(), shape)).map_err(damaged)?;
    // Declared shapes of outputs may use the same symbols.
    let outputs: Vec<OutletId> = model.output_outlets().map_err(damaged)?.to_vec();
    for outlet in outputs {
        model.set_outlet_fact(outlet, InferenceFact::default()).map_err(damaged)?;
    }
    Ok((model, input))
}

/// Batch, channels, height, width; or channels last.
fn image_input(path: &Path, sides: &[Option<usize>], size: Option<[usize; 2]>) -> Result<Input> {
    let &[_, a, b, c] = sides else {
        let why = format!("its input has {} axes; images need 4: batch, channels, height, width", sides.len());
        return Err(Error::format(path, why));
    };
    let is_channels = |side: Option<usize>| matches!(side, Some(1 | 3));
    let channels_last = !is_channels(a) && is_channels(c);
    let (channels, rows, cols) = if channels_last { (c, a, b) } else { (a, b, c) };
    let channels = channels.unwrap_or(3);
    if channels != 1 && channels != 3 {
        return Err(Error::format(path, format!("its input has {channels} channels; images have 1 or 3")));
    }
    let open = "leaves the size of its input open; say it with option `size`, as in option `size = 224x224`";
    let asked = |k: usize| size.map(|size| size[k]);
    let (rows, cols) = match (rows.or(asked(0)), cols.or(asked(1))) {
        (Some(rows), Some(cols)) => (rows, cols),
        _ => return Err(Error::format(path, format!("the network {open}"))),
    };
    if let Some(size) = size.filter(|&size| size != [rows, cols]) {
        let why = format!("the network takes images of {rows}x{cols} only");
        return Err(Error::param("size", format!("{}x{}", size[0], size[1]), why));
    }
    if !(1..=MAX_SIDE).contains(&rows) || !(1..=MAX_SIDE).contains(&cols) {
        return Err(Error::format(path, format!("an input of {rows} x {cols} pixels; 1 to {MAX_SIDE} are possible")));
    }
    Ok(Input { rows, cols, channels, channels_last })
}

fn features_of(shape: Option<&[usize]>, batch: usize) -> Option<usize> {
    let (&first, rest) = shape?.split_first()?;
    let dim = rest.iter().try_fold(1usize, |dim, &side| dim.checked_mul(side))?;
    (first == batch && (1..=MAX_DIM).contains(&dim)).then_some(dim)
}

fn wrong_shape(spec: &OnnxSpec, shape: Option<&[usize]>) -> String {
    let layer = spec.layer.as_deref().unwrap_or("the first output");
    format!(
        "layer {layer} has the shape {shape:?}, which is not one row of numbers for each of {} images; \
         option `list-layers` shows others",
        spec.batch
    )
}

/// What tract says is long; its innermost reason is enough.
fn cannot(path: &Path, what: &str, error: &TractError) -> Error {
    let text = error.root_cause().to_string();
    let reason: String = text.lines().next().unwrap_or_default().chars().take(200).collect();
    Error::format(path, format!("cannot {what} ({reason})"))
}

/// Malformed networks may make the inference code panic; that is an error of the file.
fn guarded<T>(path: &Path, work: impl FnOnce() -> Result<T>) -> Result<T> {
    atomlearn::guard::guarded(path, "the network is damaged; copy or export it again", work)
}
