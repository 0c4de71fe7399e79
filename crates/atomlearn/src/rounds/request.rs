//! What a trainer asks of every partition: a small state and what to sum.

use super::message::Message;
use super::sparse::SparseChain;
use crate::coding::margin::MarginSet;
use crate::parts::check_shape;
use crate::prep::Prep;
use crate::{Error, Result};
use faer::Mat;
use serde::{Deserialize, Serialize};

const FORMAT: &str = "atomlearn.request/1";

/// One question to all partitions; the same for each of them.
#[derive(Clone, Debug)]
pub struct Request {
    /// Name of the training run; what a partition remembers of one run is of no use to another.
    pub run: String,
    /// Number of the round.
    pub round: u64,
    pub(crate) prep: Prep,
    pub(crate) classes: Vec<String>,
    pub(crate) ask: Ask,
}

/// What to sum over the samples `x` after preprocessing.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    /// `x`.
    Sum,
    /// `(x - centre)(x - centre)^T`.
    Scatter { center: Mat<f64> },
    /// Number and sum by label.
    Survey,
    /// The same as `Scatter` for every class, about a centre of its own.
    ClassScatter { centers: Mat<f64> },
    /// Terms of a one-vs-rest SVM, and of the codes it is fitted to.
    Svm(SvmAsk),
    /// How many samples get their own class from either of two linear maps.
    Check(CheckAsk),
    /// What SADL needs of its codes.
    Sparse(SparseChain),
    /// The range of every feature, and the number of samples of each class in each partition.
    Ranges,
    /// Some of the samples themselves.
    Pick(PickAsk),
    /// How features spread, and which samples there are more than once.
    Gauge(GaugeAsk),
    /// Sums by class, and `x x^T` of all samples or by class.
    SecondMoments { by_class: bool },
}

/// Samples by their partitions.
#[derive(Clone, Debug)]
pub(crate) struct PickAsk {
    /// Partition, class, and number among the samples of that class there, a column for each sample that is asked for.
    pub(crate) places: Mat<f64>,
}

impl PickAsk {
    /// Class and number of the samples of a partition.
    pub(crate) fn of(&self, partition: usize) -> impl Iterator<Item = (usize, usize)> {
        let mine = self.places.col_iter().filter(move |place| place[0] == partition as f64);
        mine.map(|place| (place[1] as usize, place[2] as usize))
    }
}

/// See [`super::sums::GaugeSums`].
#[derive(Clone, Debug)]
pub(crate) struct GaugeAsk {
    /// A column.
    pub(crate) center: Mat<f64>,
    /// [`super::sample_hash`] of the samples that are looked for.
    pub(crate) hashes: Vec<u64>,
}

/// The pull `w` of every sample towards the right side of its margins, see [`crate::coding::margin`].
///
/// The violated margins of an iteration are those of the previous codes, which had a pull of their own, and so on: a
/// chain with one link per iteration. A partition that remembers the violated margins of a link goes on from there.
#[derive(Clone, Debug)]
pub(crate) struct Chain {
    /// The iteration before its first link; a chain that starts elsewhere is another.
    pub(crate) start: usize,
    pub(crate) strength: f64,
    pub(crate) active_set: MarginSet,
    pub(crate) links: Vec<Link>,
}

/// One iteration: which margins the previous codes violate, and the pull that follows.
#[derive(Clone, Debug)]
pub(crate) struct Link {
    /// Scores of the previous codes: `from_x x + from_w w`, without bias; classes x features and classes x classes.
    pub(crate) from_x: Mat<f64>,
    pub(crate) from_w: Mat<f64>,
    /// Bias of the classifiers, 1 x classes.
    pub(crate) bias: Mat<f64>,
    /// `base x` are the scores of the new codes without pull.
    pub(crate) base: Mat<f64>,
    /// See [`crate::coding::margin::Margins::coupling`].
    pub(crate) coupling: Mat<f64>,
}

