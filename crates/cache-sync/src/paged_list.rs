//! Records in order, cut into leaves of about a page each. Owned by `view_state`; its leaves are shared with the views made of it.
//!
//! A leaf that some view shares is copied when it is first edited; from then on, until the next view, it is edited in place.

use crate::leaf::{Entry, Leaf, Piece};
use registry_model::{AppName, Mono};
use std::{mem, ops::Range, sync::Arc};
use wire_codec::{Extent, Place};

/// About how many plain JSON bytes a page has.
const PAGE: usize = 64 << 10;
/// A leaf larger than this is cut.
const LARGEST: usize = PAGE + PAGE / 2;
/// A leaf smaller than this joins a neighbour.
const SMALLEST: usize = PAGE / 4;

/// The list. A clone shares the leaves.
#[derive(Clone, Debug)]
pub(crate) struct PagedList<E> {
    leaves: Vec<Arc<Leaf<E>>>,
}

impl<E> Default for PagedList<E> {
    fn default() -> Self {
        Self { leaves: Vec::new() }
    }
}

impl<E: Entry> PagedList<E> {
    /// The leaves in order.
    pub(crate) fn leaves(&self) -> &[Arc<Leaf<E>>] {
        &self.leaves
    }

    /// The leaves with entries of an application.
    pub(crate) fn leaves_of(&self, app: &AppName) -> &[Arc<Leaf<E>>] {
        let start = self.leaves.partition_point(|leaf| leaf.last_app().is_some_and(|last| last < app));
        let rest = self.leaves.get(start..).unwrap_or_default();
        let count = rest.partition_point(|leaf| leaf.first_app().is_some_and(|first| first <= app));
        rest.get(..count).unwrap_or_default()
    }

    /// All entries in order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = &E> {
        self.leaves.iter().flat_map(|leaf| leaf.entries())
    }

    /// The entry at the place of `probe`.
    pub(crate) fn get(&self, probe: &E) -> Option<&E> {
        let leaf = self.leaves.get(self.leaf_of(probe))?;
        leaf.pieces().get(leaf.piece_of(probe.app()).ok()?)?.get(probe)
    }

    /// Puts an entry in its place; the one that was there. It has lease times as of `now`.
    pub(crate) fn put(&mut self, entry: E, now: Mono) -> Option<E> {
        let at = self.leaf_of(&entry);
        let Some(leaf) = self.leaves.get_mut(at) else {
            self.replace(at..at, vec![Piece::new(vec![entry], Extent::Whole)], now);
            return None;
        };
        match leaf.piece_of(entry.app()) {
            Ok(piece) => {
                let leaf = Arc::make_mut(leaf);
                let before = leaf.size();
                let held = leaf.put(piece, entry);
                let has_become_small = leaf.size() < SMALLEST && before >= SMALLEST;
                if leaf.size() > LARGEST || has_become_small {
                    let pieces = leaf.pieces().to_vec();
                    self.replace(at..at + 1, pieces, now);
                }
                held
            }
            Err(place) => {
                let piece = Piece::new(vec![entry], Extent::Whole);
                if leaf.size() + piece.size() > LARGEST || leaf.is_part() {
                    let mut pieces = leaf.pieces().to_vec();
                    pieces.insert(place, piece);
                    self.replace(at..at + 1, pieces, now);
                } else {
                    Arc::make_mut(leaf).insert(place, piece);
                }
                None
            }
        }
    }

    /// Removes the entry at the place of `probe`.
    pub(crate) fn remove(&mut self, probe: &E, now: Mono) -> Option<E> {
        let at = self.leaf_of(probe);
        let leaf = self.leaves.get_mut(at)?;
        let piece = leaf.piece_of(probe.app()).ok()?;
        // What is not there copies nothing.
        leaf.pieces().get(piece)?.get(probe)?;
        let leaf = Arc::make_mut(leaf);
        let held = leaf.remove(piece, probe);
        let is_empty = |piece: &Arc<Piece<E>>| piece.entries().is_empty();
        if leaf.size() < SMALLEST {
            let pieces = leaf.pieces().iter().filter(|piece| !is_empty(piece)).cloned().collect();
            self.replace(at..at + 1, pieces, now);
        } else if leaf.pieces().get(piece).is_some_and(is_empty) {
            leaf.drop_empty(piece);
        }
        held
    }

    /// The leaf in whose range an entry lies.
    fn leaf_of(&self, entry: &E) -> usize {
        let after = self.leaves.partition_point(|leaf| !leaf.is_behind(entry));
        let at = after.saturating_sub(1);
        let next = self.leaves.get(at + 1).is_some_and(|next| self.is_beyond(at, next, entry));
        if next { at + 1 } else { at }
    }

    /// Whether an entry that is not before leaf `at` lies in the leaf after it: a new first entry of an application goes where the others are.
    fn is_beyond(&self, at: usize, next: &Leaf<E>, entry: &E) -> bool {
        let joins_next = next.first_app() == Some(entry.app())
            && self.leaves.get(at).and_then(|leaf| leaf.last_app()) != Some(entry.app());
        joins_next || !next.is_behind(entry)
    }

    fn app_before(&self, at: usize) -> Option<&AppName> {
        at.checked_sub(1).and_then(|before| self.leaves.get(before)).and_then(|leaf| leaf.last_app())
    }

    fn app_after(&self, at: usize) -> Option<&AppName> {
        self.leaves.get(at + 1).and_then(|leaf| leaf.first_app())
    }

    /// Puts pieces in the place of leaves.
    fn replace(&mut self, old: Range<usize>, pieces: Vec<Arc<Piece<E>>>, now: Mono) {
        let oldest = self.leaves.get(old.clone()).unwrap_or_default().iter().map(|leaf| leaf.read_at()).min();
        let read_at = oldest.map_or(now, |oldest| oldest.min(now));
        let before = self.app_before(old.start).cloned();
        let after = self.leaves.get(old.end).and_then(|leaf| leaf.first_app()).cloned();
        let made: Vec<_> = cut(pieces, before.as_ref(), after.as_ref())
            .into_iter()
            .map(|pieces| Leaf::new(pieces, Place::Later, read_at))
            .collect();
        let mut touched = old.start..old.start + made.len();
        self.leaves.splice(old, made);
        self.join_small(&mut touched);
        // The neighbours may have become first or last parts of an application, or the first page.
        let end = (touched.end + 1).min(self.leaves.len());
        for at in touched.start.saturating_sub(1)..end {
            let place = if at == 0 { Place::First } else { Place::Later };
            if let Some(leaf) = self.leaves.get(at) {
                let moved = leaf.moved(place, self.app_before(at), self.app_after(at));
                if let Some(slot) = self.leaves.get_mut(at) {
                    *slot = moved;
                }
            }
        }
    }

    /// Joins the first and the last touched leaf with a neighbour if they have become small.
    fn join_small(&mut self, touched: &mut Range<usize>) {
        for left in [touched.end.saturating_sub(1), touched.start.saturating_sub(1)] {
            let (Some(a), Some(b)) = (self.leaves.get(left), self.leaves.get(left + 1)) else { continue };
            let small = a.size() < SMALLEST || b.size() < SMALLEST;
            if !small || a.size() + b.size() > PAGE || !self.may_share_a_page(left) {
                continue;
            }
            let mut pieces: Vec<Arc<Piece<E>>> = a.pieces().to_vec();
            for piece in b.pieces() {
                match pieces.last() {
                    Some(last) if last.app() == piece.app() => {
                        let entries = last.entries().iter().chain(piece.entries()).cloned().collect();
                        pieces.pop();
                        pieces.push(Piece::new(entries, Extent::Whole));
                    }
                    Some(_) | None => pieces.push(Arc::clone(piece)),
                }
            }
            let read_at = a.read_at().min(b.read_at());
            self.leaves.splice(left..left + 2, [Leaf::new(pieces, Place::Later, read_at)]);
            touched.start = touched.start.min(left);
            touched.end = touched.end.saturating_sub(1).max(left + 1);
        }
    }

    /// Whether a leaf and the next one may become one: no page holds a part of an application beside another application.
    fn may_share_a_page(&self, left: usize) -> bool {
        let part_before = self
            .app_before(left)
            .is_some_and(|app| self.leaves.get(left).and_then(|leaf| leaf.first_app()) == Some(app));
        let part_after = self
            .app_after(left + 1)
            .is_some_and(|app| self.leaves.get(left + 1).and_then(|leaf| leaf.last_app()) == Some(app));
        let apps = self.leaves.get(left).into_iter().chain(self.leaves.get(left + 1)).flat_map(|leaf| leaf.pieces());
        let mut apps = apps.map(|piece| piece.app());
        let first = apps.next();
        let one_app = apps.all(|app| Some(app) == first);
        one_app || (!part_before && !part_after)
    }
}

