//! Puts the file and the environment under the command line, as defaults of the clap command. Called by `config::load`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, Command};

use super::print::is_secret;
use super::{CONFIG_FLAG, ConfigError, Sources, VARIABLE_PREFIX, setting_args, variable_of};

/// The layer that a default now comes from; settings that are not named here have the binary's own default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Layer {
    File,
    Environment,
}

/// By long name.
pub(super) type Origins = BTreeMap<String, Layer>;

pub(super) fn apply(command: Command, sources: &Sources) -> Result<(Command, Origins), ConfigError> {
    let mut origins = Origins::new();
    let mut command = command;
    if let Some(path) = config_path(sources) {
        let origin = path.display().to_string();
        for (name, value) in read_file(path)? {
            let values = texts(&value).ok_or_else(|| ConfigError::Invalid {
                name: name.clone(),
                origin: origin.clone(),
                reason: "write a string, an integer, a boolean, or an array of these".to_owned(),
            })?;
            command = set(command, &name, &name, values, &origin)?;
            origins.insert(name, Layer::File);
        }
    }
    for (variable, value) in &sources.environment {
        if !variable.starts_with(VARIABLE_PREFIX) || *variable == variable_of(CONFIG_FLAG) {
            continue;
        }
        let name = setting_args(&command).map(|(name, _)| name).find(|name| variable_of(name) == *variable);
        let name = name.unwrap_or_default().to_owned();
        command = set(command, &name, variable, vec![value.clone()], "the environment")?;
        origins.insert(name, Layer::Environment);
    }
    Ok((command, origins))
}

pub(super) fn find<'a>(command: &'a Command, long_name: &str) -> Option<&'a Arg> {
    setting_args(command).find(|(name, _)| *name == long_name).map(|(_, arg)| arg)
}

/// The file has to be known before clap can read the rest, so this one flag is looked for by hand.
fn config_path(sources: &Sources) -> Option<PathBuf> {
    let flag = format!("--{CONFIG_FLAG}");
    let flag_with_value = format!("{flag}=");
    let mut arguments = sources.arguments.iter().skip(1).take_while(|argument| *argument != "--");
    while let Some(argument) = arguments.next() {
        if *argument == *flag {
            return arguments.next().map(PathBuf::from);
        }
        if let Some(path) = argument.to_str().and_then(|text| text.strip_prefix(&flag_with_value)) {
            return Some(path.into());
        }
    }
    sources.environment.get(&variable_of(CONFIG_FLAG)).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn read_file(path: PathBuf) -> Result<toml::Table, ConfigError> {
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(ConfigError::Unreadable { path, source }),
    };
    toml::from_str(&text).map_err(|source| ConfigError::Malformed { path, source: Box::new(source) })
}

/// The value as one would write it on the command line; `None` for what no flag can take.
fn texts(value: &toml::Value) -> Option<Vec<String>> {
    match value {
        toml::Value::Array(items) => {
            let each: Option<Vec<_>> = items.iter().map(scalar).collect();
            each
        }
        toml::Value::String(_)
        | toml::Value::Integer(_)
        | toml::Value::Boolean(_)
        | toml::Value::Float(_)
        | toml::Value::Datetime(_)
        | toml::Value::Table(_) => scalar(value).map(|text| vec![text]),
    }
}

fn scalar(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(truth) => Some(truth.to_string()),
        toml::Value::Datetime(_) | toml::Value::Array(_) | toml::Value::Table(_) => None,
    }
}

/// Makes `values` the default of the setting `name`, which the layer calls `written_as`.
fn set(
    command: Command,
    name: &str,
    written_as: &str,
    values: Vec<String>,
    origin: &str,
) -> Result<Command, ConfigError> {
    let Some(arg) = find(&command, name) else {
        return Err(ConfigError::Unknown { name: written_as.to_owned(), origin: origin.to_owned() });
    };
    let id = arg.get_id().clone();
    // A list setting takes values one by one, any other its one value, in which commas may separate.
    let values = match arg.get_action() {
        ArgAction::Append => values,
        _ => vec![values.join(",")],
    };
    if let Some(reason) = refusal(&command, name, &values) {
        return Err(ConfigError::Invalid { name: written_as.to_owned(), origin: origin.to_owned(), reason });
    }
    Ok(command.mut_arg(id, |arg| arg.required(false).default_values(values)))
}

/// Why clap would refuse `values` for this setting, found by giving it nothing else. Asked here, because clap takes
/// defaults for the programmer's own and blames nobody for them.
fn refusal(command: &Command, name: &str, values: &[String]) -> Option<String> {
    let flags = values.iter().map(|value| OsString::from(format!("--{name}={value}")));
    let line = std::iter::once(OsString::from("check")).chain(flags);
    let error = command.clone().try_get_matches_from(line).err()?;
    // Only what concerns this one value: that other settings are missing is for the whole command line to say.
    match error.kind() {
        ErrorKind::InvalidValue
        | ErrorKind::ValueValidation
        | ErrorKind::TooManyValues
        | ErrorKind::TooFewValues
        | ErrorKind::WrongNumberOfValues
        | ErrorKind::InvalidUtf8 => {
            Some(if is_secret(name) { "not a valid value".to_owned() } else { reason_of(&error) })
        }
        _ => None,
    }
}

/// The heart of clap's message, without its talk of the command line.
fn reason_of(error: &clap::Error) -> String {
    let value = match error.get(ContextKind::InvalidValue) {
        Some(ContextValue::String(value)) => format!("`{value}`: "),
        _ => String::new(),
    };
    if let Some(source) = std::error::Error::source(error) {
        return format!("{value}{source}");
    }
    match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(valid)) if !valid.is_empty() => format!("{value}possible: {}", valid.join(", ")),
        _ => format!("{value}{}", error.kind()),
    }
}
