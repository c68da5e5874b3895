//! Bodies of answers: nothing, some bytes, or a payload that is walked frame by frame and never joined. Made by `respond`.

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use registry_model::Mono;
use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use wire_codec::Payload;

/// The body of an answer; its length is known before its first byte.
#[derive(Debug, Default)]
pub struct Body(Content);

#[derive(Debug, Default)]
enum Content {
    #[default]
    Empty,
    Bytes(Bytes),
    Frames {
        source: Frames,
        next: usize,
        left: u64,
    },
}

/// Frames shared by everybody who reads a payload.
#[derive(Clone, Debug)]
pub(crate) enum Frames {
    /// One gzip member.
    Gzip(Arc<Payload>),
    /// The document itself.
    Plain(Plain),
}

/// A payload as it is, page by page. A reader that is slow holds the compressed pages, and plain bytes only of the page that is
/// on its way.
#[derive(Clone, Debug)]
pub(crate) struct Plain {
    payload: Arc<Payload>,
    /// When the reader came.
    read: Mono,
}

impl Plain {
    /// Of pages whose plain bytes have been made.
    pub(crate) fn new(payload: Arc<Payload>, read: Mono) -> Self {
        Self { payload, read }
    }

    fn page(&self, index: usize) -> Option<Bytes> {
        // Only the pages of a payload that has been made plain once come here, and they do not become corrupt later.
        self.payload.page(index)?.plain(self.read).ok()
    }
}

impl Frames {
    /// Bytes of all frames.
    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::Gzip(payload) => payload.gzip_length(),
            Self::Plain(plain) => plain.payload.plain_length(),
        }
    }

    fn get(&self, index: usize) -> Option<Bytes> {
        match self {
            Self::Gzip(payload) => payload.gzip_frame(index),
            Self::Plain(plain) => plain.page(index),
        }
    }
}

impl Body {
    /// A body of zero bytes.
    pub(crate) const EMPTY: Self = Self(Content::Empty);

    /// A body of these bytes.
    pub(crate) fn bytes(bytes: impl Into<Bytes>) -> Self {
        match bytes.into() {
            bytes if bytes.is_empty() => Self::EMPTY,
            bytes => Self(Content::Bytes(bytes)),
        }
    }

    /// A body of these frames.
    pub(crate) fn frames(source: Frames) -> Self {
        let left = source.length();
        Self(Content::Frames { source, next: 0, left })
    }

    fn next_frame(&mut self) -> Option<Bytes> {
        match &mut self.0 {
            Content::Empty => None,
            Content::Bytes(bytes) => {
                let bytes = std::mem::take(bytes);
                self.0 = Content::Empty;
                Some(bytes)
            }
            Content::Frames { source, next, left } => {
                let frame = source.get(*next)?;
                *next += 1;
                *left = left.saturating_sub(frame.len() as u64);
                Some(frame)
            }
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.get_mut().next_frame().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.size_hint().exact() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match &self.0 {
            Content::Empty => 0,
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Frames { left, .. } => *left,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body::Body as _;
    use http_body_util::BodyExt;
    use wire_codec::Page;

    #[tokio::test]
    async fn every_body_says_its_exact_length_before_its_first_byte() {
        let payload = Payload::new(Page::deflate(b"head"), vec![Page::deflate(b"page")], Page::deflate(b"tail"));
        let gzip = Arc::new(payload);
        let plain = Plain::new(Arc::clone(&gzip), Mono::from_nanos(1));
        let table = [
            Body::EMPTY,
            Body::bytes(""),
            Body::bytes("text"),
            Body::frames(Frames::Gzip(gzip)),
            Body::frames(Frames::Plain(plain)),
        ];
        for body in table {
            let said = body.size_hint().exact();
            assert_eq!(body.is_end_stream(), said == Some(0));
            let bytes = body.collect().await.unwrap().to_bytes();
            assert_eq!(Some(bytes.len() as u64), said);
        }
    }
}
