//! Addresses of services as settings name them: `host:port` or `unix:/path`. What is bound to them or connected by them
//! is in `listener`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

const UNIX_PREFIX: &str = "unix:";

/// Where a service listens or is reached: `host:port` or `unix:/path`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Address {
    /// A TCP address; an IPv6 host is kept without its brackets.
    Tcp {
        /// A name or an IP address.
        host: String,
        /// The port; 0 lets the system choose one when bound.
        port: u16,
    },
    /// A unix stream socket at this path.
    Unix(PathBuf),
}

/// Why a text is not an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// `unix:` without a path.
    #[error("`unix:` needs a path, as in `unix:/run/heureka/core.sock`")]
    NoPath,
    /// A URL where an address belongs.
    #[error("`{0}` is a URL; write `host:port` or `unix:/path`")]
    Url(String),
    /// No port.
    #[error("`{0}` has no port; write `host:port` or `unix:/path`")]
    NoPort(String),
    /// A port that is not a number from 0 to 65535.
    #[error("`{0}` is not a port (0 to 65535)")]
    BadPort(String),
    /// A host that cannot be one.
    #[error("`{0}` is not a host; to listen on every interface write `0.0.0.0:port` or `[::]:port`")]
    BadHost(String),
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        if let Some(path) = text.strip_prefix(UNIX_PREFIX) {
            if path.is_empty() {
                return Err(AddressError::NoPath);
            }
            return Ok(Self::Unix(path.into()));
        }
        if text.contains("://") {
            return Err(AddressError::Url(text.to_owned()));
        }
        let (host, port) = text.rsplit_once(':').ok_or_else(|| AddressError::NoPort(text.to_owned()))?;
        let bracketed = host.strip_prefix('[').and_then(|inner| inner.strip_suffix(']'));
        let valid = match bracketed {
            Some(inner) => inner.parse::<std::net::Ipv6Addr>().is_ok(),
            None => {
                !host.is_empty() && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_'))
            }
        };
        if !valid {
            return Err(AddressError::BadHost(host.to_owned()));
        }
        let port = port.parse().map_err(|_| AddressError::BadPort(port.to_owned()))?;
        Ok(Self::Tcp { host: bracketed.unwrap_or(host).to_owned(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{UNIX_PREFIX}{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_reads_back_as_it_was_written() {
        for text in ["localhost:7100", "0.0.0.0:0", "[::1]:7101", "cache_sync.default:65535", "unix:/run/h.sock"] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), text);
        }
    }

    #[test]
    fn what_is_not_an_address_says_why() {
        let cases = [
            ("unix:", "`unix:` needs a path"),
            ("http://core:7101", "is a URL"),
            ("localhost", "has no port"),
            ("localhost:70000", "`70000` is not a port"),
            ("localhost:", "`` is not a port"),
            (":7101", "`` is not a host"),
            ("::1:7101", "`::1` is not a host"),
            ("a b:1", "`a b` is not a host"),
            ("[name]:1", "`[name]` is not a host"),
        ];
        for (text, reason) in cases {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}
