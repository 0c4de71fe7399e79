//! All targets: the name of the binary says which one it is.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(init: atomlearn_fuzz::quiet_panics(), |bytes: &[u8]| {
    let target = atomlearn_fuzz::target(env!("CARGO_BIN_NAME")).expect("a target for every binary");
    (target.run)(bytes);
});
