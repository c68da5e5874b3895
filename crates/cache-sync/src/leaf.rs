//! A leaf: the records of one page, with the page's encodings kept beside them. Unchanging once somebody else shares it.
//! Made and edited by `paged_list`; read by `view` and `follower`.

use registry_model::{AppName, InstanceStatus, Mono, Record};
use std::{
    cmp::Ordering,
    mem,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};
use wire_codec::{Extent, Form, Nesting, Page, PerForm, Place, Run};

/// What a paged list holds: a record with its place in the list's order, which is by application first.
pub(crate) trait Entry: Clone + Send + Sync + 'static {
    /// The record.
    fn record(&self) -> &Record;
    /// About how many bytes its JSON document has.
    fn size(&self) -> usize;
    /// Compares the places of two entries of one application.
    fn compare_in_app(&self, other: &Self) -> Ordering;

    /// The application.
    fn app(&self) -> &AppName {
        &self.record().key().app
    }
}

/// An instance that is present: an entry of the lists of the registry and of addresses, ordered by application and id.
#[derive(Clone, Debug)]
pub(crate) struct Present {
    record: Record,
    size: u32,
}

impl Present {
    pub(crate) fn new(record: Record) -> Self {
        let size = u32::try_from(record.instance.approximate_size()).unwrap_or(u32::MAX);
        Self { record, size }
    }

    /// The instance's status.
    pub(crate) fn status(&self) -> InstanceStatus {
        self.record.instance.status
    }
}

impl Entry for Present {
    fn record(&self) -> &Record {
        &self.record
    }

    fn size(&self) -> usize {
        self.size as usize
    }

    fn compare_in_app(&self, other: &Self) -> Ordering {
        self.record.key().id.cmp(&other.record.key().id)
    }
}

/// Pages by form, made on demand; nothing is allocated before the first.
#[derive(Debug, Default)]
struct Encodings(OnceLock<Box<PerForm<OnceLock<Page>>>>);

impl Clone for Encodings {
    /// What is copied is going to be edited, so its pages are not wanted.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Encodings {
    fn slot(&self, form: Form) -> &OnceLock<Page> {
        self.0.get_or_init(Box::default).of(form)
    }
}

/// For how many entries a full piece makes room.
const ROOM: usize = 8;

/// A run of consecutive entries of one application: all of them, or a part where the application is larger than a page.
#[derive(Clone, Debug)]
pub(crate) struct Piece<E> {
    entries: Vec<E>,
    size: usize,
    extent: Extent,
    /// This piece as a page of the application's own document.
    encodings: Encodings,
}

impl<E: Entry> Piece<E> {
    /// A piece of these entries, never empty, all of one application.
    pub(crate) fn new(entries: Vec<E>, extent: Extent) -> Arc<Self> {
        debug_assert!(!entries.is_empty(), "a piece has entries");
        let size = entries.iter().map(Entry::size).sum();
        Arc::new(Self { entries, size, extent, encodings: Encodings::default() })
    }

    /// The entry at the place of `probe`, which is of the same application.
    pub(crate) fn get(&self, probe: &E) -> Option<&E> {
        let at = self.entries.binary_search_by(|entry| entry.compare_in_app(probe)).ok()?;
        self.entries.get(at)
    }

    /// Puts an entry of the same application in its place; the one that was there.
    fn put(&mut self, entry: E) -> Option<E> {
        self.encodings = Encodings::default();
        self.size += entry.size();
        match self.entries.binary_search_by(|held| held.compare_in_app(&entry)) {
            Ok(at) => {
                let held = self.entries.get_mut(at).map(|slot| mem::replace(slot, entry));
                self.size -= held.as_ref().map_or(0, Entry::size);
                held
            }
            Err(at) => {
                if self.entries.len() == self.entries.capacity() {
                    // Doubled, each list would hold room for many entries that never come.
                    self.entries.reserve_exact(ROOM);
                }
                self.entries.insert(at, entry);
                None
            }
        }
    }

