//! What `--print-config` shows. Called by `config::load_with`.

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};

use super::layers::{Layer, Origins};
use super::setting_args;

/// A setting whose name holds one of these is not shown.
const SECRET_WORDS: [&str; 3] = ["password", "secret", "token"];

/// A line for every setting, sorted: `key = value  # where the value comes from`. A setting without a value
/// shows none; texts are quoted as in the file.
pub(super) fn settings(command: &Command, matches: &ArgMatches, origins: &Origins) -> String {
    let mut lines: Vec<_> = setting_args(command)
        .map(|(name, arg)| {
            let id = arg.get_id().as_str();
            let values: Vec<_> = matches.get_raw(id).into_iter().flatten().map(|v| v.to_string_lossy()).collect();
            let value = match (is_secret(name), values.is_empty()) {
                (_, true) => "".to_owned(),
                (true, false) => "\"[redacted]\"".to_owned(),
                (false, false) => literal(&values.join(",")),
            };
            format!("{name} = {value}  # {}\n", source(name, matches.value_source(id), origins))
        })
        .collect();
    lines.sort();
    lines.concat()
}

/// Whether a setting's value must not be shown.
pub(super) fn is_secret(name: &str) -> bool {
    SECRET_WORDS.iter().any(|word| name.contains(word))
}

fn source(name: &str, source: Option<ValueSource>, origins: &Origins) -> &'static str {
    if source == Some(ValueSource::CommandLine) {
        return "flag";
    }
    match origins.get(name) {
        Some(Layer::Environment) => "environment",
        Some(Layer::File) => "file",
        None => "default",
    }
}

fn literal(text: &str) -> String {
    if text.parse::<i64>().is_ok() || text.parse::<bool>().is_ok() { text.to_owned() } else { format!("{text:?}") }
}
