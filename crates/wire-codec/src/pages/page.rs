//! One page: a piece of a document, compressed so that pages can be put one after another. Made by cache-sync, shared by all payloads.

use super::checksum::Shift;
use bytes::Bytes;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};
use parking_lot::Mutex;
use registry_model::Mono;
use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// A page whose bytes are not what they claim to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CorruptPage {
    /// Not a deflate stream that ends with a flush and without a final block.
    #[error("page is no deflate stream ended by a full flush")]
    Stream,
    /// More or fewer plain bytes than said.
    #[error("page does not have the plain length that it names")]
    Length,
    /// Another checksum than said.
    #[error("page does not have the checksum that it names")]
    Checksum,
}

/// A piece of a document: raw deflate ended by a full flush, with CRC-32 and length of the plain bytes. Cheap to clone; clones
/// share the plain bytes that are kept for readers who do not take gzip.
#[derive(Clone)]
pub struct Page(Arc<Shared>);

struct Shared {
    deflated: Bytes,
    length: u64,
    crc: u32,
    shift: Shift,
    /// The plain bytes while they are kept; locked while they are made, so that they are made once.
    plain: Mutex<Option<Bytes>>,
    /// When the plain bytes were last read, in nanoseconds of monotonic time.
    plain_read: AtomicU64,
}

impl PartialEq for Page {
    fn eq(&self, other: &Self) -> bool {
        let content = |page: &Self| (page.0.length, page.0.crc);
        content(self) == content(other) && self.0.deflated == other.0.deflated
    }
}

impl Eq for Page {}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page").field("length", &self.0.length).field("crc", &self.0.crc).finish_non_exhaustive()
    }
}

impl Page {
    /// Compresses a piece of a document.
    pub fn deflate(plain: &[u8]) -> Self {
        /// What a stored block and a flush add to bytes that cannot be compressed, and more than a flush marker at any rate:
        /// with less room left zlib would write the marker again and again.
        const SLACK: usize = 64;
        let mut compress = Compress::new(Compression::new(6), false);
        let mut deflated = Vec::with_capacity(plain.len() / 8 + SLACK);
        let mut rest = plain;
        loop {
            let before = compress.total_in();
            // Raw deflate into memory has no way to fail; a stream that did would show as corrupt when it is read.
            let result = compress.compress_vec(rest, &mut deflated, FlushCompress::Full);
            debug_assert!(result.is_ok(), "{result:?}");
            let taken = usize::try_from(compress.total_in() - before).unwrap_or(usize::MAX);
            rest = rest.get(taken..).unwrap_or_default();
            let done = rest.is_empty() && deflated.len() < deflated.capacity();
            if done || result.is_err() {
                break;
            }
            deflated.reserve(deflated.len() / 2 + SLACK);
        }
        deflated.shrink_to_fit();
        Self::from_parts(deflated.into(), crc32fast::hash(plain), plain.len() as u64)
    }

    /// A page that was compressed elsewhere; only [`Self::inflate`] finds out whether the parts fit together.
    pub fn from_parts(deflated: Bytes, crc: u32, length: u64) -> Self {
        let (plain, plain_read) = Default::default();
        Self(Arc::new(Shared { deflated, length, crc, shift: Shift::of(length), plain, plain_read }))
    }

    /// The compressed bytes.
    pub fn deflated(&self) -> &Bytes {
        &self.0.deflated
    }

    /// CRC-32 of the plain bytes.
    pub fn crc(&self) -> u32 {
        self.0.crc
    }

    /// Number of plain bytes.
    pub fn length(&self) -> u64 {
        self.0.length
    }

    pub(crate) fn shift(&self) -> Shift {
        self.0.shift
    }

    /// The plain bytes, kept from now on and shared with all who read them: a page that payloads have in common is decompressed once.
    ///
    /// # Errors
    /// The page is not what it claims to be.
    pub fn plain(&self, now: Mono) -> Result<Bytes, CorruptPage> {
        self.0.plain_read.fetch_max(now.as_nanos(), Ordering::Relaxed);
        let mut kept = self.0.plain.lock();
        if let Some(plain) = &*kept {
            return Ok(plain.clone());
        }
        let plain = Bytes::from(self.inflate()?);
        *kept = Some(plain.clone());
        Ok(plain)
    }

    /// Whether the plain bytes are kept.
    pub fn keeps_plain(&self) -> bool {
        self.0.plain.lock().is_some()
    }

    /// Drops the plain bytes if nobody has read them for so long.
    pub fn forget_plain_unread_for(&self, period: Duration, now: Mono) {
        let read = Mono::from_nanos(self.0.plain_read.load(Ordering::Relaxed));
        if now.saturating_since(read) >= period {
            *self.0.plain.lock() = None;
        }
    }