/// The SVM works on features `f`: `s = (x, w)`, or `s = x` without a chain, and `f = lift s` or just `s`.
#[derive(Clone, Debug)]
pub(crate) struct SvmAsk {
    pub(crate) chain: Option<Chain>,
    pub(crate) lift: Option<Mat<f64>>,
    /// Classes that are still to be solved.
    pub(crate) pending: Vec<usize>,
    /// Their weights and, in the last row, biases: (dim of f + 1) x pending.
    pub(crate) weights: Mat<f64>,
    pub(crate) sums: PullAsk,
}

/// What to sum of the pulls in an SVM round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum PullAsk {
    None,
    /// `w x^T`, `w w^T`, and `w` by class.
    Codes,
    /// The same with `w x^T` by class.
    CodesByClass,
}

/// Two maps from `s` and from `x` to class scores; the last column of each is the bias.
#[derive(Clone, Debug)]
pub(crate) struct CheckAsk {
    pub(crate) chain: Option<Chain>,
    pub(crate) fitted: Mat<f64>,
    pub(crate) test: Mat<f64>,
}

#[derive(Serialize, Deserialize)]
enum Kind {
    Sum,
    Scatter,
    Survey,
    ClassScatter,
    Svm,
    Check,
    Sparse,
    Ranges,
    Pick,
    Gauge,
    SecondMoments,
}

impl Request {
    /// The bytes, for another process.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut message = Message::new(FORMAT);
        message.set("run", &self.run);
        message.set("round", self.round);
        message.set("classes", &self.classes);
        put_prep(&mut message, &self.prep);
        match &self.ask {
            Ask::Sum => message.set("ask", Kind::Sum),
            Ask::Survey => message.set("ask", Kind::Survey),
            Ask::Scatter { center } => {
                message.set("ask", Kind::Scatter);
                message.put("centre", center.clone());
            }
            Ask::ClassScatter { centers } => {
                message.set("ask", Kind::ClassScatter);
                message.put("centres", centers.clone());
            }
            Ask::Svm(ask) => {
                message.set("ask", Kind::Svm);
                message.set("pending", &ask.pending);
                message.set("sums", ask.sums);
                message.put("weights", ask.weights.clone());
                ask.lift.iter().for_each(|lift| message.put("lift", lift.clone()));
                put_chain(&mut message, ask.chain.as_ref());
            }
            Ask::Check(ask) => {
                message.set("ask", Kind::Check);
                message.put("fitted", ask.fitted.clone());
                message.put("test", ask.test.clone());
                put_chain(&mut message, ask.chain.as_ref());
            }
            Ask::Sparse(chain) => {
                message.set("ask", Kind::Sparse);
                chain.put(&mut message);
            }
            Ask::Ranges => message.set("ask", Kind::Ranges),
            Ask::Pick(ask) => {
                message.set("ask", Kind::Pick);
                message.put("places", ask.places.clone());
            }
            Ask::Gauge(ask) => {
                message.set("ask", Kind::Gauge);
                message.set("hashes", &ask.hashes);
                message.put("centre", ask.center.clone());
            }
            Ask::SecondMoments { by_class } => {
                message.set("ask", Kind::SecondMoments);
                message.set("by_class", by_class);
            }
        }
        message.encode()
    }

    /// Bytes that partitions will remember of every sample, beyond a few.
    pub fn remembered(&self) -> usize {
        match &self.ask {
            Ask::Sparse(chain) => 8 * chain.remembered(),
            _ => 0,
        }
    }

    /// From bytes, which may be hostile.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut message = Message::decode(bytes, FORMAT)?;
        let classes: Vec<String> = message.get("classes")?;
        let prep = take_prep(&mut message)?;
        let m = prep.n_out()?;
        let n_classes = classes.len();
        let ask = match message.get("ask")? {
            Kind::Sum => Ask::Sum,
            Kind::Survey => Ask::Survey,
            Kind::Scatter => Ask::Scatter { center: message.take("centre", m, 1)? },
            Kind::ClassScatter => Ask::ClassScatter { centers: message.take("centres", m, n_classes)? },
            Kind::Svm => {
                let chain = take_chain(&mut message, m, n_classes)?;
                let stacked = m + if chain.is_some() { n_classes } else { 0 };
                let lift = message.take_if("lift");
                if let Some(lift) = &lift {
                    check_shape("lift of a message", lift, None, Some(stacked))?;
                }
                let pending: Vec<usize> = message.get("pending")?;
                if pending.iter().any(|&c| c >= n_classes) {
                    return Err(Error::Data("the request names a class that does not exist".into()));
                }
                let dim = lift.as_ref().map_or(stacked, Mat::nrows);
                let weights = message.take("weights", dim + 1, pending.len())?;
                Ask::Svm(SvmAsk { chain, lift, pending, weights, sums: message.get("sums")? })
            }
            Kind::Check => {
                let chain = take_chain(&mut message, m, n_classes)?;
                let stacked = m + if chain.is_some() { n_classes } else { 0 };
                let fitted = message.take("fitted", n_classes, stacked + 1)?;
                Ask::Check(CheckAsk { chain, fitted, test: message.take("test", n_classes, m + 1)? })
            }
            Kind::Sparse => Ask::Sparse(SparseChain::take(&mut message, m, n_classes)?),
            Kind::Ranges => Ask::Ranges,
            Kind::Pick => Ask::Pick(PickAsk { places: message.take("places", 3, None)? }),
            Kind::Gauge => {
                let center = message.take("centre", m, 1)?;
                Ask::Gauge(GaugeAsk { center, hashes: message.get("hashes")? })
            }
            Kind::SecondMoments => Ask::SecondMoments { by_class: message.get("by_class")? },
        };
        Ok(Request { run: message.get("run")?, round: message.get("round")?, prep, classes, ask })
    }
}

