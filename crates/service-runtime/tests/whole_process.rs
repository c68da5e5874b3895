//! A service as a process of its own: what it prints, how it obeys signals, which code it exits with. Run with `serve` as
//! first argument this program is that service, otherwise the test.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, ExitCode, Stdio};

use service_runtime::{ConfigError, Listener, Process, ProcessConfig, ProcessHandle, Sources, config, grpc};

#[derive(clap::Parser)]
#[command(name = "example")]
struct Settings {
    #[command(flatten)]
    process: ProcessConfig,
    /// Fails this way after the start.
    #[arg(long)]
    fail: Option<String>,
    /// Ignores that it must stop.
    #[arg(long, default_value = "false", action = clap::ArgAction::Set, num_args = 0..=1, default_missing_value = "true")]
    hang: bool,
}

async fn run(settings: Settings, process: ProcessHandle) -> anyhow::Result<()> {
    let listener = Listener::bind(&settings.process.grpc_listen).await?;
    if settings.hang {
        process.spawn("hang", std::future::pending());
    }
    if let Some(reason) = settings.fail {
        process.spawn("fail", async { Err(anyhow::Error::msg(reason)) });
    }
    grpc::serve(tonic::service::Routes::default(), listener, process).await
}

fn serve(sources: &Sources) -> ExitCode {
    let own_port = |command| config::with_default(command, "grpc-listen", "127.0.0.1:0");
    let settings: Settings = match config::load_with(sources, own_port) {
        Ok(settings) => settings,
        Err(error) => return ConfigError::finish(error),
    };
    Process::start("example", &settings.process).supervise(|process| run(settings, process))
}

fn main() -> ExitCode {
    let mut sources = Sources::from_process();
    match sources.arguments.get(1).and_then(|argument| argument.to_str()) {
        Some("serve") => {
            sources.arguments.remove(1);
            serve(&sources)
        }
        Some("--list") => {
            println!("whole_process: test");
            ExitCode::SUCCESS
        }
        Some(_) | None => {
            answers_and_mistakes_have_their_exit_codes();
            a_signal_stops_in_order_and_a_second_one_at_once();
            a_failed_task_ends_the_process_with_an_error_line();
            println!("whole_process ... ok");
            ExitCode::SUCCESS
        }
    }
}

struct Service {
    child: Child,
    log: BufReader<std::process::ChildStderr>,
}

impl Service {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg("serve")
            .args(arguments)
            .env_remove("HEUREKA_CONFIG")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        Self { child, log }
    }

    /// Reads the log up to the line that holds `what`, and gives that line.
    fn logged(&mut self, what: &str) -> String {
        let mut line = String::new();
        while !line.contains(what) {
            line.clear();
            assert_ne!(self.log.read_line(&mut line).unwrap(), 0, "the log ended without {what:?}");
        }
        line
    }

    fn signal(&self, name: &str) {
        let killed = Command::new("kill").args(["-s", name, &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
    }

    /// Exit code, standard output, the rest of the log.
    fn end(&mut self) -> (Option<i32>, String, String) {
        let (mut output, mut log) = (String::new(), String::new());
        self.child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        self.log.read_to_string(&mut log).unwrap();
        (self.child.wait().unwrap().code(), output, log)
    }
}

impl Drop for Service {
    /// A failing test leaves no process behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn answers_and_mistakes_have_their_exit_codes() {
    let (code, output, log) = Service::start(&["--print-config", "--log-format=json"]).end();
    assert_eq!((code, log.as_str()), (Some(0), ""));
    assert!(output.contains("grpc-listen = \"127.0.0.1:0\"  # default\n"), "{output}");
    assert!(output.contains("log-format = \"json\"  # flag\n"), "{output}");
    for answer in ["--help", "--version"] {
        assert_eq!(Service::start(&[answer]).end().0, Some(0), "{answer}");
    }
    for (mistake, said) in [
        ("--grpc-listen=nowhere", "has no port"),
        ("--log-level=a=b=c", "--log-level"),
        ("--config=/no/such/file", "error: read settings from /no/such/file: No such file or directory"),
    ] {
        let (code, _, log) = Service::start(&[mistake]).end();
        assert_eq!(code, Some(2), "{mistake}");
        assert!(log.contains(said), "{log}");
    }
}

fn a_signal_stops_in_order_and_a_second_one_at_once() {
    for name in ["TERM", "INT"] {
        let mut service = Service::start(&[]);
        service.logged("serving gRPC");
        service.signal(name);
        service.logged("stopping");
        let (code, _, log) = service.end();
        assert_eq!(code, Some(0), "{log}");
        assert!(log.contains("stopped"), "{log}");
    }
    let mut service = Service::start(&["--hang", "--stop-timeout=1h"]);
    service.logged("serving gRPC");
    service.signal("TERM");
    service.logged("stopping");
    service.signal("TERM");
    let (code, _, log) = service.end();
    assert_eq!(code, Some(1), "{log}");
    assert!(!log.contains("stopped"), "{log}");
}

fn a_failed_task_ends_the_process_with_an_error_line() {
    let mut service = Service::start(&["--fail=disk full", "--log-format=json"]);
    let line = service.logged("\"level\":\"ERROR\"");
    assert!(line.contains("\"task\":\"fail\"") && line.contains("\"error\":\"disk full\""), "{line}");
    assert_eq!(service.end().0, Some(1));
}
