use std::io::Write;
use std::time::Duration;

use clap::CommandFactory;

use super::units;
use super::*;

/// A service with one setting of each kind.
#[derive(Debug, PartialEq, clap::Parser)]
#[command(name = "example")]
struct Settings {
    /// How often caches compare.
    ///
    /// More about it.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = units::duration)]
    sync_interval: Duration,
    /// Whether changes are pushed.
    #[arg(long, value_name = "BOOL", default_value = "true", action = ArgAction::Set, num_args = 0..=1, default_missing_value = "true")]
    cache_push: bool,
    /// How many.
    #[arg(long, default_value_t = 8)]
    connections: u16,
    /// Other nodes.
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// Who may.
    #[arg(long, value_parser = short_text)]
    admin_token: Option<String>,
    /// How it counts.
    #[arg(long, value_parser = ["eureka", "heureka"], default_value = "heureka")]
    profile: String,
}

#[derive(Debug, clap::Parser)]
struct Required {
    #[arg(long)]
    registry: String,
}

fn short_text(text: &str) -> Result<String, String> {
    if text.len() < 10 { Ok(text.to_owned()) } else { Err(format!("{text} is too long")) }
}

/// The error of a load, without its causes.
fn refused(sources: &Sources) -> String {
    match load::<Settings>(sources) {
        Ok(settings) => panic!("accepted: {settings:?}"),
        Err(error) => error.to_string(),
    }
}

fn loaded(arguments: &[&str], environment: &[(&str, &str)]) -> Settings {
    let sources = Sources::of([&["example"], arguments].concat(), environment.iter().copied());
    load(&sources).unwrap_or_else(|error| panic!("{error}"))
}

fn answered(sources: &Sources) -> String {
    match load::<Settings>(sources) {
        Err(ConfigError::Answered(text)) => text,
        other => panic!("no answer: {other:?}"),
    }
}

struct File(tempfile::NamedTempFile);

impl File {
    fn with(text: &str) -> Self {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        Self(file)
    }

    fn path(&self) -> &str {
        self.0.path().to_str().unwrap()
    }
}

#[test]
fn a_flag_beats_the_environment_which_beats_the_file_which_beats_the_default() {
    let file = File::with("connections = 1");
    for (from_file, from_environment, from_flag, expected) in [
        (false, false, false, 8),
        (true, false, false, 1),
        (false, true, false, 2),
        (true, true, false, 2),
        (false, false, true, 3),
        (true, false, true, 3),
        (false, true, true, 3),
        (true, true, true, 3),
    ] {
        let mut arguments = vec![];
        let mut environment = vec![];
        if from_file {
            arguments.extend(["--config", file.path()]);
        }
        if from_environment {
            environment.push(("HEUREKA_CONNECTIONS", "2"));
        }
        if from_flag {
            arguments.push("--connections=3");
        }
        let case = format!("file {from_file}, environment {from_environment}, flag {from_flag}");
        assert_eq!(loaded(&arguments, &environment).connections, expected, "{case}");
    }
}

#[test]
fn a_file_may_hold_strings_numbers_booleans_and_lists() {
    let file = File::with("sync-interval = '5s'\ncache-push = false\nconnections = 3\npeers = ['a:1', 'b:2']\n");
    let settings = loaded(&["--config", file.path()], &[]);
    assert_eq!(settings.sync_interval, Duration::from_secs(5));
    assert!(!settings.cache_push);
    assert_eq!(settings.connections, 3);
    assert_eq!(settings.peers, ["a:1", "b:2"]);
}

#[test]
fn lists_are_separated_by_commas_or_repeated_and_replace_the_lower_layer() {
    let file = File::with("peers = 'x:1,y:2'");
    let config = ["--config", file.path()];
    for (arguments, environment, expected) in [
        (&[][..], &[][..], ["x:1", "y:2"]),
        (&[], &[("HEUREKA_PEERS", "a:1,b:2")], ["a:1", "b:2"]),
        (&["--peers", "c:1,d:2"], &[("HEUREKA_PEERS", "a:1")], ["c:1", "d:2"]),
        (&["--peers", "c:1", "--peers", "d:2"], &[], ["c:1", "d:2"]),
    ] {
        assert_eq!(loaded(&[&config, arguments].concat(), environment).peers, expected);
    }
    let none = File::with("peers = []");
    assert!(loaded(&["--config", none.path()], &[]).peers.is_empty());
}

