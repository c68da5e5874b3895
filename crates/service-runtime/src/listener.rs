//! What is bound to an address or connected by it: TCP or a unix socket behind one type. Called by `grpc` and by the
//! HTTP facade.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};

use crate::config::address::Address;

/// Pause after an accept that failed for want of descriptors or memory: trying at once would spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

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
