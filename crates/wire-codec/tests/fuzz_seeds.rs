//! The seeds of the fuzz targets, and some thousands of mutations of them that are the same every time, without libFuzzer:
//! what `fuzz/` asserts is asserted wherever the tests run.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "this is how a test fails")]

#[path = "../../../fuzz/src/lib.rs"]
#[allow(unreachable_pub, reason = "a library of its own")]
mod fuzz;

use fuzz::{TARGETS, Target};
use std::{
    collections::BTreeSet,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
};

/// How many mutations of each seed are tried.
const MUTATIONS: usize = 200;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

/// The seeds of a target by their names.
fn seeds(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = corpus().join(target);
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut seeds: Vec<_> = files
        .map(|file| {
            let path = file.expect("a file").path();
            (path.file_name().expect("a name").to_string_lossy().into_owned(), fs::read(&path).expect("a seed"))
        })
        .collect();
    seeds.sort();
    seeds
}

fn check(target: &str, run: Target, seed: &str, bytes: &[u8]) {
    if catch_unwind(AssertUnwindSafe(|| run(bytes))).is_err() {
        panic!("{target} fails with {seed}: {:?}", String::from_utf8_lossy(bytes));
    }
}

/// A sequence of numbers that look random and are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((mixed ^ (mixed >> 31)) % (most.max(1) as u64)).expect("below a usize")
    }
}

/// A few damages done to one seed, parts of another one among them.
fn mutated(seed: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=dice.below(3) {
        let at = dice.below(bytes.len() + 1);
        let end = (at + dice.below(12)).min(bytes.len());
        match dice.below(6) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..end)),
            2 => {
                let part = bytes[at..end].repeat(1 + dice.below(8));
                drop(bytes.splice(at..at, part));
            }
            3 => {
                let from = dice.below(other.len() + 1);
                let to = (from + dice.below(40)).min(other.len());
                drop(bytes.splice(at..end, other[from..to].iter().copied()));
            }
            4 => bytes.insert(at, dice.below(256).to_le_bytes()[0]),
            _ if at < bytes.len() => bytes[at] ^= 1 << dice.below(8),
            _ => {}
        }
    }
    bytes
}

#[test]
fn every_seed_keeps_what_is_promised() {
    for (target, run) in TARGETS {
        let seeds = seeds(target);
        assert!(seeds.len() >= 15, "{target} has {} seeds", seeds.len());
        for (seed, bytes) in seeds {
            check(target, run, &seed, &bytes);
        }
    }
}

#[test]
fn mutations_of_seeds_keep_what_is_promised() {
    let mut dice = Dice(1);
    for (target, run) in TARGETS {
        let seeds = seeds(target);
        for (seed, bytes) in &seeds {
            for _ in 0..MUTATIONS {
                let (_, other) = &seeds[dice.below(seeds.len())];
                check(target, run, seed, &mutated(bytes, other, &mut dice));
            }
        }
    }
}

#[test]
fn every_target_has_its_program_and_every_folder_its_target() {
    let named: BTreeSet<_> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let names = |folder: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(corpus().join("..").join(folder)).expect("a folder");
        entries
            .map(|entry| entry.expect("an entry").path().file_stem().expect("a name").to_string_lossy().into())
            .collect()
    };
    assert_eq!(names("corpus"), named);
    assert_eq!(names("fuzz_targets"), named);
}
