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
