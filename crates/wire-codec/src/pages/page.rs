//! One page: a piece of a document, compressed so that pages can be put one after another. Made by cache-sync, shared by all payloads.

use super::checksum::Shift;
use bytes::Bytes;
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

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

/// A piece of a document: raw deflate ended by a full flush, with CRC-32 and length of the plain bytes. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    deflated: Bytes,
    length: u64,
    crc: u32,
    shift: Shift,
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
        Self { deflated, length, crc, shift: Shift::of(length) }
    }

    /// The compressed bytes.
    pub fn deflated(&self) -> &Bytes {
        &self.deflated
    }

    /// CRC-32 of the plain bytes.
    pub fn crc(&self) -> u32 {
        self.crc
    }

    /// Number of plain bytes.
    pub fn length(&self) -> u64 {
        self.length
    }

    pub(crate) fn shift(&self) -> Shift {
        self.shift
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
        let mut rest: &[u8] = &self.deflated;
        while !rest.is_empty() {
            let (read, written) = (inflate.total_in(), inflate.total_out());
            let status =
                inflate.decompress(rest, &mut chunk, FlushDecompress::Sync).map_err(|_| CorruptPage::Stream)?;
            let read = usize::try_from(inflate.total_in() - read).map_err(|_| CorruptPage::Stream)?;
            let written = usize::try_from(inflate.total_out() - written).map_err(|_| CorruptPage::Stream)?;
            if status == Status::StreamEnd || (read == 0 && written == 0) {
                return Err(CorruptPage::Stream);
            }
            if inflate.total_out() > self.length {
                return Err(CorruptPage::Length);
            }
            plain.extend_from_slice(chunk.get(..written).unwrap_or_default());
            rest = rest.get(read..).unwrap_or_default();
        }
        if plain.len() as u64 != self.length {
            return Err(CorruptPage::Length);
        }
        if crc32fast::hash(&plain) != self.crc {
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
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
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