    /// Removes the entry at the place of `probe`.
    fn remove(&mut self, probe: &E) -> Option<E> {
        self.encodings = Encodings::default();
        let at = self.entries.binary_search_by(|entry| entry.compare_in_app(probe)).ok()?;
        let held = self.entries.remove(at);
        self.size -= held.size();
        Some(held)
    }

    /// The same entries as another part of the application.
    fn with_extent(self: &Arc<Self>, extent: Extent) -> Arc<Self> {
        if self.extent == extent { Arc::clone(self) } else { Self::new(self.entries.clone(), extent) }
    }

    pub(crate) fn entries(&self) -> &[E] {
        &self.entries
    }

    pub(crate) fn first(&self) -> Option<&E> {
        self.entries.first()
    }

    pub(crate) fn app(&self) -> Option<&AppName> {
        self.first().map(Entry::app)
    }

    pub(crate) const fn size(&self) -> usize {
        self.size
    }

    /// This piece as a page of the application's own document.
    pub(crate) fn page(&self, form: Form) -> Page {
        let place = match self.extent {
            Extent::Whole | Extent::Start => Place::First,
            Extent::Middle | Extent::End => Place::Later,
        };
        self.encodings
            .slot(form)
            .get_or_init(|| Page::deflate(&wire_codec::encode_page(form, Nesting::Application, place, self.run())))
            .clone()
    }

    fn run(&self) -> impl Iterator<Item = Run<'_, impl Iterator<Item = &Record>>> {
        self.app().into_iter().map(|app| Run {
            app,
            extent: self.extent,
            records: self.entries.iter().map(Entry::record),
        })
    }
}

/// The pieces of one page.
#[derive(Debug)]
pub(crate) struct Leaf<E> {
    pieces: Vec<Arc<Piece<E>>>,
    /// The first piece's application: a search looks at it in many leaves, and would otherwise follow three more pointers in each.
    first_app: Option<AppName>,
    place: Place,
    size: usize,
    /// When the lease times of its records were read, the oldest of them: a moment in nanoseconds.
    read_at: AtomicU64,
    /// This leaf as a page of a document of applications.
    encodings: Encodings,
}

impl<E> Clone for Leaf<E> {
    fn clone(&self) -> Self {
        Self {
            pieces: self.pieces.clone(),
            first_app: self.first_app.clone(),
            place: self.place,
            size: self.size,
            read_at: AtomicU64::new(self.read_at.load(Relaxed)),
            encodings: self.encodings.clone(),
        }
    }
}

impl<E: Entry> Leaf<E> {
    /// A leaf of these pieces, never empty, whose lease times were read at `read_at` or later.
    pub(crate) fn new(pieces: Vec<Arc<Piece<E>>>, place: Place, read_at: Mono) -> Arc<Self> {
        debug_assert!(!pieces.is_empty(), "a leaf has pieces");
        let size = pieces.iter().map(|piece| piece.size()).sum();
        let read_at = AtomicU64::new(read_at.as_nanos());
        let first_app = pieces.first().and_then(|piece| piece.app()).cloned();
        Arc::new(Self { pieces, first_app, place, size, read_at, encodings: Encodings::default() })
    }

    /// Which piece has an application's entries, or where it would stand.
    pub(crate) fn piece_of(&self, app: &AppName) -> Result<usize, usize> {
        self.pieces.binary_search_by(|piece| piece.app().cmp(&Some(app)))
    }

    /// Puts an entry into the piece of its application; the one that was there.
    pub(crate) fn put(&mut self, piece: usize, entry: E) -> Option<E> {
        self.edit(piece, |piece| piece.put(entry))
    }

    /// Removes the entry at the place of `probe` from the piece of its application, which may be empty then.
    pub(crate) fn remove(&mut self, piece: usize, probe: &E) -> Option<E> {
        self.edit(piece, |piece| piece.remove(probe))
    }

