//! Consecutive pages that are sent as one frame, and the rule that groups pages into such runs. Called by `payload`.

use super::{
    checksum::{self, Shift},
    page::Page,
};
use bytes::Bytes;
use std::sync::{Arc, OnceLock};

/// How large a run aims to be, in compressed bytes: small frames cost more time than large ones when they are sent.
pub(super) const TARGET: u64 = 64 * 1024;
/// A run of more compressed bytes than this is split.
pub(super) const MAX: u64 = 2 * TARGET;

/// CRC-32, plain length and compressed length of joined pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    pub(super) crc: u32,
    pub(super) plain: u64,
    pub(super) deflated: u64,
}

impl Sum {
    /// Of no pages.
    pub(super) const EMPTY: Self = Self { crc: 0, plain: 0, deflated: 0 };

    /// Of one page.
    pub(super) fn of(page: &Page) -> Self {
        Self { crc: page.crc(), plain: page.length(), deflated: page.deflated().len() as u64 }
    }

    /// Of both together; `shift` is the next one's.
    pub(super) fn then(self, next: Self, shift: Shift) -> Self {
        Self {
            crc: checksum::join(self.crc, next.crc, shift),
            plain: self.plain.saturating_add(next.plain),
            deflated: self.deflated.saturating_add(next.deflated),
        }
    }
}

/// Consecutive pages. Unchanging, shared by all payloads that have them in common, so that they are joined once for all.
#[derive(Debug)]
pub(super) struct PageRun {
    pages: Vec<Page>,
    sum: Sum,
    shift: Shift,
    joined: OnceLock<Bytes>,
}

impl PageRun {
    fn new(pages: Vec<Page>) -> Self {
        let sum = pages.iter().fold(Sum::EMPTY, |sum, page| sum.then(Sum::of(page), page.shift()));
        let shift = pages.iter().fold(Shift::NONE, |shift, page| shift.then(page.shift()));
        Self { pages, sum, shift, joined: OnceLock::new() }
    }

    pub(super) fn pages(&self) -> &[Page] {
        &self.pages
    }

    pub(super) fn sum(&self) -> Sum {
        self.sum
    }

    pub(super) fn shift(&self) -> Shift {
        self.shift
    }

    /// The compressed pages as one piece; made at the first call.
    pub(super) fn joined(&self) -> &Bytes {
        self.joined.get_or_init(|| match self.pages.as_slice() {
            [page] => page.deflated().clone(),
            pages => {
                let mut joined = Vec::with_capacity(usize::try_from(self.sum.deflated).unwrap_or_default());
                for page in pages {
                    joined.extend_from_slice(page.deflated());
                }
                joined.into()
            }
        })
    }
}

/// Groups pages into runs, keeping runs that exist where they can stay.
///
/// Two runs side by side always have more than [`TARGET`] together, so their number stays in proportion to the bytes.
#[derive(Debug, Default)]
pub(super) struct Grouping {
    runs: Vec<Arc<PageRun>>,
    loose: Vec<Page>,
    loose_size: u64,
}

impl Grouping {
    /// Nothing yet, with room for about so many runs.
    pub(super) fn with_capacity(runs: usize) -> Self {
        Self { runs: Vec::with_capacity(runs), ..Self::default() }
    }

    /// Adds a page.
    pub(super) fn page(&mut self, page: Page) {
        self.loose_size = self.loose_size.saturating_add(page.deflated().len() as u64);
        self.loose.push(page);
    }

    /// Adds a run as it is, unless it has to be merged with the one before.
    pub(super) fn keep(&mut self, run: &Arc<PageRun>) {
        self.group_loose();
        self.push(Arc::clone(run));
    }

    /// All runs.
    pub(super) fn finish(mut self) -> Vec<Arc<PageRun>> {
        self.group_loose();
        self.runs
    }

    fn push(&mut self, run: Arc<PageRun>) {
        match self.runs.last_mut() {
            Some(last) if last.sum.deflated.saturating_add(run.sum.deflated) <= TARGET => {
                let pages = last.pages.iter().chain(&run.pages).cloned().collect();
                *last = Arc::new(PageRun::new(pages));
            }
            Some(_) | None => self.runs.push(run),
        }
    }

    /// Up to [`MAX`] loose pages become one run, beyond that as many as make about [`TARGET`] each.
    fn group_loose(&mut self) {
        let size = std::mem::take(&mut self.loose_size);
        let groups = if size <= MAX { 1 } else { size.div_ceil(TARGET) };
        let share = size.div_ceil(groups);
        let (mut group, mut filled) = (Vec::new(), 0);
        for page in std::mem::take(&mut self.loose) {
            filled += page.deflated().len() as u64;
            group.push(page);
            if filled >= share {
                self.push(Arc::new(PageRun::new(std::mem::take(&mut group))));
                filled = 0;
            }
        }
        if !group.is_empty() {
            self.push(Arc::new(PageRun::new(group)));
        }
    }
}