    /// The plain bytes, never more than [`Self::length`] of them.
    ///
    /// # Errors
    /// The page is not what it claims to be.
    pub fn inflate(&self) -> Result<Vec<u8>, CorruptPage> {
        const CHUNK: usize = 32 * 1024;
        let mut plain = Vec::new();
        let mut inflate = Decompress::new(false);
        let mut chunk = vec![0; CHUNK];
        let mut rest: &[u8] = &self.0.deflated;
        while !rest.is_empty() {
            let (read, written) = (inflate.total_in(), inflate.total_out());
            let status =
                inflate.decompress(rest, &mut chunk, FlushDecompress::Sync).map_err(|_| CorruptPage::Stream)?;
            let read = usize::try_from(inflate.total_in() - read).map_err(|_| CorruptPage::Stream)?;
            let written = usize::try_from(inflate.total_out() - written).map_err(|_| CorruptPage::Stream)?;
            if status == Status::StreamEnd || (read == 0 && written == 0) {
                return Err(CorruptPage::Stream);
            }
            if inflate.total_out() > self.0.length {
                return Err(CorruptPage::Length);
            }
            plain.extend_from_slice(chunk.get(..written).unwrap_or_default());
            rest = rest.get(read..).unwrap_or_default();
        }
        if plain.len() as u64 != self.0.length {
            return Err(CorruptPage::Length);
        }
        if crc32fast::hash(&plain) != self.0.crc {
            return Err(CorruptPage::Checksum);
        }
        Ok(plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Texts of all kinds: repetitive, random, empty, larger than every buffer in the way.
    fn plain() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            (any::<u8>(), 0..100_000_usize).prop_map(|(byte, count)| vec![byte; count]),
            (any::<u32>(), 0..100_000_usize).prop_map(|(seed, count)| noise(seed, count)),
        ];
        prop::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
    }

    /// Bytes that do not compress.
    fn noise(seed: u32, count: usize) -> Vec<u8> {
        let mut state = seed | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state.to_le_bytes()[1]
        };
        (0..count).map(|_| next()).collect()
    }

    proptest! {
        #![proptest_config(testkit::cases(64))]
        #[test]
        fn a_page_gives_back_what_it_was_made_of(plain in plain()) {
            let page = Page::deflate(&plain);
            prop_assert!(page.deflated().ends_with(&[0, 0, 0xff, 0xff]), "ended by a flush");
            prop_assert_eq!(page.length(), plain.len() as u64);
            prop_assert_eq!(page.crc(), crc32fast::hash(&plain));
            prop_assert_eq!(page.inflate().expect("our own page"), plain);
        }

        #[test]
        fn damaged_pages_are_found_out(plain in plain(), at in any::<prop::sample::Index>(), bit in 0..8_u32) {
            let page = Page::deflate(&plain);
            let mut deflated = page.deflated().to_vec();
            deflated[at.index(page.deflated().len())] ^= 1_u8 << bit;
            let damaged = Page::from_parts(deflated.into(), page.crc(), page.length());
            if let Ok(text) = damaged.inflate() {
                prop_assert_eq!(text, plain, "damage that changes nothing");
            }
        }
    }

    #[test]
    fn plain_bytes_are_made_once_for_all_clones_and_kept_while_they_are_read() {
        let at = |seconds| Mono::from_nanos(0) + Duration::from_secs(seconds);
        let page = Page::deflate(b"text");
        let clone = page.clone();
        assert!(!clone.keeps_plain());
        let (first, second) = (page.plain(at(10)).unwrap(), clone.plain(at(5)).unwrap());
        assert_eq!((&first[..], first.as_ptr()), (&b"text"[..], second.as_ptr()));
        clone.forget_plain_unread_for(Duration::from_secs(180), at(189));
        assert!(page.keeps_plain());
        clone.forget_plain_unread_for(Duration::from_secs(180), at(190));
        assert!(!page.keeps_plain());
        assert_eq!(page.plain(at(200)).unwrap(), "text");
        assert_eq!(Page::from_parts(Bytes::new(), 0, 1).plain(at(1)), Err(CorruptPage::Length));
    }

    #[test]
    fn parts_that_do_not_fit_together_are_refused() {
        let page = Page::deflate(&[b'a'; 1_000_000]);
        let of =
            |deflated: &[u8], crc, length| Page::from_parts(Bytes::copy_from_slice(deflated), crc, length).inflate();
        let deflated = page.deflated();
        assert_eq!(of(deflated, page.crc(), 999_999), Err(CorruptPage::Length));
        assert_eq!(of(deflated, page.crc(), 10), Err(CorruptPage::Length));
        assert_eq!(of(deflated, page.crc(), u64::MAX), Err(CorruptPage::Length));
        assert_eq!(of(deflated, page.crc() ^ 1, page.length()), Err(CorruptPage::Checksum));
        assert_eq!(of(&[deflated, [3, 0].as_slice()].concat(), page.crc(), page.length()), Err(CorruptPage::Stream));
        assert_eq!(of(b"\xff\xff", 0, 0), Err(CorruptPage::Stream));
        assert_eq!(of(b"", 0, 0), Ok(Vec::new()));
    }
}
