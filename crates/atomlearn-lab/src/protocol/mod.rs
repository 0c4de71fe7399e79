//! What an experiment is about before anything runs: data, splits, folds, grids, recipes.

pub mod data;
pub mod folds;
pub mod grid;
pub mod groups;
mod index_vectors;
pub mod params_file;
pub mod recipe;
pub mod scaling;
pub mod splits;
pub mod twins;
