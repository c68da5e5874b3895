//! Generates code from `proto/` without a protoc on the machine.
//!
//! Two passes: the plain `Instance` message first, then everything else with `Instance` replaced by
//! `crate::InstanceMessage`, which carries a shared model instance inside a process and encodes itself once on the wire.

use prost::Message as _;
use std::{env, error::Error, path::PathBuf};

const INSTANCE: &str = "heureka/types/v1/instance.proto";
const SERVICES: [&str; 4] = [
    "heureka/types/v1/record.proto",
    "heureka/registry/v1/registry.proto",
    "heureka/cache/v1/cache.proto",
    "heureka/eviction/v1/eviction.proto",
];

#[expect(clippy::disallowed_methods, reason = "a build script is told its folders through the environment")]
fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from("../../proto");
    println!("cargo::rerun-if-changed={}", root.display());
    let out = PathBuf::from(env::var("OUT_DIR")?);

    let plain = out.join("instance");
    std::fs::create_dir_all(&plain)?;
    tonic_prost_build::configure().out_dir(&plain).compile_fds(protox::compile([INSTANCE], [&root])?)?;

    let services = out.join("services");
    std::fs::create_dir_all(&services)?;
    let all: Vec<&str> = SERVICES.into_iter().chain([INSTANCE]).collect();
    tonic_prost_build::configure()
        .out_dir(&services)
        .bytes(".heureka.cache.v1.Page.deflated")
        .extern_path(".heureka.types.v1.Instance", "crate::InstanceMessage")
        .compile_fds(protox::compile(&all, [&root])?)?;
    // What gRPC reflection tells about the contracts.
    std::fs::write(out.join("descriptors.bin"), protox::compile(all, [&root])?.encode_to_vec())?;
    Ok(())
}
