//! CRC-32 of joined texts from the CRCs of the parts: arithmetic on polynomials over GF(2) modulo CRC-32's.
//! Called by `page`, `run` and `payload`.

/// CRC-32's polynomial without its highest term; bit 31 is the coefficient of x^0.
const POLYNOMIAL: u32 = 0xEDB8_8320;
/// x^0.
const ONE: u32 = 1 << 31;
/// x^8: one more byte.
const BYTE: u32 = 1 << 23;

/// What appending a text of some length does to the CRC before it: x^(8 length) modulo the polynomial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shift(u32);

impl Shift {
    /// Of no text at all.
    pub(crate) const NONE: Self = Self(ONE);

    /// Of a text of so many bytes.
    pub(crate) fn of(length: u64) -> Self {
        let (mut power, mut base, mut rest) = (ONE, BYTE, length);
        while rest > 0 {
            if rest & 1 == 1 {
                power = multiply(power, base);
            }
            base = multiply(base, base);
            rest >>= 1;
        }
        Self(power)
    }

    /// Of both texts together.
    pub(crate) fn then(self, next: Self) -> Self {
        Self(multiply(self.0, next.0))
    }
}

/// The CRC of two texts joined: of the CRC of the first, and CRC and shift of the second.
pub(crate) fn join(first: u32, second: u32, shift: Shift) -> u32 {
    multiply(first, shift.0) ^ second
}

/// The product modulo the polynomial. Without branches: the bits of a CRC are random.
fn multiply(left: u32, right: u32) -> u32 {
    let (mut left, mut power, mut product) = (left, right, 0);
    for _ in 0..u32::BITS {
        product ^= power & (left >> 31).wrapping_neg();
        left <<= 1;
        power = (power >> 1) ^ (POLYNOMIAL & (power & 1).wrapping_neg());
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn crc(text: &[u8]) -> u32 {
        crc32fast::hash(text)
    }

    proptest! {
        #[test]
        fn joined_crcs_are_the_crc_of_the_joined_text(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..8)) {
            let (mut joined, mut shift) = (0, Shift::NONE);
            for part in &parts {
                joined = join(joined, crc(part), Shift::of(part.len() as u64));
                shift = shift.then(Shift::of(part.len() as u64));
            }
            let whole = parts.concat();
            prop_assert_eq!(joined, crc(&whole));
            prop_assert_eq!(shift, Shift::of(whole.len() as u64));
        }

        #[test]
        fn joining_is_what_crc32fast_does(first: u32, second: u32, length: u64) {
            let mut hasher = crc32fast::Hasher::new_with_initial_len(first, 1);
            hasher.combine(&crc32fast::Hasher::new_with_initial_len(second, length));
            prop_assert_eq!(join(first, second, Shift::of(length)), hasher.finalize());
        }
    }
}
