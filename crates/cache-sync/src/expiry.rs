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
