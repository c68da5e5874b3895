//! What a client has compressed, decompressed within a budget. Called by http-facade for the bodies of requests.

use flate2::read::MultiGzDecoder;
use std::io::Read;

/// Why compressed bytes have no plain ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotInflated {
    /// They would be more than the budget.
    #[error("decompressed, the bytes are more than may be")]
    TooLarge,
    /// They are no gzip, or not all of it.
    #[error("the bytes are no gzip")]
    Corrupt,
}

/// The plain bytes of gzip members, one behind the other: at most so many bytes, and no more than that is ever decompressed.
///
/// # Errors
/// There are more, or the bytes are corrupt before that is seen.
pub fn gunzip(compressed: &[u8], most: usize) -> Result<Vec<u8>, NotInflated> {
    let mut plain = Vec::new();
    let mut decoder = MultiGzDecoder::new(compressed).take((most as u64).saturating_add(1));
    decoder.read_to_end(&mut plain).map_err(|_| NotInflated::Corrupt)?;
    if plain.len() > most { Err(NotInflated::TooLarge) } else { Ok(plain) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(plain).expect("memory");
        encoder.finish().expect("memory")
    }

    #[test]
    fn rest_27_gzip_members_are_bounded_and_checked() {
        assert_eq!(gunzip(&gzip(b"{}"), 2).expect("whole"), b"{}");
        assert_eq!(gunzip(&gzip(b""), 0).expect("whole"), b"");
        assert_eq!(gunzip(&gzip(&[b'x'; 81]), 80), Err(NotInflated::TooLarge));
        let whole = gzip(&[b'x'; 80]);
        assert_eq!(gunzip(&[&whole[..], &whole].concat(), 160).expect("two members").len(), 160);
        for corrupt in [b"not gzip", &whole[..whole.len() - 4], &whole[..5], b""] {
            assert_eq!(gunzip(corrupt, 80), Err(NotInflated::Corrupt), "{corrupt:?}");
        }
    }

    #[test]
    fn of_a_bomb_no_more_than_the_budget_is_decompressed() {
        // A thousandfold in a member, and members without end.
        let bomb = gzip(&vec![0; 1 << 20]).repeat(200);
        let most = 64 << 10;
        assert_eq!(gunzip(&bomb, most), Err(NotInflated::TooLarge));
        // Corrupt beyond the budget: never looked at.
        let tail = [&gzip(&vec![0; 1 << 20])[..], b"no gzip"].concat();
        assert_eq!(gunzip(&tail, most), Err(NotInflated::TooLarge));
    }
}
