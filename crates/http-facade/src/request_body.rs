//! Request bodies: read up to a limit each and a budget for all, or read and thrown away. Owned by `facade`, called by
//! `request_document` and `routes`.

use bytes::{Bytes, BytesMut};
use futures::FutureExt;
use http_body_util::BodyExt;
use service_runtime::SharedClock;
use std::{
    num::NonZeroUsize,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use wire_codec::NotInflated;

/// How long a body may take to arrive.
const PATIENCE: Duration = Duration::from_secs(30);

/// Bodies up to this length are read without asking for room.
const SMALL: usize = 64 << 10;

/// How many bytes all bodies that are not small may take together.
const LARGE_BYTES: usize = 64 << 20;

/// So many large bodies may be read at a time, however long they may be.
const FEWEST_LARGE: usize = 4;

/// How long a large body waits for others to make room.
const ROOM_PATIENCE: Duration = Duration::from_secs(5);

/// How many times the limit is still read and thrown away, so that a client that is sending gets to see its refusal.
const LINGER: u64 = 8;

/// How many times the limit a compressed body may have when decompressed.
const INFLATED: usize = 10;

/// But no more than this, unless the limit itself is larger.
const INFLATED_BYTES: usize = 16 << 20;

/// Why there is no body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// Longer than the limit.
    #[error("body is longer than the limit")]
    TooLarge,
    /// Not all of it has come in time.
    #[error("body did not arrive in time")]
    TooSlow,
    /// Too many large ones are being read.
    #[error("too many large bodies are being read")]
    Busy,
    /// The connection broke, or the compressed bytes are corrupt.
    #[error("body cannot be read")]
    Broken,
}

impl Refused {
    pub(crate) const ALL: [Self; 4] = [Self::TooLarge, Self::TooSlow, Self::Busy, Self::Broken];

    /// As metrics name it.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::TooSlow => "too_slow",
            Self::Busy => "busy",
            Self::Broken => "broken",
        }
    }
}

/// Room for bodies: how long one may be, and how much of the process all of them together may take.
pub(crate) struct Bodies {
    limit: usize,
    /// One permit for each body that is not small, from its first large piece until it is decoded.
    large: Arc<Semaphore>,
    /// One permit for each body that is decoded off the async threads.
    decoding: Arc<Semaphore>,
    clock: SharedClock,
}

/// A body that has been read, and the room that it takes.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
}

impl Bodies {
    /// For bodies of up to so many bytes.
    pub(crate) fn new(limit: usize, clock: SharedClock) -> Self {
        let large = (LARGE_BYTES / limit.max(1)).max(FEWEST_LARGE);
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self { limit, large: Arc::new(Semaphore::new(large)), decoding: Arc::new(Semaphore::new(2 * cores)), clock }
    }

    /// How many bytes a body may have.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// All bytes of a body. Of one that is refused the rest is left to be discarded.
    pub(crate) async fn read<B>(&self, body: Pin<&mut B>) -> Result<Received, Refused>
    where
        B: http_body::Body<Data = Bytes>,
    {
        if self.is_too_long(&*body) {
            return Err(Refused::TooLarge);
        }
        let mut reading = pin!(self.collect(body));
        // Nearly always all of it is here by now; then no timer is needed.
        if let Some(read) = reading.as_mut().now_or_never() {
            return read;
        }
        tokio::select! {
            biased;
            read = reading => read,
            () = self.clock.sleep(PATIENCE) => Err(Refused::TooSlow),
        }
    }

    /// Whether a body says that it is longer than the limit.
    pub(crate) fn is_too_long<B: http_body::Body>(&self, body: &B) -> bool {
        body.size_hint().lower() > self.limit as u64
    }