/// Cuts pieces into pages: whole applications together up to about a page, a larger application into pages of its own.
/// `before` and `after` are the applications next to them, which may go on in these pieces.
fn cut<E: Entry>(
    pieces: Vec<Arc<Piece<E>>>,
    before: Option<&AppName>,
    after: Option<&AppName>,
) -> Vec<Vec<Arc<Piece<E>>>> {
    let total: usize = pieces.iter().map(|piece| piece.size()).sum();
    let mut pages = Vec::new();
    let mut page: Vec<Arc<Piece<E>>> = Vec::new();
    let mut filled = 0;
    for piece in pieces {
        let is_part = piece.app() == before || piece.app() == after;
        if is_part || piece.size() > LARGEST {
            pages.extend((!page.is_empty()).then(|| mem::take(&mut page)));
            filled = 0;
            pages.extend(cut_app(&piece).into_iter().map(|part| vec![part]));
            continue;
        }
        if total > LARGEST && filled > 0 && filled + piece.size() > PAGE {
            pages.push(mem::take(&mut page));
            filled = 0;
        }
        filled += piece.size();
        page.push(piece);
    }
    pages.extend((!page.is_empty()).then_some(page));
    pages
}

/// Cuts one application's piece into parts of about equal size, as few as fit pages.
fn cut_app<E: Entry>(piece: &Arc<Piece<E>>) -> Vec<Arc<Piece<E>>> {
    if piece.size() <= LARGEST || piece.entries().len() < 2 {
        return vec![Arc::clone(piece)];
    }
    let part_size = piece.size() / piece.size().div_ceil(PAGE);
    let mut parts = Vec::new();
    let mut part = Vec::new();
    let mut filled = 0;
    for entry in piece.entries() {
        if filled > 0 && filled + entry.size() / 2 > part_size {
            parts.push(Piece::new(mem::take(&mut part), Extent::Whole));
            filled = 0;
        }
        filled += entry.size();
        part.push(entry.clone());
    }
    if !part.is_empty() {
        parts.push(Piece::new(part, Extent::Whole));
    }
    parts
}

#[cfg(test)]
mod tests;
