//! A whole document as pages, and the gzip member that they are. Made by cache-sync, walked by http-facade while it holds an `Arc` of it.

use super::{
    page::Page,
    run::{Grouping, PageRun, Sum},
};
use bytes::Bytes;
use std::{iter, sync::Arc};

/// Deflate, no name, no time, unknown system.
const GZIP_HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// An empty block that says it is the last one.
const FINAL_BLOCK: [u8; 2] = [3, 0];

/// A change of a payload's list of pages, head and tail not counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSplice {
    /// Position in the list as it was before, of the first page removed; new pages stand there.
    pub at: usize,
    /// How many pages go.
    pub removed: usize,
    /// The pages that come.
    pub inserted: Vec<Page>,
}

/// Splices that do not fit the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSplice {
    /// Behind the last page.
    #[error("splice reaches page {end} of {page_count}")]
    OutOfRange {
        /// The position after the last page removed.
        end: usize,
        /// How many pages there are.
        page_count: usize,
    },
    /// Not in ascending order, or overlapping.
    #[error("splice at page {at} follows one that reaches page {previous_end}")]
    OutOfOrder {
        /// The position of the later one.
        at: usize,
        /// Where the one before it ends.
        previous_end: usize,
    },
}

/// A whole document: head, pages, tail. Unchanging; a splice makes a new one that shares everything untouched.
#[derive(Clone, Debug)]
pub struct Payload {
    head: Page,
    runs: Vec<Arc<PageRun>>,
    tail: Page,
    page_count: usize,
    plain_length: u64,
    gzip_length: u64,
    /// gzip header and head.
    first_frame: Bytes,
    /// Tail, final block and gzip trailer.
    last_frame: Bytes,
}

impl Payload {
    /// A payload of these pages, joined in this order.
    pub fn new(head: Page, pages: Vec<Page>, tail: Page) -> Self {
        let mut grouping = Grouping::default();
        pages.into_iter().for_each(|page| grouping.page(page));
        Self::of(head, grouping.finish(), tail)
    }

    fn of(head: Page, runs: Vec<Arc<PageRun>>, tail: Page) -> Self {
        let body = runs.iter().fold(Sum::of(&head), |sum, run| sum.then(run.sum(), run.shift()));
        let sum = body.then(Sum::of(&tail), tail.shift());
        let first_frame = [&GZIP_HEADER, &**head.deflated()].concat();
        // gzip's trailer has the length modulo 2^32: its lower half.
        let [a, b, c, d, ..] = sum.plain.to_le_bytes();
        let last_frame = [&**tail.deflated(), &FINAL_BLOCK, &sum.crc.to_le_bytes(), &[a, b, c, d]].concat();
        let around = GZIP_HEADER.len() + FINAL_BLOCK.len() + 8;
        Self {
            page_count: runs.iter().map(|run| run.pages().len()).sum(),
            plain_length: sum.plain,
            gzip_length: sum.deflated + around as u64,
            first_frame: first_frame.into(),
            last_frame: last_frame.into(),
            head,
            runs,
            tail,
        }
    }

    /// This payload with some pages replaced, and a new head and tail. Positions are those of the pages before; ascending, not overlapping.
    ///
    /// Costs as much as the runs touched have pages, and a little for each run.
    ///
    /// # Errors
    /// The splices do not fit; nothing has happened.
    pub fn splice(&self, head: Page, splices: &[PageSplice], tail: Page) -> Result<Self, BadSplice> {
        self.check(splices)?;
        let mut grouping = Grouping::with_capacity(self.runs.len() + 1);
        let mut splices = splices.iter().peekable();
        let mut removed_to = 0;
        let mut start = 0;
        for run in &self.runs {
            let end = start + run.pages().len();
            let touched = removed_to > start || splices.peek().is_some_and(|next| next.at < end);
            if touched {
                for (position, page) in (start..end).zip(run.pages()) {
                    while let Some(splice) = splices.next_if(|next| next.at == position) {
                        splice.inserted.iter().for_each(|page| grouping.page(page.clone()));
                        removed_to = splice.at + splice.removed;
                    }
                    if position >= removed_to {
                        grouping.page(page.clone());
                    }
                }
            } else {
                grouping.keep(run);
            }
            start = end;
        }
        for splice in splices {
            splice.inserted.iter().for_each(|page| grouping.page(page.clone()));
        }
        Ok(Self::of(head, grouping.finish(), tail))
    }

    /// The same pages between another head and tail. Runs that are joined stay so, for both.
    pub fn with_ends(&self, head: Page, tail: Page) -> Self {
        Self::of(head, self.runs.clone(), tail)
    }

    fn check(&self, splices: &[PageSplice]) -> Result<(), BadSplice> {
        let mut previous_end = 0;
        for splice in splices {
            let end = splice.at.saturating_add(splice.removed);
            if splice.at < previous_end {
                return Err(BadSplice::OutOfOrder { at: splice.at, previous_end });
            }
            if end > self.page_count {
                return Err(BadSplice::OutOfRange { end, page_count: self.page_count });
            }
            previous_end = end;
        }
        Ok(())
    }

    /// How many pages there are between head and tail.
    pub fn page_count(&self) -> usize {
        self.page_count
    }

    /// All pages, head and tail included, in document order.
    pub fn pages(&self) -> impl Iterator<Item = &Page> {
        let middle = self.runs.iter().flat_map(|run| run.pages());
        iter::once(&self.head).chain(middle).chain(iter::once(&self.tail))
    }

    /// The page at a position of [`Self::pages`]; 0 is the head.
    pub fn page(&self, index: usize) -> Option<&Page> {
        let Some(mut rest) = index.checked_sub(1) else { return Some(&self.head) };
        for run in &self.runs {
            match run.pages().get(rest) {
                Some(page) => return Some(page),
                None => rest -= run.pages().len(),
            }
        }
        (rest == 0).then_some(&self.tail)
    }

    /// Bytes of the gzip body.
    pub fn gzip_length(&self) -> u64 {
        self.gzip_length
    }

    /// Bytes of the plain document.
    pub fn plain_length(&self) -> u64 {
        self.plain_length
    }

    /// One frame of the gzip body, shared with all who read it; `None` after the last. A run of pages is joined at its first use.
    pub fn gzip_frame(&self, index: usize) -> Option<Bytes> {
        let Some(run) = index.checked_sub(1) else { return Some(self.first_frame.clone()) };
        match self.runs.get(run) {
            Some(run) => Some(run.joined().clone()),
            None => (run == self.runs.len()).then(|| self.last_frame.clone()),
        }
    }

    /// All frames of the gzip body.
    pub fn gzip_frames(&self) -> impl Iterator<Item = Bytes> {
        (0..).map_while(|index| self.gzip_frame(index))
    }
}

#[cfg(test)]
mod tests;
