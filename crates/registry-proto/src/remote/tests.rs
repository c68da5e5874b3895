use super::*;
use crate::{registry::RenewRequest, to_status};
use std::{io, sync::Arc};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tonic::transport::Endpoint;

#[test]
fn what_the_service_says_stays_and_what_befalls_the_way_is_unavailable() {
    let broken = || Box::new(io::Error::from(io::ErrorKind::BrokenPipe));
    let mut internal = Status::internal("h2 protocol error");
    internal.set_source(Arc::from(broken() as Box<dyn Error + Send + Sync>));
    let table = [
        (Status::from_error(broken()), Code::Unavailable),
        (internal, Code::Unavailable),
        (Status::internal("said by the service"), Code::Internal),
        (Status::unknown("said by the service"), Code::Unknown),
        (Status::not_found("said by the service"), Code::NotFound),
        (to_status(&crate::ConvertError::Missing("key")), Code::InvalidArgument),
    ];
    for (status, code) in table {
        let text = format!("{status:?}");
        assert_eq!(or_unavailable(status).code(), code, "{text}");
    }
}

#[tokio::test]
async fn a_service_that_dies_in_the_middle_of_a_call_is_unavailable() {
    /// A SETTINGS frame without settings.
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const PREFACE: usize = 24;
    // After nothing, after the client's preface, with the settings exchanged, and with the call sent.
    for read in [0, PREFACE, PREFACE + 9, PREFACE + 60] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let dying = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(&SETTINGS).await.unwrap();
            stream.read_exact(&mut vec![0; read]).await.unwrap();
        });
        let channel = Endpoint::from_shared(format!("http://{address}")).unwrap().connect_lazy();
        let answer = RemoteRegistry::new(channel).renew(Request::new(RenewRequest::default())).await;
        let code = answer.unwrap_err().code();
        assert!(matches!(code, Code::Unavailable | Code::Cancelled), "{code:?} after {read} bytes");
        dying.await.unwrap();
    }
}
