//! Request bodies: read up to a limit, or read and thrown away. Called by `routes::instances`.

use bytes::{Bytes, BytesMut};
use flate2::read::MultiGzDecoder;
use http_body_util::BodyExt;
use service_runtime::SharedClock;
use std::{
    io::Read,
    pin::{Pin, pin},
    time::Duration,
};

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many times the limit is still read and thrown away, so that a client that is sending gets to see its refusal.
const LINGER: u64 = 8;

/// How many times the limit a compressed body may have when decompressed.
const INFLATED: usize = 10;

/// Why there is no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// Longer than the limit.
    #[error("body is longer than the limit")]
    TooLarge,
    /// Not all of it has come in time.
    #[error("body did not arrive in time")]
    TooSlow,
    /// The connection broke, or the compressed bytes are corrupt.
    #[error("body cannot be read")]
    Broken,
}

/// All bytes of a body. One that says it is too long is refused unread.
pub(crate) async fn read<B>(body: B, limit: usize, clock: &SharedClock) -> Result<Bytes, Refused>
where
    B: http_body::Body<Data = Bytes>,
{
    if body.size_hint().lower() > limit as u64 {
        return Err(Refused::TooLarge);
    }
    let body = pin!(body);
    let reading = collect(body, limit);
    tokio::select! {
        biased;
        read = reading => read,
        () = clock.sleep(PATIENCE) => Err(Refused::TooSlow),
    }
}

async fn collect<B>(mut body: Pin<&mut B>, limit: usize) -> Result<Bytes, Refused>
where
    B: http_body::Body<Data = Bytes>,
{
    let mut collected = Bytes::new();
    let mut joined = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Refused::Broken)?.into_data() else { continue };
        if collected.len() + joined.len() + data.len() > limit {
            return Err(Refused::TooLarge);
        }
        // Nearly always there is one frame, which then needs no copy.
        if collected.is_empty() && joined.is_empty() {
            collected = data;
        } else {
            joined.extend_from_slice(&std::mem::take(&mut collected));
            joined.extend_from_slice(&data);
        }
    }
    Ok(if joined.is_empty() { collected } else { joined.freeze() })
}

/// Reads a body and throws it away, for as long as it is not many times longer than the limit.
pub(crate) async fn discard<B>(body: B, limit: usize, clock: &SharedClock)
where
    B: http_body::Body<Data = Bytes>,
{
    let most = (limit as u64).saturating_mul(LINGER);
    if body.is_end_stream() || body.size_hint().lower() > most {
        return;
    }
    let mut body = pin!(body);
    let discarding = async {
        let mut left = most;
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, |data| data.len() as u64);
            match left.checked_sub(length) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    tokio::select! {
        biased;
        () = discarding => {}
        () = clock.sleep(PATIENCE) => {}
    }
}

/// The bytes of a gzip body, never more than ten times the limit.
pub(crate) fn gunzip(compressed: &[u8], limit: usize) -> Result<Vec<u8>, Refused> {
    let most = limit.saturating_mul(INFLATED);
    let mut plain = Vec::new();
    let mut decoder = MultiGzDecoder::new(compressed).take((most as u64).saturating_add(1));
    decoder.read_to_end(&mut plain).map_err(|_| Refused::Broken)?;
    if plain.len() > most { Err(Refused::TooLarge) } else { Ok(plain) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use futures::stream;
    use http_body::Frame;
    use http_body_util::{Full, StreamBody};
    use std::{convert::Infallible, io::Write, sync::Arc};
    use testkit::ManualClock;

    fn clock() -> SharedClock {
        Arc::new(ManualClock::new())
    }

    fn chunks(texts: &[&'static str]) -> impl http_body::Body<Data = Bytes, Error = Infallible> {
        let frames: Vec<_> = texts.iter().map(|text| Ok(Frame::data(Bytes::from_static(text.as_bytes())))).collect();
        StreamBody::new(stream::iter(frames))
    }

    #[tokio::test]
    async fn a_body_up_to_the_limit_is_read_whole() {
        for texts in [&["12345678"][..], &["1234", "5678"], &["1", "2", "345678"], &["", "12345678"]] {
            assert_eq!(read(chunks(texts), 8, &clock()).await.unwrap(), "12345678");
        }
        assert_eq!(read(chunks(&[]), 8, &clock()).await.unwrap(), "");
    }

    #[tokio::test]
    async fn a_longer_body_is_refused_announced_or_not() {
        assert_eq!(read(Full::new(Bytes::from_static(b"123456789")), 8, &clock()).await, Err(Refused::TooLarge));
        assert_eq!(read(chunks(&["1234", "56789"]), 8, &clock()).await, Err(Refused::TooLarge));
    }

    #[tokio::test]
    async fn a_body_that_does_not_arrive_is_refused_after_a_while() {
        let manual = ManualClock::new();
        let clock: SharedClock = Arc::new(manual.clone());
        let silent = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
        let reading = tokio::spawn(async move { read(silent, 8, &clock).await });
        testkit::eventually("the read waits", || manual.sleepers() == 1).await;
        manual.advance(PATIENCE);
        assert_eq!(reading.await.unwrap(), Err(Refused::TooSlow));
    }

    #[test]
    fn rest_27_gzip_bodies_are_bounded_and_checked() {
        let gzip = |plain: &[u8]| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        };
        assert_eq!(gunzip(&gzip(b"{}"), 8).unwrap(), b"{}");
        assert_eq!(gunzip(&gzip(&[b'x'; 80]), 8).unwrap().len(), 80);
        assert_eq!(gunzip(&gzip(&[b'x'; 81]), 8), Err(Refused::TooLarge));
        assert_eq!(gunzip(b"not gzip", 8), Err(Refused::Broken));
        let whole = gzip(&[b'x'; 80]);
        assert_eq!(gunzip(&whole[..whole.len() - 4], 80), Err(Refused::Broken));
    }
}
