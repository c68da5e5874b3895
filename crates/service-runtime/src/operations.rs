//! What an operator asks a process over HTTP: `/metrics`, `/livez`, `/readyz`. A plain function, called by the gRPC port
//! (`grpc::serve`) and by the HTTP facade.

use crate::metrics::OPENMETRICS_CONTENT_TYPE;
use crate::process::ProcessHandle;

/// The paths that `answer` knows.
pub const PATHS: [&str; 3] = ["/metrics", "/livez", "/readyz"];

const PLAIN_TEXT: &str = "text/plain; charset=utf-8";

/// An answer to an operator's request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationsAnswer {
    /// The HTTP status code.
    pub status: u16,
    /// The value of the `Content-Type` header.
    pub content_type: &'static str,
    /// The whole body.
    pub body: String,
}

/// Answers a GET of `path`, or `None` where the path is not an operator's.
pub fn answer(process: &ProcessHandle, path: &str) -> Option<OperationsAnswer> {
    match path {
        "/metrics" => Some(OperationsAnswer {
            status: 200,
            content_type: OPENMETRICS_CONTENT_TYPE,
            body: process.metrics().encode(),
        }),
        "/livez" => Some(plain(200, "alive\n".to_owned())),
        "/readyz" => Some(readiness(process)),
        _ => None,
    }
}

fn readiness(process: &ProcessHandle) -> OperationsAnswer {
    let missing = process.not_ready();
    if missing.is_empty() {
        // A degraded process serves: whoever balances load is to go on sending it some.
        let degraded = process.degraded();
        let lines = degraded.iter().map(|(part, reason)| format!("degraded: {part}: {reason}\n"));
        return plain(200, std::iter::once("ready\n".to_owned()).chain(lines).collect());
    }
    let mut body = "not ready:\n".to_owned();
    for part in missing {
        body.push_str(part);
        body.push('\n');
    }
    plain(503, body)
}

fn plain(status: u16, body: String) -> OperationsAnswer {
    OperationsAnswer { status, content_type: PLAIN_TEXT, body }
}
