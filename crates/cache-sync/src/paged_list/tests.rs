//! The list against a sorted map, and its pages against the whole document.

use super::*;
use proptest::prelude::*;
use registry_model::{InstanceKey, Record, StatusCounts};
use std::{cmp::Ordering, collections::BTreeMap};
use testkit::instances::{instance, key, record};
use wire_codec::{Document, Form, Nesting, Run, encode_head, encode_page, encode_tail};

#[derive(Clone, Debug)]
struct Plain(Record, usize);

impl Entry for Plain {
    fn record(&self) -> &Record {
        &self.0
    }
    fn size(&self) -> usize {
        self.1
    }
    fn compare_in_app(&self, other: &Self) -> Ordering {
        self.0.key().id.cmp(&other.0.key().id)
    }
}

fn entry(app: &str, id: &str, dirty: i64, size: usize) -> Plain {
    let mut instance = instance(app, id);
    instance.last_dirty.0 = dirty;
    Plain(Record { instance: Arc::new(instance), ..record(app, id) }, size)
}

#[derive(Clone, Debug)]
enum Edit {
    Put(Plain),
    Remove(Plain),
}

type Oracle = BTreeMap<InstanceKey, Plain>;

/// What must hold of a list after every edit.
fn check(list: &PagedList<Plain>, oracle: &Oracle) {
    let held: Vec<_> = list.entries().map(|entry| (entry.0.key().clone(), entry.0.instance.last_dirty)).collect();
    let expected: Vec<_> = oracle.iter().map(|(key, entry)| (key.clone(), entry.0.instance.last_dirty)).collect();
    assert_eq!(held, expected);
    for entry in oracle.values() {
        assert_eq!(list.get(entry).unwrap().0.instance.last_dirty, entry.0.instance.last_dirty);
    }
    for leaf in list.leaves() {
        let apps = leaf.pieces().len();
        let largest = leaf.entries().map(Entry::size).max().unwrap();
        assert!(leaf.size() <= LARGEST + largest, "a leaf of {} bytes", leaf.size());
        if apps > 1 {
            let whole = |app: &AppName| {
                list.leaves().iter().filter(|leaf| leaf.pieces().iter().any(|piece| piece.app() == Some(app))).count()
                    == 1
            };
            assert!(
                leaf.pieces().iter().all(|piece| whole(piece.app().unwrap())),
                "a part of an application beside another one"
            );
        }
    }
    let total: usize = oracle.values().map(Entry::size).sum();
    assert!(list.leaves().len() <= 3 + 4 * total / SMALLEST, "{} leaves for {total} bytes", list.leaves().len());
}

/// The pages, joined, are the document that one page of everything would be.
fn check_document(list: &PagedList<Plain>, form: Form) {
    let document = Document::Registry { version: 1, hash: StatusCounts::default() };
    let mut paged = encode_head(form, &document);
    for leaf in list.leaves() {
        paged.extend(leaf.page(form).inflate().unwrap());
    }
    paged.extend(encode_tail(form, &document));
    let mut apps: BTreeMap<AppName, Vec<Record>> = BTreeMap::new();
    for entry in list.entries() {
        apps.entry(entry.app().clone()).or_default().push(entry.0.clone());
    }
    let runs = apps.iter().map(|(app, records)| Run { app, extent: Extent::Whole, records: records.iter() });
    let whole = [
        encode_head(form, &document),
        encode_page(form, Nesting::Registry, Place::First, runs),
        encode_tail(form, &document),
    ]
    .concat();
    assert_eq!(String::from_utf8(paged).unwrap(), String::from_utf8(whole).unwrap());
}

fn apply(list: &mut PagedList<Plain>, oracle: &mut Oracle, edits: Vec<Edit>) {
    let now = Mono::from_nanos(1);
    for edit in edits {
        let (before, expected) = match edit {
            Edit::Put(entry) => (list.put(entry.clone(), now), oracle.insert(entry.0.key().clone(), entry)),
            Edit::Remove(entry) => (list.remove(&entry, now), oracle.remove(entry.0.key())),
        };
        let stamp = |entry: Option<Plain>| entry.map(|entry| entry.0.instance.last_dirty);
        assert_eq!(stamp(before), stamp(expected));
    }
}

proptest! {
    #![proptest_config(testkit::cases(64))]

    #[test]
    fn any_edits_leave_what_a_sorted_map_holds(
        batches in prop::collection::vec(prop::collection::vec((0u32..8, 0u32..60, any::<bool>(), 200usize..9000), 1..60), 1..20)
    ) {
        let (mut list, mut oracle) = (PagedList::default(), Oracle::new());
        let mut stamp = 0;
        for batch in batches {
            let edits = batch.into_iter().map(|(app, id, put, size)| {
                stamp += 1;
                let entry = entry(&format!("APP-{app}"), &format!("i{id:03}"), stamp, size);
                if put { Edit::Put(entry) } else { Edit::Remove(entry) }
            });
            let (shared, held) = (list.clone(), oracle.clone());
            apply(&mut list, &mut oracle, edits.collect());
            check(&list, &oracle);
            // Whoever shares the leaves sees nothing of it.
            check(&shared, &held);
        }
        check_document(&list, Form::Json);
        check_document(&list, Form::Xml);
    }
}

