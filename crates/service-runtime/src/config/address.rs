//! Addresses of services, and what is bound to them or connected by them: TCP or a unix socket behind one type. Called by
//! `grpc`, by the HTTP facade, and by whoever parses a listen or upstream address.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::str::FromStr;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

const UNIX_PREFIX: &str = "unix:";

/// Pause after an accept that failed for want of descriptors or memory: trying at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

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

impl Address {
    /// Opens a connection; gives up only when the system does, so the caller sets the bound.
    pub async fn connect(&self) -> io::Result<Connection> {
        match self {
            Self::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port)).await?;
                stream.set_nodelay(true)?;
                Ok(Connection::Tcp(stream))
            }
            Self::Unix(path) => Ok(Connection::Unix(UnixStream::connect(path).await?)),
        }
    }
}

/// Why an address could not be listened on.
#[derive(Debug, thiserror::Error)]
#[error("listen on {address}")]
pub struct BindError {
    address: Address,
    source: io::Error,
}

/// A bound address. Connections queue in the kernel from the moment of binding, so bind early and serve when ready.
#[derive(Debug)]
pub struct Listener {
    socket: Socket,
    local: Address,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Binds `address`. A socket file that nobody listens on any more is replaced.
    pub async fn bind(address: &Address) -> Result<Self, BindError> {
        Self::open(address).await.map_err(|source| BindError { address: address.clone(), source })
    }

    async fn open(address: &Address) -> io::Result<Self> {
        match address {
            Address::Tcp { host, port } => {
                let listener = TcpListener::bind((host.as_str(), *port)).await?;
                let local = listener.local_addr()?;
                let local = Address::Tcp { host: local.ip().to_string(), port: local.port() };
                Ok(Self { socket: Socket::Tcp(listener), local })
            }
            Address::Unix(path) => {
                remove_stale_socket(path).await?;
                Ok(Self { socket: Socket::Unix(UnixListener::bind(path)?), local: address.clone() })
            }
        }
    }

    /// The address that this listener is reached at: with the real port where 0 was asked for.
    pub fn local_address(&self) -> &Address {
        &self.local
    }

    /// The next connection. Failed accepts are logged and tried again; safe to drop at any point.
    pub async fn accept(&self) -> Connection {
        loop {
            match self.try_accept().await {
                Ok(connection) => return connection,
                // The client left before it was accepted: nothing is wrong here.
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) => {
                    tracing::warn!(address = %self.local, %error, "a connection could not be accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    async fn try_accept(&self) -> io::Result<Connection> {
        match &self.socket {
            Socket::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "a connection goes without TCP_NODELAY");
                }
                Ok(Connection::Tcp(stream))
            }
            Socket::Unix(listener) => Ok(Connection::Unix(listener.accept().await?.0)),
        }
    }
}

/// Removes the file of a socket whose owner is gone; leaves a live one and anything that is not a socket, and lets the
/// bind that follows fail on it.
async fn remove_stale_socket(path: &std::path::Path) -> io::Result<()> {
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused && is_socket(path) => std::fs::remove_file(path),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn is_socket(path: &std::path::Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

/// A connection over TCP or a unix socket.
#[derive(Debug)]
pub enum Connection {
    /// Over TCP, with TCP_NODELAY.
    Tcp(TcpStream),
    /// Over a unix socket.
    Unix(UnixStream),
}

impl AsyncRead for Connection {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Self::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match self {
            Self::Tcp(stream) => stream.is_write_vectored(),
            Self::Unix(stream) => stream.is_write_vectored(),
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

    #[tokio::test]
    async fn port_zero_gives_the_real_port() {
        let listener = Listener::bind(&"127.0.0.1:0".parse().unwrap()).await.unwrap();
        let Address::Tcp { host, port } = listener.local_address() else { panic!("not TCP") };
        assert_eq!(host, "127.0.0.1");
        assert_ne!(*port, 0);
        let (connected, accepted) = tokio::join!(listener.local_address().connect(), listener.accept());
        let (Connection::Tcp(connected), Connection::Tcp(accepted)) = (connected.unwrap(), accepted) else {
            panic!("not TCP")
        };
        assert!(connected.nodelay().unwrap() && accepted.nodelay().unwrap());
    }

    #[tokio::test]
    async fn a_stale_socket_file_is_replaced_and_a_live_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let address = Address::Unix(folder.path().join("s.sock"));

        let first = Listener::bind(&address).await.unwrap();
        let refused = Listener::bind(&address).await.unwrap_err();
        assert_eq!(refused.source.kind(), io::ErrorKind::AddrInUse);

        drop(first);
        Listener::bind(&address).await.unwrap();
    }

    #[tokio::test]
    async fn a_file_that_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "keep me").unwrap();

        assert!(Listener::bind(&Address::Unix(path.clone())).await.is_err());
        assert_eq!(std::fs::read_to_string(path).unwrap(), "keep me");
    }
}
