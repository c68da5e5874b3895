//! When the pages of a payload have expired: their lease times are too old. Pure; used by `refresh` and `view_state`.

use crate::leaf::{Entry, Leaf};
use registry_model::Mono;
use std::{sync::Arc, time::Duration};

/// How old pages become: page k of n is read anew `after` + `spread` x k/n after it was last, so that not all of them are at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expiry {
    pub(crate) after: Duration,
    /// Zero: a payload expires as a whole, with its oldest page.
    pub(crate) spread: Duration,
}

/// The pages of one payload that have expired, and when the next one will; none without any more pages.
#[derive(Debug)]
pub(crate) struct Split<E> {
    pub(crate) expired: Vec<Arc<Leaf<E>>>,
    pub(crate) next: Option<Mono>,
}

impl Expiry {
    /// Everything has expired.
    pub(crate) const AT_ONCE: Self = Self { after: Duration::ZERO, spread: Duration::ZERO };

    /// Which pages have expired.
    pub(crate) fn split<E: Entry>(&self, leaves: &[Arc<Leaf<E>>], now: Mono) -> Split<E> {
        let count = u32::try_from(leaves.len()).unwrap_or(u32::MAX).max(1);
        let mut split = Split { expired: Vec::new(), next: None };
        for (place, leaf) in (0..count).zip(leaves) {
            let due = leaf.read_at() + self.after + self.spread / count * place;
            if due <= now {
                split.expired.push(Arc::clone(leaf));
            } else {
                split.next = Some(split.next.map_or(due, |next| next.min(due)));
            }
        }
        if self.spread.is_zero() && !split.expired.is_empty() {
            return Split { expired: leaves.to_vec(), next: None };
        }
        split
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leaf::{Piece, Present};
    use testkit::instances::record;
    use wire_codec::{Extent, Place};

    fn at(millis: u64) -> Mono {
        Mono::from_nanos(millis * 1_000_000)
    }

    fn leaves(read_at: &[u64]) -> Vec<Arc<Leaf<Present>>> {
        let leaf = |read_at: &u64| {
            let piece = Piece::new(vec![Present::new(record("A", "i1"))], Extent::Whole);
            Leaf::new(vec![piece], Place::Later, at(*read_at))
        };
        read_at.iter().map(leaf).collect()
    }

    fn check(spread: u64, read_at: &[u64], now: u64, expired: &[usize], next: Option<u64>) {
        let expiry = Expiry { after: Duration::from_secs(180), spread: Duration::from_secs(spread) };
        let leaves = leaves(read_at);
        let split = expiry.split(&leaves, at(now));
        let is_expired = |place: &usize| split.expired.iter().any(|leaf| Arc::ptr_eq(leaf, &leaves[*place]));
        assert_eq!((0..leaves.len()).filter(is_expired).collect::<Vec<_>>(), expired, "{read_at:?} at {now} ms");
        assert_eq!(split.next, next.map(at), "{read_at:?} at {now} ms");
    }

    #[test]
    fn srv_91_a_payload_expires_at_its_age_as_a_whole() {
        check(0, &[1000, 1000], 180_999, &[], Some(181_000));
        check(0, &[1000, 1000], 181_000, &[0, 1], None);
        check(0, &[9000, 1000], 181_000, &[0, 1], None);
        check(0, &[], 181_000, &[], None);
    }

    #[test]
    fn with_a_spread_page_after_page_expires() {
        let three = [0; 3];
        check(30, &three, 179_999, &[], Some(180_000));
        check(30, &three, 180_000, &[0], Some(190_000));
        check(30, &three, 199_999, &[0, 1], Some(200_000));
        check(30, &three, 200_000, &[0, 1, 2], None);
        check(30, &[180_000, 0, 0], 190_000, &[1], Some(200_000));
    }
}