    /// Puts a piece of an application that is nowhere else where it belongs.
    pub(crate) fn insert(&mut self, at: usize, piece: Arc<Piece<E>>) {
        self.size += piece.size;
        self.pieces.insert(at, piece);
        self.has_other_pieces();
    }

    /// Drops a piece of which nothing is left; others are.
    pub(crate) fn drop_empty(&mut self, at: usize) {
        self.pieces.remove(at);
        self.has_other_pieces();
    }

    fn has_other_pieces(&mut self) {
        self.encodings = Encodings::default();
        self.first_app = self.pieces.first().and_then(|piece| piece.app()).cloned();
    }

    /// Whether its application goes on in another leaf; it has only this one then.
    pub(crate) fn is_part(&self) -> bool {
        self.pieces.first().is_some_and(|piece| piece.extent != Extent::Whole)
    }

    fn edit(&mut self, piece: usize, edit: impl FnOnce(&mut Piece<E>) -> Option<E>) -> Option<E> {
        self.encodings = Encodings::default();
        let piece = Arc::make_mut(self.pieces.get_mut(piece)?);
        self.size -= piece.size;
        let held = edit(piece);
        self.size += piece.size;
        held
    }

    /// The moment since which no lease time of this leaf has been read anew.
    pub(crate) fn read_at(&self) -> Mono {
        Mono::from_nanos(self.read_at.load(Relaxed))
    }

    /// All lease times of this leaf are being read anew. Leaves that an edit makes of it inherit this.
    pub(crate) fn is_read(&self, now: Mono) {
        self.read_at.store(now.as_nanos(), Relaxed);
    }

    /// The same leaf where it has moved: its neighbours decide whether it is the first page, and whether its first and last
    /// applications go on beyond it.
    pub(crate) fn moved(
        self: &Arc<Self>,
        place: Place,
        before: Option<&AppName>,
        after: Option<&AppName>,
    ) -> Arc<Self> {
        let last = self.pieces.len().saturating_sub(1);
        let pieces: Vec<_> = self
            .pieces
            .iter()
            .enumerate()
            .map(|(at, piece)| {
                let continues = at == 0 && before.is_some() && before == piece.app();
                let goes_on = at == last && after.is_some() && after == piece.app();
                piece.with_extent(match (continues, goes_on) {
                    (false, false) => Extent::Whole,
                    (false, true) => Extent::Start,
                    (true, true) => Extent::Middle,
                    (true, false) => Extent::End,
                })
            })
            .collect();
        let same = self.place == place && self.pieces.iter().zip(&pieces).all(|(old, new)| Arc::ptr_eq(old, new));
        if same { Arc::clone(self) } else { Self::new(pieces, place, self.read_at()) }
    }

    pub(crate) fn pieces(&self) -> &[Arc<Piece<E>>] {
        &self.pieces
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = &E> {
        self.pieces.iter().flat_map(|piece| piece.entries())
    }

    /// Whether this leaf begins behind the place of an entry.
    pub(crate) fn is_behind(&self, entry: &E) -> bool {
        match self.first_app().cmp(&Some(entry.app())) {
            Ordering::Less => false,
            Ordering::Greater => true,
            Ordering::Equal => {
                let first = self.pieces.first().and_then(|piece| piece.first());
                first.is_some_and(|first| first.compare_in_app(entry) == Ordering::Greater)
            }
        }
    }

    pub(crate) const fn first_app(&self) -> Option<&AppName> {
        self.first_app.as_ref()
    }

    pub(crate) fn last_app(&self) -> Option<&AppName> {
        self.pieces.last().and_then(|piece| piece.app())
    }

    pub(crate) const fn size(&self) -> usize {
        self.size
    }

    /// This leaf as a page of a document of applications: of all, of those with an address, of the changed ones.
    pub(crate) fn page(&self, form: Form) -> Page {
        let runs = || self.pieces.iter().flat_map(|piece| piece.run());
        self.encodings
            .slot(form)
            .get_or_init(|| Page::deflate(&wire_codec::encode_page(form, Nesting::Registry, self.place, runs())))
            .clone()
    }
}