    async fn collect<B>(&self, mut body: Pin<&mut B>) -> Result<Received, Refused>
    where
        B: http_body::Body<Data = Bytes>,
    {
        let mut room = match body.size_hint().lower() > SMALL as u64 {
            true => Some(self.room().await?),
            false => None,
        };
        let mut collected = Bytes::new();
        let mut joined = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| Refused::Broken)?.into_data() else { continue };
            let length = collected.len() + joined.len() + data.len();
            if length > self.limit {
                return Err(Refused::TooLarge);
            }
            if length > SMALL && room.is_none() {
                room = Some(self.room().await?);
            }
            // Nearly always there is one frame, which then needs no copy.
            if collected.is_empty() && joined.is_empty() {
                collected = data;
            } else {
                joined.extend_from_slice(&std::mem::take(&mut collected));
                joined.extend_from_slice(&data);
            }
        }
        Ok(Received { bytes: if joined.is_empty() { collected } else { joined.freeze() }, _room: room })
    }

    async fn room(&self) -> Result<OwnedSemaphorePermit, Refused> {
        tokio::select! {
            biased;
            room = Arc::clone(&self.large).acquire_owned() => room.map_err(|_| Refused::Busy),
            () = self.clock.sleep(ROOM_PATIENCE) => Err(Refused::Busy),
        }
    }

    /// Does what costs time off the async threads, a few at a time. `None`: the process ended meanwhile.
    pub(crate) async fn off_thread<T: Send + 'static>(
        &self,
        received: Received,
        decode: impl FnOnce(&[u8]) -> T + Send + 'static,
    ) -> Option<T> {
        let turn = Arc::clone(&self.decoding).acquire_owned().await.ok()?;
        let decoding = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            decode(&received.bytes)
        });
        decoding.await.ok()
    }

    /// Reads a body, or what is left of it, and throws it away, for as long as it is not many times longer than the limit.
    pub(crate) async fn discard<B>(&self, mut body: Pin<&mut B>)
    where
        B: http_body::Body<Data = Bytes>,
    {
        let most = (self.limit as u64).saturating_mul(LINGER);
        if body.is_end_stream() || body.size_hint().lower() > most {
            return;
        }
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
            () = self.clock.sleep(PATIENCE) => {}
        }
    }
}

