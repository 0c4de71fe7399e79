//! The model file: named matrices, plain bytes and a JSON header in a safetensors container.
//!
//! A matrix is stored as little-endian f64, column after column, with the shape `[columns, rows]`: readers in other
//! languages see one atom (or one class) per row. The header carries a digest of everything else, so a file that was
//! cut short or altered is refused. The same content always gives the same bytes. A file holds no code; loading one from a stranger is safe.

use crate::file::write_atomically;
use crate::{Error, Parts, Result};
use faer::{Mat, MatRef};
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

const HEADER: &str = "atomlearn";
/// How the stored header begins; the digest follows. One entry holds both, as the container orders entries at random.
const DIGEST: &str = "{\"sha256\":\"";
const DIGEST_LEN: usize = 64;

/// What a file holds.
#[derive(Clone, Debug, Default)]
pub struct Content {
    /// The header.
    pub header: Map<String, Value>,
    /// Matrices by name.
    pub matrices: Parts,
    /// Plain bytes by name.
    pub blobs: BTreeMap<String, Arc<[u8]>>,
}

/// Writes header, matrices and bytes, atomically.
pub fn write(path: &Path, content: &Content) -> Result<()> {
    write_atomically(path, &encode(content)?)
}

/// Header, matrices and bytes as the bytes of a model file.
pub fn encode(content: &Content) -> Result<Vec<u8>> {
    let header = Value::Object(content.header.clone()).to_string();
    let mut stored: BTreeMap<&str, (Vec<usize>, Cow<'_, [u8]>)> = BTreeMap::new();
    for (name, matrix) in content.matrices.iter() {
        stored.insert(name, (vec![matrix.ncols(), matrix.nrows()], Cow::Owned(bytes(matrix))));
    }
    for (name, bytes) in &content.blobs {
        stored.insert(name, (vec![bytes.len()], Cow::Borrowed(bytes)));
    }
    let digest = digest(&header, stored.iter().map(|(&name, (shape, data))| (name, shape.as_slice(), &data[..])));
    let comma = if header == "{}" { "" } else { "," };
    let stored_header = format!("{DIGEST}{digest}\"{comma}{}", &header[1..]);
    let metadata = HashMap::from([(HEADER.to_string(), stored_header)]);
    let views = stored
        .iter()
        .map(|(&name, (shape, data))| {
            let kind = if shape.len() == 1 { Dtype::U8 } else { Dtype::F64 };
            Ok((name, TensorView::new(kind, shape.clone(), data)?))
        })
        .collect::<Result<Vec<_>, safetensors::SafeTensorError>>();
    let file = views.and_then(|views| serialize(views, Some(metadata)));
    file.map_err(|e| Error::Data(format!("the model cannot be stored: {e}")))
}

/// Reads and checks a model file.
pub fn read(path: &Path) -> Result<Content> {
    let file = std::fs::read(path).map_err(Error::io(path))?;
    parse(&file).map_err(|why| Error::format(path, why))
}

/// Checks the bytes of a model file; the counterpart of [`encode`].
pub fn decode(file: &[u8]) -> Result<Content> {
    parse(file).map_err(Error::Data)
}

fn parse(file: &[u8]) -> Result<Content, String> {
    let broken = |e: safetensors::SafeTensorError| format!("not a whole atomlearn model file ({e})");
    let (_, metadata) = SafeTensors::read_metadata(file).map_err(broken)?;
    let tensors = SafeTensors::deserialize(file).map_err(broken)?;
    let stored = metadata.metadata().as_ref().and_then(|map| map.get(HEADER));
    let stored =
        stored.ok_or_else(|| format!("a safetensors file, but not an atomlearn model (no `{HEADER}` entry)"))?;
    let (said, header) = split_header(stored).ok_or("the header has no digest")?;
    let views: BTreeMap<String, TensorView<'_>> = tensors.tensors().into_iter().collect();
    let found = digest(&header, views.iter().map(|(name, view)| (name.as_str(), view.shape(), view.data())));
    if found != said {
        return Err("the content does not match its digest: the file was altered or damaged".into());
    }
    let mut matrices = Parts::default();
    let mut blobs = BTreeMap::new();
    for (name, view) in views {
        if view.shape().len() == 1 && view.dtype() == Dtype::U8 {
            blobs.insert(name, view.data().into());
            continue;
        }
        let &[cols, rows] = view.shape() else { return Err(format!("part `{name}` is not a matrix")) };
        if view.dtype() != Dtype::F64 {
            return Err(format!("part `{name}` is not of type F64"));
        }
        let values: Vec<f64> = view.data().chunks_exact(8).map(f64_le).collect();
        if values.iter().any(|v| !v.is_finite()) {
            return Err(format!("part `{name}` holds values that are not finite"));
        }
        // The container guarantees that the data has exactly the size the shape says.
        matrices.put(name, Mat::from_fn(rows, cols, |i, j| values[j * rows + i]));
    }
    match serde_json::from_str(&header) {
        Ok(Value::Object(header)) => Ok(Content { header, matrices, blobs }),
        _ => Err("the header is not a JSON object".into()),
    }
}

/// The digest and the header without it.
fn split_header(stored: &str) -> Option<(&str, String)> {
    let rest = stored.strip_prefix(DIGEST)?;
    let (said, rest) = rest.split_at_checked(DIGEST_LEN)?;
    let rest = rest.strip_prefix('"')?;
    Some((said, format!("{{{}", rest.strip_prefix(',').unwrap_or(rest))))
}

fn f64_le(chunk: &[u8]) -> f64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(chunk);
    f64::from_le_bytes(bytes)
}

fn bytes(matrix: MatRef<'_, f64>) -> Vec<u8> {
    matrix.col_iter().flat_map(|column| column.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>()).collect()
}

/// Digest of the header and of every matrix with its name and shape, in order of names.
fn digest<'a>(header: &str, parts: impl Iterator<Item = (&'a str, &'a [usize], &'a [u8])>) -> String {
    let mut hash = Sha256::new();
    hash.update(header);
    for (name, shape, data) in parts {
        hash.update(format!("\n{name} {shape:?} "));
        hash.update(data);
    }
    hex(&hash.finalize())
}

/// Bytes as hexadecimal text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cut_and_every_flipped_byte_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        let header = Map::from_iter([("a".to_string(), Value::from(1))]);
        let matrix = Mat::from_fn(2, 3, |i, j| 0.1 + i as f64 - 7.0 * j as f64);
        let mut content = Content { header: header.clone(), ..Default::default() };
        content.matrices.put("m", &matrix);
        content.blobs.insert("b".into(), [7, 0, 9].into());
        write(&path, &content).unwrap();
        let back = read(&path).unwrap();
        assert_eq!(
            (back.header, back.matrices.get("m"), &back.blobs["b"][..]),
            (header, Some(matrix.as_ref()), &[7, 0, 9][..])
        );

        let whole = std::fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            assert!(parse(&whole[..cut]).is_err(), "cut at {cut}");
        }
        for i in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[i] ^= 0x41;
            // White space that pads the container's header means nothing; everything else must be noticed.
            if whole[i] != b' ' {
                assert!(parse(&flipped).is_err(), "flipped byte {i}");
            }
        }
        let message = read(Path::new("/no/such/model")).unwrap_err().to_string();
        assert!(message.contains("/no/such/model"));
    }
}