#[test]
fn a_boolean_flag_goes_alone_or_with_its_value() {
    let off = [("HEUREKA_CACHE_PUSH", "false")];
    for (arguments, expected) in [
        (&[][..], false),
        (&["--cache-push"][..], true),
        (&["--cache-push", "true"][..], true),
        (&["--cache-push=false"][..], false),
        (&["--cache-push", "--connections", "1"][..], true),
    ] {
        assert_eq!(loaded(arguments, &off).cache_push, expected, "{arguments:?}");
    }
}

#[test]
fn the_file_may_be_named_by_the_environment_and_the_flag_comes_first() {
    let (one, two) = (File::with("connections = 1"), File::with("connections = 2"));
    assert_eq!(loaded(&[], &[("HEUREKA_CONFIG", one.path())]).connections, 1);
    let by_flag = format!("--config={}", two.path());
    assert_eq!(loaded(&[&by_flag], &[("HEUREKA_CONFIG", one.path())]).connections, 2);
}

#[test]
fn an_unknown_key_is_refused_by_name_and_file() {
    for key in ["connection", "config", "print-config", "help", "cache_push", "''"] {
        let file = File::with(&format!("{key} = 1"));
        let error = refused(&Sources::of(["example", "--config", file.path()], []));
        assert_eq!(error, format!("unknown setting `{}` in {}", key.replace('\'', ""), file.path()));
    }
}

#[test]
fn an_unknown_variable_is_refused_by_name_and_others_are_ignored() {
    for name in ["HEUREKA_CONNECTION", "HEUREKA_", "HEUREKA_HELP", "HEUREKA_PRINT_CONFIG"] {
        let error = refused(&Sources::of(["example"], [(name, "1")]));
        assert_eq!(error, format!("unknown setting `{name}` in the environment"));
    }
    assert_eq!(loaded(&[], &[("PATH", "/bin"), ("HEUREKASETTING", "1")]).connections, 8);
}

#[test]
fn a_bad_value_names_where_it_came_from() {
    let cases = [
        ("connections = 70000", "bad value for `connections` in FILE: `70000`: 70000 is not in 0..=65535"),
        ("sync-interval = 30", "bad value for `sync-interval` in FILE: `30`: "),
        ("profile = 'java'", "bad value for `profile` in FILE: `java`: possible: eureka, heureka"),
        ("cache-push = 'maybe'", "bad value for `cache-push` in FILE: `maybe`: possible: true, false"),
        ("connections = { a = 1 }", "bad value for `connections` in FILE: write a string"),
        ("peers = [['a']]", "bad value for `peers` in FILE: write a string"),
    ];
    for (text, expected) in cases {
        let file = File::with(text);
        let error = refused(&Sources::of(["example", "--config", file.path()], []));
        let expected = expected.replace("FILE", file.path());
        assert!(error.starts_with(&expected), "{error}\n instead of {expected}");
    }
    let error = refused(&Sources::of(["example"], [("HEUREKA_ADMIN_TOKEN", "a long secret")]));
    assert_eq!(error, "bad value for `HEUREKA_ADMIN_TOKEN` in the environment: not a valid value");
    // A flag that would win is no reason to leave a mistake unnamed.
    let error = refused(&Sources::of(["example", "--connections=1"], [("HEUREKA_CONNECTIONS", "many")]));
    assert!(error.starts_with("bad value for `HEUREKA_CONNECTIONS` in the environment: `many`: "), "{error}");
}