/// The bytes of a gzip body, never more than ten times the limit, and of large limits less.
pub(crate) fn gunzip(compressed: &[u8], limit: usize) -> Result<Vec<u8>, Refused> {
    let most = limit.saturating_mul(INFLATED).min(limit.max(INFLATED_BYTES));
    wire_codec::gunzip(compressed, most).map_err(|why| match why {
        NotInflated::TooLarge => Refused::TooLarge,
        NotInflated::Corrupt => Refused::Broken,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use futures::stream;
    use http_body::Frame;
    use http_body_util::{Full, StreamBody};
    use std::{convert::Infallible, io::Write};
    use testkit::ManualClock;

    fn bodies(limit: usize) -> (Bodies, ManualClock) {
        let clock = ManualClock::new();
        (Bodies::new(limit, Arc::new(clock.clone())), clock)
    }

    async fn read<B: http_body::Body<Data = Bytes>>(body: B, bodies: &Bodies) -> Result<Bytes, Refused> {
        bodies.read(pin!(body)).await.map(|received| received.bytes)
    }

    fn chunks(texts: &[&'static str]) -> impl http_body::Body<Data = Bytes, Error = Infallible> {
        let frames: Vec<_> = texts.iter().map(|text| Ok(Frame::data(Bytes::from_static(text.as_bytes())))).collect();
        StreamBody::new(stream::iter(frames))
    }

    #[tokio::test]
    async fn a_body_up_to_the_limit_is_read_whole() {
        for texts in [&["12345678"][..], &["1234", "5678"], &["1", "2", "345678"], &["", "12345678"]] {
            assert_eq!(read(chunks(texts), &bodies(8).0).await.unwrap(), "12345678");
        }
        assert_eq!(read(chunks(&[]), &bodies(8).0).await.unwrap(), "");
    }

    #[tokio::test]
    async fn a_longer_body_is_refused_announced_or_not() {
        assert_eq!(read(Full::new(Bytes::from_static(b"123456789")), &bodies(8).0).await, Err(Refused::TooLarge));
        assert_eq!(read(chunks(&["1234", "56789"]), &bodies(8).0).await, Err(Refused::TooLarge));
    }

    #[tokio::test]
    async fn a_body_that_comes_late_is_waited_for_and_one_that_is_there_takes_no_timer() {
        let (bodies, manual) = bodies(8);
        let late = StreamBody::new(stream::once(async {
            // Once for the first look, once until there is a timer.
            tokio::task::yield_now().await;
            tokio::task::yield_now().await;
            assert_eq!(manual.sleepers(), 1);
            Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"1234")))
        }));
        assert_eq!(read(late, &bodies).await.unwrap(), "1234");
        let here = StreamBody::new(stream::once(async {
            assert_eq!(manual.sleepers(), 0);
            Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"5678")))
        }));
        assert_eq!(read(here, &bodies).await.unwrap(), "5678");
    }

    #[tokio::test]
    async fn a_body_that_does_not_arrive_is_refused_after_a_while() {
        let (bodies, manual) = bodies(8);
        let silent = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
        let reading = tokio::spawn(async move { read(silent, &bodies).await });
        testkit::eventually("the read waits", || manual.sleepers() == 1).await;
        manual.advance(PATIENCE);
        assert_eq!(reading.await.unwrap(), Err(Refused::TooSlow));
    }

    #[tokio::test]
    async fn large_bodies_wait_for_room_and_are_refused_when_none_is_made() {
        let (bodies, clock) = bodies(LARGE_BYTES / FEWEST_LARGE);
        let piece = Bytes::from(vec![b'x'; SMALL]);
        let large = |piece: &Bytes| {
            let pieces = [piece.clone(), piece.clone()];
            StreamBody::new(stream::iter(pieces.map(|piece| Ok::<_, Infallible>(Frame::data(piece)))))
        };
        let mut received = Vec::new();
        for _ in 0..FEWEST_LARGE {
            received.push(bodies.read(pin!(large(&piece))).await.unwrap());
        }
        assert_eq!(read(Full::new(piece.clone()), &bodies).await.unwrap().len(), SMALL, "small ones need no room");
        for announced in [false, true] {
            let mut waiting = match announced {
                true => Full::new(Bytes::from(vec![b'x'; SMALL + 1])).boxed(),
                false => large(&piece).boxed(),
            };
            let mut reading = Box::pin(bodies.read(Pin::new(&mut waiting)));
            assert!(reading.as_mut().now_or_never().is_none());
            clock.advance(ROOM_PATIENCE);
            assert_eq!(reading.await.unwrap_err(), Refused::Busy);
        }
        let mut waiting = pin!(large(&piece));
        let mut reading = Box::pin(bodies.read(waiting.as_mut()));
        assert!(reading.as_mut().now_or_never().is_none());
        received.pop();
        assert_eq!(reading.await.unwrap().bytes.len(), 2 * SMALL);
    }

    #[tokio::test]
    async fn the_rest_of_a_body_that_is_too_long_can_be_discarded() {
        let (bodies, _) = bodies(8);
        let mut body = pin!(chunks(&["12345678", "9", "and so on"]));
        assert_eq!(bodies.read(body.as_mut()).await.unwrap_err(), Refused::TooLarge);
        bodies.discard(body.as_mut()).await;
        assert!(body.frame().await.is_none());
    }

    #[tokio::test]
    async fn only_a_few_are_decoded_at_a_time() {
        let (bodies, _) = bodies(8);
        let received = || Received { bytes: Bytes::from_static(b"x"), _room: None };
        let turns = bodies.decoding.available_permits();
        let (open, opened) = std::sync::mpsc::channel::<()>();
        let opened = Arc::new(std::sync::Mutex::new(opened));
        let mut decoding: Vec<_> = (0..=turns)
            .map(|_| {
                let opened = Arc::clone(&opened);
                Box::pin(
                    bodies.off_thread(received(), move |bytes| opened.lock().unwrap().recv().map(|()| bytes.len())),
                )
            })
            .collect();
        for one in &mut decoding {
            assert!(one.as_mut().now_or_never().is_none());
        }
        assert_eq!(bodies.decoding.available_permits(), 0);
        (0..=turns).for_each(|_| open.send(()).unwrap());
        let decoded = futures::future::join_all(decoding).await;
        assert!(decoded.into_iter().all(|length| length == Some(Ok(1))));
        assert_eq!(bodies.decoding.available_permits(), turns);
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