#[test]
fn what_nobody_shares_is_edited_in_place_and_its_pages_are_made_anew() {
    let (mut list, mut oracle) = (PagedList::default(), Oracle::new());
    let all = (0..100).map(|n| Edit::Put(entry("APP", &format!("i{n:04}"), 1, 1000)));
    apply(&mut list, &mut oracle, all.collect());
    let places = |list: &PagedList<Plain>| list.leaves().iter().map(Arc::as_ptr).collect::<Vec<_>>();
    let before = places(&list);
    check_document(&list, Form::Json);
    apply(
        &mut list,
        &mut oracle,
        vec![Edit::Put(entry("APP", "i0050", 2, 1000)), Edit::Remove(entry("APP", "i0007", 1, 0))],
    );
    assert_eq!(places(&list), before);
    check(&list, &oracle);
    check_document(&list, Form::Json);
}

#[test]
fn an_application_that_comes_and_goes_leaves_the_leaf_where_it_is() {
    let (mut list, mut oracle) = (PagedList::default(), Oracle::new());
    let all = (1..50).map(|n| Edit::Put(entry(&format!("APP-{n:02}"), "i", 1, 1000)));
    apply(&mut list, &mut oracle, all.collect());
    let leaf = |list: &PagedList<Plain>| list.leaves().iter().map(Arc::as_ptr).collect::<Vec<_>>();
    let before = leaf(&list);
    for app in ["APP-00", "APP-25X", "APP-99"] {
        for edit in [Edit::Put, Edit::Remove] {
            check_document(&list, Form::Json);
            apply(&mut list, &mut oracle, vec![edit(entry(app, "i", 1, 1000))]);
            assert_eq!(leaf(&list), before);
            check(&list, &oracle);
            check_document(&list, Form::Json);
        }
    }
}

#[test]
fn pages_whose_instances_shrink_join() {
    let (mut list, mut oracle) = (PagedList::default(), Oracle::new());
    let all = |stamp, size| {
        (0..1000).map(move |n| Edit::Put(entry(&format!("APP-{:03}", n / 10), &format!("i{n:04}"), stamp, size)))
    };
    apply(&mut list, &mut oracle, all(1, 5000).collect());
    apply(&mut list, &mut oracle, all(2, 100).collect());
    check(&list, &oracle);
    check_document(&list, Form::Json);
}

#[test]
fn one_edit_makes_one_leaf_anew() {
    let (mut list, mut oracle) = (PagedList::default(), Oracle::new());
    let all = (0..2000).map(|n| Edit::Put(entry(&format!("APP-{:03}", n / 10), &format!("i{n:04}"), 1, 1000)));
    apply(&mut list, &mut oracle, all.collect());
    check(&list, &oracle);
    let before: Vec<_> = list.leaves().to_vec();
    assert!((25..40).contains(&before.len()), "{} leaves", before.len());
    apply(&mut list, &mut oracle, vec![Edit::Put(entry("APP-100", "i1005", 2, 1000))]);
    let kept = list.leaves().iter().filter(|leaf| before.iter().any(|old| Arc::ptr_eq(old, leaf))).count();
    assert_eq!(kept, before.len() - 1);
}

#[test]
fn an_application_that_shrinks_gives_its_pages_back() {
    let (mut list, mut oracle) = (PagedList::default(), Oracle::new());
    let big = |range: Range<u32>| range.map(|n| entry("BIG", &format!("i{n:04}"), 1, 1000));
    let around = ["A", "Z"].map(|app| Edit::Put(entry(app, "i", 1, 1000)));
    apply(&mut list, &mut oracle, big(0..1000).map(Edit::Put).chain(around).collect());
    check(&list, &oracle);
    check_document(&list, Form::Json);
    assert!(list.leaves().len() > 10);
    for n in 0..999 {
        apply(&mut list, &mut oracle, big(n..n + 1).map(Edit::Remove).collect());
    }
    check(&list, &oracle);
    check_document(&list, Form::Json);
    assert!(list.leaves().len() <= 3);
    assert!(list.get(&Plain(record("BIG", "i0000"), 0)).is_none());
    assert_eq!(key("BIG", "i0999"), *list.get(&Plain(record("BIG", "i0999"), 0)).unwrap().0.key());
}
