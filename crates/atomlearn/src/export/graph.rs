//! Building an ONNX graph: values are named, samples are rows, numbers are doubles.

use super::proto::{
    Attribute, Dimension, GraphProto, Node, Shape, TensorProto, TensorType, Type, ValueInfo, attribute, element,
};
use crate::Blocks;
use crate::linalg::View;
use faer::Mat;

/// A tensor inside the graph.
#[derive(Clone, Debug)]
pub struct Tensor(String);

/// A graph under construction.
#[derive(Default)]
pub struct Graph {
    proto: GraphProto,
    values: usize,
}

impl Graph {
    pub(crate) fn new(name: &str) -> Self {
        Graph { proto: GraphProto { name: name.into(), ..Default::default() }, values: 0 }
    }

    pub(crate) fn finish(self) -> GraphProto {
        self.proto
    }

    pub(crate) fn input(&mut self, name: &str, features: usize) -> Tensor {
        self.proto.input.push(value_info(name, element::DOUBLE, Some(features)));
        Tensor(name.into())
    }

    /// Gives `value` a public name.
    pub(crate) fn output(&mut self, name: &str, value: &Tensor, kind: i32, columns: Option<usize>) {
        self.node("Identity", &[value], name.into(), &[]);
        self.proto.output.push(value_info(name, kind, columns));
    }

    fn fresh(&mut self) -> String {
        self.values += 1;
        format!("v{}", self.values)
    }

    fn node(&mut self, op: &str, inputs: &[&Tensor], output: String, attributes: &[(&str, i64)]) -> Tensor {
        // Before operator set 18, the axes of all reductions but sums are a list among the attributes.
        let attribute = |&(name, i): &(&str, i64)| match name {
            "axes" => Attribute { name: name.into(), i: None, ints: vec![i], kind: attribute::INTS },
            _ => Attribute { name: name.into(), i: Some(i), ints: Vec::new(), kind: attribute::INT },
        };
        self.proto.node.push(Node {
            input: inputs.iter().map(|value| value.0.clone()).collect(),
            output: vec![output.clone()],
            name: format!("{op}_{output}"),
            op_type: op.into(),
            attribute: attributes.iter().map(attribute).collect(),
        });
        Tensor(output)
    }

    /// The result of an operator of the standard set.
    pub fn op(&mut self, op: &str, inputs: &[&Tensor]) -> Tensor {
        self.op_with(op, inputs, &[])
    }

    /// The same with integer attributes.
    pub fn op_with(&mut self, op: &str, inputs: &[&Tensor], attributes: &[(&str, i64)]) -> Tensor {
        let output = self.fresh();
        self.node(op, inputs, output, attributes)
    }

    fn initializer(&mut self, dims: &[usize], data_type: i32, raw: Option<Vec<u8>>, strings: Vec<Vec<u8>>) -> Tensor {
        let name = self.fresh();
        self.proto.initializer.push(TensorProto {
            dims: dims.iter().map(|&size| size as i64).collect(),
            data_type,
            string_data: strings,
            name: name.clone(),
            raw_data: raw,
        });
        Tensor(name)
    }

    /// A constant matrix.
    pub fn matrix(&mut self, a: impl View) -> Tensor {
        let a = a.view();
        let bytes = (0..a.nrows()).flat_map(|i| a.row(i).iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>());
        self.initializer(&[a.nrows(), a.ncols()], element::DOUBLE, Some(bytes.collect()), Vec::new())
    }

    /// A constant row, added to or multiplied with every sample.
    pub fn row(&mut self, values: impl IntoIterator<Item = f64>) -> Tensor {
        let values: Vec<f64> = values.into_iter().collect();
        self.matrix(Mat::from_fn(1, values.len(), |_, j| values[j]).as_ref())
    }

    /// A constant number.
    pub fn scalar(&mut self, value: f64) -> Tensor {
        self.initializer(&[], element::DOUBLE, Some(value.to_le_bytes().to_vec()), Vec::new())
    }

    /// A constant list of integers, as operators take axes.
    pub fn integers(&mut self, values: &[i64]) -> Tensor {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.initializer(&[values.len()], element::INT64, Some(bytes), Vec::new())
    }

    pub(crate) fn strings(&mut self, values: &[String]) -> Tensor {
        let strings = values.iter().map(|text| text.as_bytes().to_vec()).collect();
        self.initializer(&[values.len()], element::STRING, None, strings)
    }

    /// `x a` for a constant matrix (columns of `a` are outputs).
    pub fn times(&mut self, x: &Tensor, a: impl View) -> Tensor {
        let a = self.matrix(a);
        self.op("MatMul", &[x, &a])
    }

    /// `x W + b`: linear scores.
    pub fn linear(&mut self, x: &Tensor, weights: impl View, bias: &[f64]) -> Tensor {
        let product = self.times(x, weights);
        let bias = self.row(bias.iter().copied());
        self.op("Add", &[&product, &bias])
    }

    /// Squared length of every sample, one column.
    pub fn energy(&mut self, x: &Tensor) -> Tensor {
        let axes = self.integers(&[1]);
        let squares = self.op("Mul", &[x, x]);
        self.op_with("ReduceSum", &[&squares, &axes], &[("keepdims", 1)])
    }

    /// Every sample over its largest magnitude, and that, one column; zero samples stay as they are.
    pub fn over_largest(&mut self, x: &Tensor) -> (Tensor, Tensor) {
        let magnitudes = self.op("Abs", &[x]);
        let largest = self.op_with("ReduceMax", &[&magnitudes], &[("axes", 1), ("keepdims", 1)]);
        let zero = self.scalar(0.0);
        let one = self.scalar(1.0);
        let some = self.op("Greater", &[&largest, &zero]);
        let divisor = self.op("Where", &[&some, &largest, &one]);
        (self.op("Div", &[x, &divisor]), largest)
    }

    /// Sums of columns block by block: one column for each block.
    pub fn block_sums(&mut self, x: &Tensor, blocks: &Blocks) -> Tensor {
        let mut member = Mat::zeros(blocks.total(), blocks.len());
        for (c, range) in blocks.ranges().enumerate() {
            range.for_each(|k| member[(k, c)] = 1.0);
        }
        self.times(x, &member)
    }

    /// `-x`.
    pub fn negative(&mut self, x: &Tensor) -> Tensor {
        let minus = self.scalar(-1.0);
        self.op("Mul", &[x, &minus])
    }

    /// `max(x, 0)`.
    pub fn positive(&mut self, x: &Tensor) -> Tensor {
        let zero = self.scalar(0.0);
        self.op("Max", &[x, &zero])
    }
}

/// A tensor of samples: any number of rows, and columns unless it is a plain list.
fn value_info(name: &str, kind: i32, columns: Option<usize>) -> ValueInfo {
    let mut dim = vec![Dimension { value: None, name: Some("samples".into()) }];
    dim.extend(columns.map(|columns| Dimension { value: Some(columns as i64), name: None }));
    let tensor = TensorType { element: kind, shape: Some(Shape { dim }) };
    ValueInfo { name: name.into(), kind: Some(Type { tensor: Some(tensor) }) }
}
