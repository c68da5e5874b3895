//! Bodies of answers: nothing, some bytes, or a payload that is walked frame by frame and never joined. Made by `respond`.

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};
use wire_codec::Payload;

/// The body of an answer; its length is known before its first byte.
#[derive(Debug, Default)]
pub struct Body(Form);

#[derive(Debug, Default)]
enum Form {
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
    Plain(Arc<Plain>),
}

/// A document's plain bytes, page by page.
#[derive(Debug)]
pub(crate) struct Plain(Vec<Bytes>);

impl Plain {
    pub(crate) fn new(pages: Vec<Bytes>) -> Self {
        Self(pages)
    }

    fn length(&self) -> u64 {
        self.0.iter().map(|page| page.len() as u64).sum()
    }
}

impl Frames {
    /// Bytes of all frames.
    pub(crate) fn length(&self) -> u64 {
        match self {
            Self::Gzip(payload) => payload.gzip_length(),
            Self::Plain(plain) => plain.length(),
        }
    }

    fn get(&self, index: usize) -> Option<Bytes> {
        match self {
            Self::Gzip(payload) => payload.gzip_frame(index),
            Self::Plain(plain) => plain.0.get(index).cloned(),
        }
    }
}

impl Body {
    /// A body of zero bytes.
    pub(crate) const EMPTY: Self = Self(Form::Empty);

    /// A body of these bytes.
    pub(crate) fn bytes(bytes: impl Into<Bytes>) -> Self {
        match bytes.into() {
            bytes if bytes.is_empty() => Self::EMPTY,
            bytes => Self(Form::Bytes(bytes)),
        }
    }

    /// A body of these frames.
    pub(crate) fn frames(source: Frames) -> Self {
        let left = source.length();
        Self(Form::Frames { source, next: 0, left })
    }

    fn next_frame(&mut self) -> Option<Bytes> {
        match &mut self.0 {
            Form::Empty => None,
            Form::Bytes(bytes) => {
                let bytes = std::mem::take(bytes);
                self.0 = Form::Empty;
                Some(bytes)
            }
            Form::Frames { source, next, left } => {
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
            Form::Empty => 0,
            Form::Bytes(bytes) => bytes.len() as u64,
            Form::Frames { left, .. } => *left,
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
        let plain = Arc::new(Plain::new(vec![Bytes::from_static(b"he"), Bytes::from_static(b"ad")]));
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