/// Stores a preprocessing.
pub(crate) fn put_prep(message: &mut Message, prep: &Prep) {
    message.set("prep", prep.spec().to_string());
    message.set("n_features", prep.n_features());
    prep.store(&mut message.parts);
}

/// The counterpart of [`put_prep`].
pub(crate) fn take_prep(message: &mut Message) -> Result<Prep> {
    let (spec, n_features): (String, usize) = (message.get("prep")?, message.get("n_features")?);
    Prep::restore(spec.parse()?, n_features, &mut message.parts)
}

/// Stores a chain, if there is one.
pub(crate) fn put_chain(message: &mut Message, chain: Option<&Chain>) {
    message.set("links", chain.map(|chain| chain.links.len()));
    let Some(chain) = chain else { return };
    message.set("chain_start", chain.start);
    message.set("strength", chain.strength);
    message.set("active_set", chain.active_set);
    for (i, link) in chain.links.iter().enumerate() {
        for (name, part) in link.named() {
            message.put(format!("link.{i}.{name}"), part.clone());
        }
    }
}

/// The counterpart of [`put_chain`].
pub(crate) fn take_chain(message: &mut Message, m: usize, n_classes: usize) -> Result<Option<Chain>> {
    let Some(count) = message.get::<Option<usize>>("links")? else { return Ok(None) };
    let mut links = Vec::new();
    for i in 0..count {
        let mut take = |name: &str, rows: usize, cols: usize| message.take(&format!("link.{i}.{name}"), rows, cols);
        links.push(Link {
            from_x: take("from_x", n_classes, m)?,
            from_w: take("from_w", n_classes, n_classes)?,
            bias: take("bias", 1, n_classes)?,
            base: take("base", n_classes, m)?,
            coupling: take("coupling", n_classes, n_classes)?,
        });
    }
    let start = message.get("chain_start")?;
    let strength = message.get("strength")?;
    let active_set = message.get("active_set")?;
    Ok(Some(Chain { start, strength, active_set, links }))
}

impl Link {
    fn named(&self) -> [(&'static str, &Mat<f64>); 5] {
        [
            ("from_x", &self.from_x),
            ("from_w", &self.from_w),
            ("bias", &self.bias),
            ("base", &self.base),
            ("coupling", &self.coupling),
        ]
    }
}
