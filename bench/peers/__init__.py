"""Benchmarks of atomlearn against every peer; started by bench/run."""
