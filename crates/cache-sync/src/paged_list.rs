//! Records in order, cut into leaves of about a page each; an edit makes anew only the leaves that it touches.
//! Owned by `view_state`; its leaves are shared with every published view.

use crate::leaf::{Entry, Leaf, Piece};
use registry_model::{AppName, Mono};
use std::{cmp::Ordering, mem, ops::Range, sync::Arc};
use wire_codec::{Extent, Place};

/// About how many plain JSON bytes a page has.
const PAGE: usize = 64 << 10;
/// A leaf larger than this is cut.
const LARGEST: usize = PAGE + PAGE / 2;
/// A leaf smaller than this joins a neighbour.
const SMALLEST: usize = PAGE / 4;

/// One step of an edit.
#[derive(Clone, Debug)]
pub(crate) enum Edit<E> {
    /// Adds an entry, or replaces the one at its place.
    Put(E),
    /// Removes the entry at this one's place, if there is one.
    Remove(E),
}

impl<E: Entry> Edit<E> {
    const fn entry(&self) -> &E {
        match self {
            Self::Put(entry) | Self::Remove(entry) => entry,
        }
    }
}

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
        let piece = leaf.pieces().iter().find(|piece| piece.app() == Some(probe.app()))?;
        let at = piece.entries().binary_search_by(|entry| entry.compare(probe)).ok()?;
        piece.entries().get(at)
    }

    /// Applies edits in their order: of several at one place the last counts. What is put has lease times as of `now`.
    pub(crate) fn edit(&mut self, mut edits: Vec<Edit<E>>, now: Mono) {
        edits.sort_by(|left, right| left.entry().compare(right.entry()));
        let mut edits = edits.into_iter().peekable();
        while let Some(edit) = edits.peek() {
            let at = self.leaf_of(edit.entry());
            let here =
                |edit: &Edit<E>| self.leaves.get(at + 1).is_none_or(|next| !self.is_beyond(at, next, edit.entry()));
            let mut mine = Vec::new();
            while let Some(edit) = edits.next_if(here) {
                mine.push(edit);
            }
            let old = self.leaves.get(at).map_or(&[][..], |leaf| leaf.pieces());
            let pieces = merge(old, mine);
            let replaced = at..(at + 1).min(self.leaves.len());
            self.replace(replaced, pieces, now);
        }
    }

    /// The leaf in whose range an entry lies.
    fn leaf_of(&self, entry: &E) -> usize {
        let after = self
            .leaves
            .partition_point(|leaf| leaf.first().is_some_and(|first| first.compare(entry) != Ordering::Greater));
        let at = after.saturating_sub(1);
        let next = self.leaves.get(at + 1).is_some_and(|next| self.is_beyond(at, next, entry));
        if next { at + 1 } else { at }
    }

    /// Whether an entry that is not before leaf `at` lies in the leaf after it: a new first entry of an application goes where the others are.
    fn is_beyond(&self, at: usize, next: &Leaf<E>, entry: &E) -> bool {
        let joins_next = next.first_app() == Some(entry.app())
            && self.leaves.get(at).and_then(|leaf| leaf.last_app()) != Some(entry.app());
        joins_next || next.first().is_some_and(|first| first.compare(entry) != Ordering::Greater)
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

/// The pieces after edits, both in order; applications without an edit keep their piece.
fn merge<E: Entry>(old: &[Arc<Piece<E>>], edits: Vec<Edit<E>>) -> Vec<Arc<Piece<E>>> {
    let mut merged = Vec::with_capacity(old.len() + 1);
    let mut old = old.iter().peekable();
    let mut edits = edits.into_iter().peekable();
    while let Some(edit) = edits.peek() {
        let app = edit.entry().app().clone();
        while let Some(piece) = old.next_if(|piece| piece.app().is_some_and(|name| *name < app)) {
            merged.push(Arc::clone(piece));
        }
        let piece = old.next_if(|piece| piece.app() == Some(&app));
        let held = piece.map(|piece| piece.entries()).unwrap_or_default();
        let mut mine = Vec::new();
        while let Some(edit) = edits.next_if(|edit| *edit.entry().app() == app) {
            mine.push(edit);
        }
        let entries = if mine.len() > 8 { merge_many(held, mine) } else { merge_few(held, mine) };
        if !entries.is_empty() {
            merged.push(Piece::new(entries, Extent::Whole));
        }
    }
    merged.extend(old.cloned());
    merged
}

fn merge_few<E: Entry>(held: &[E], edits: Vec<Edit<E>>) -> Vec<E> {
    // Room for all from the start: growing by one more would copy everything again.
    let mut entries = Vec::with_capacity(held.len() + edits.len());
    entries.extend_from_slice(held);
    for edit in edits {
        match (entries.binary_search_by(|entry| entry.compare(edit.entry())), edit) {
            (Ok(at), Edit::Put(entry)) => {
                if let Some(slot) = entries.get_mut(at) {
                    *slot = entry;
                }
            }
            (Err(at), Edit::Put(entry)) => entries.insert(at, entry),
            (Ok(at), Edit::Remove(_)) => {
                entries.remove(at);
            }
            (Err(_), Edit::Remove(_)) => {}
        }
    }
    entries
}

fn merge_many<E: Entry>(held: &[E], edits: Vec<Edit<E>>) -> Vec<E> {
    let mut merged: Vec<E> = Vec::with_capacity(held.len() + edits.len());
    let mut old = held.iter().peekable();
    let mut edits = edits.into_iter().peekable();
    while let Some(edit) = edits.next() {
        if edits.peek().is_some_and(|next| next.entry().compare(edit.entry()) == Ordering::Equal) {
            continue;
        }
        while let Some(entry) = old.next_if(|entry| entry.compare(edit.entry()) == Ordering::Less) {
            merged.push(entry.clone());
        }
        old.next_if(|entry| entry.compare(edit.entry()) == Ordering::Equal);
        if let Edit::Put(entry) = edit {
            merged.push(entry);
        }
    }
    merged.extend(old.cloned());
    merged
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