#[test]
fn a_file_that_is_missing_or_no_toml_is_refused_by_its_path() {
    let missing = refused(&Sources::of(["example", "--config", "/no/such/file.toml"], []));
    assert_eq!(missing, "read settings from /no/such/file.toml");
    let file = File::with("connections: 1");
    let malformed = refused(&Sources::of(["example", "--config", file.path()], []));
    assert_eq!(malformed, format!("{} is not a TOML file", file.path()));
}

#[test]
fn a_required_setting_may_come_from_any_layer() {
    let file = File::with("registry = 'from-file:1'");
    let cases = [
        (Sources::of(["x", "--registry", "flag:1"], []), "flag:1"),
        (Sources::of(["x"], [("HEUREKA_REGISTRY", "environment:1")]), "environment:1"),
        (Sources::of(["x", "--config", file.path()], []), "from-file:1"),
    ];
    for (sources, expected) in cases {
        assert_eq!(load::<Required>(&sources).unwrap().registry, expected);
    }
    let missing = load::<Required>(&Sources::of(["x"], [])).unwrap_err();
    assert!(matches!(missing, ConfigError::Usage(_)) && missing.to_string().contains("--registry"), "{missing}");
}

#[test]
fn printing_shows_every_setting_with_its_source_and_no_secret() {
    let file = File::with("peers = ['a:1', 'b:2']\nconnections = 1");
    let arguments = ["example", "--print-config", "--config", file.path(), "--sync-interval", "5s"];
    let environment = [("HEUREKA_CONNECTIONS", "2"), ("HEUREKA_ADMIN_TOKEN", "hunter2")];
    let expected = "\
admin-token = \"[redacted]\"  # environment
cache-push = true  # default
connections = 2  # environment
peers = \"a:1,b:2\"  # file
profile = \"heureka\"  # default
sync-interval = \"5s\"  # flag
";
    assert_eq!(answered(&Sources::of(arguments, environment)), expected);
}

#[test]
fn help_and_version_are_answers_and_a_wrong_flag_is_not() {
    let help = answered(&Sources::of(["example", "--help"], []));
    for part in ["--sync-interval <DURATION>", "--config <FILE>", "--print-config"] {
        assert!(help.contains(part), "{help}");
    }
    let wrong_layers =
        Sources::of(["example", "--help", "--config=/no/such/file"], [("HEUREKA_ADMIN_TOKEN", "hunter2")]);
    assert_eq!(answered(&wrong_layers), help);
    let version = answered(&Sources::of(["example", "--version"], []));
    assert_eq!(version, format!("example {}\n", env!("CARGO_PKG_VERSION")));
    for argument in ["--connection=1", "stray", "--connections=x"] {
        assert!(matches!(load::<Settings>(&Sources::of(["example", argument], [])), Err(ConfigError::Usage(_))));
    }
}

#[test]
fn a_binary_gives_shared_settings_its_own_default() {
    let customise = |command| with_default(command, "connections", "99");
    let settings: Settings = load_with(&Sources::of(["example"], []), customise).unwrap();
    assert_eq!(settings.connections, 99);
    let sources = Sources::of(["example"], [("HEUREKA_CONNECTIONS", "2")]);
    assert_eq!(load_with::<Settings>(&sources, customise).unwrap().connections, 2);
}

#[test]
fn settings_are_listed_for_the_documentation() {
    let command = with_default(Settings::command(), "connections", "99");
    let listed = settings(&command);
    let names: Vec<_> = listed.iter().map(|setting| setting.name.as_str()).collect();
    assert_eq!(names, ["admin-token", "cache-push", "connections", "peers", "profile", "sync-interval"]);
    assert_eq!(
        listed.last().unwrap(),
        &Setting {
            name: "sync-interval".to_owned(),
            variable: "HEUREKA_SYNC_INTERVAL".to_owned(),
            default: Some("30s".to_owned()),
            help: "How often caches compare".to_owned(),
        }
    );
    assert_eq!(listed[2].default.as_deref(), Some("99"));
    assert_eq!(listed[0].default, None);
}
