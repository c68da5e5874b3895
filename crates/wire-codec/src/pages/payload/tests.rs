//! Payloads against a plain list of pages, and what ordinary gzip readers make of them.

use super::*;
use crate::pages::run::{MAX, TARGET};
use flate2::read::GzDecoder;
use proptest::prelude::*;
use std::io::Read;

/// A page whose plain text is `length` bytes that do not compress, different for each seed.
fn page(seed: u64, length: usize) -> Page {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    };
    Page::deflate(&(0..length).map(|_| next()).collect::<Vec<u8>>())
}

fn head(number: u64) -> Page {
    Page::deflate(format!("head {number}: ").as_bytes())
}

fn tail() -> Page {
    Page::deflate(b"]}}")
}

fn plain(payload: &Payload) -> Vec<u8> {
    payload.pages().flat_map(|page| page.inflate().expect("our own page")).collect()
}

fn gzip(payload: &Payload) -> Vec<u8> {
    payload.gzip_frames().collect::<Vec<_>>().concat()
}

/// What holds for every payload, whatever it went through.
fn check(payload: &Payload, head: &Page, model: &[Page]) {
    assert_eq!(payload.page_count(), model.len());
    let all: Vec<&Page> = iter::once(head).chain(model).collect();
    assert!(payload.pages().take(all.len()).eq(all.iter().copied()), "the pages of the model, in its order");
    assert_eq!(payload.plain_length(), payload.pages().map(Page::length).sum::<u64>());
    let sizes: Vec<u64> = payload.runs.iter().map(|run| run.sum().deflated).collect();
    let largest_page = model.iter().map(|page| page.deflated().len() as u64).max().unwrap_or_default();
    assert!(
        sizes.iter().all(|size| *size > 0 && *size <= MAX.max(TARGET + largest_page)),
        "no run too large: {sizes:?}"
    );
    assert!(sizes.windows(2).all(|pair| pair[0] + pair[1] > TARGET), "no neighbours too small: {sizes:?}");
}

/// What an ordinary reader of gzip makes of the body.
fn check_gzip(payload: &Payload) {
    let body = gzip(payload);
    assert_eq!(body.len() as u64, payload.gzip_length());
    let mut reader = GzDecoder::new(body.as_slice());
    let mut text = Vec::new();
    reader.read_to_end(&mut text).expect("an ordinary gzip member");
    assert!(reader.into_inner().is_empty(), "one member and nothing after it");
    assert_eq!(text.len() as u64, payload.plain_length());
    assert!(text == plain(payload), "the pages in order");
}

#[test]
fn an_empty_payload_is_head_and_tail() {
    let payload = Payload::new(head(1), Vec::new(), tail());
    check(&payload, &head(1), &[]);
    check_gzip(&payload);
    assert_eq!(plain(&payload), b"head 1: ]}}");
    assert_eq!(payload.gzip_frames().count(), 2);
    let grown = payload.splice(head(2), &[PageSplice { at: 0, removed: 0, inserted: vec![page(1, 10)] }], tail());
    check(&grown.expect("fits"), &head(2), &[page(1, 10)]);
}

#[test]
fn a_new_payload_is_grouped_into_runs() {
    for (count, length) in [(1, 10), (400, 3000), (5, 200_000), (3000, 1)] {
        let pages: Vec<Page> = (0..count).map(|n| page(n, length)).collect();
        let payload = Payload::new(head(1), pages.clone(), tail());
        check(&payload, &head(1), &pages);
        check_gzip(&payload);
    }
}

#[test]
fn pages_and_frames_are_found_by_position() {
    let pages: Vec<Page> = (0..100).map(|n| page(n, 2000)).collect();
    let payload = Payload::new(head(1), pages, tail());
    for (index, page) in payload.pages().enumerate() {
        assert_eq!(payload.page(index), Some(page), "{index}");
    }
    assert_eq!((payload.page(102), payload.page(usize::MAX)), (None, None));
    let frames = payload.gzip_frames().count();
    assert_eq!(frames, payload.runs.len() + 2);
    assert_eq!((payload.gzip_frame(frames), payload.gzip_frame(usize::MAX)), (None, None));
}

#[test]
fn a_splice_shares_the_runs_it_does_not_touch() {
    let pages: Vec<Page> = (0..300).map(|n| page(n, 3000)).collect();
    let before = Payload::new(head(1), pages, tail());
    let joined: Vec<Bytes> = before.gzip_frames().collect();
    let change = PageSplice { at: 150, removed: 1, inserted: vec![page(1000, 3100)] };
    let after = before.splice(head(2), &[change], tail()).expect("fits");
    let touched = after.gzip_frames().zip(&joined).filter(|(new, old)| new.as_ptr() != old.as_ptr()).count();
    assert_eq!(touched, 3, "head, one run, tail of {}", joined.len());
    assert_eq!(joined.len(), after.gzip_frames().count());
    let again: Vec<*const u8> = after.gzip_frames().map(|frame| frame.as_ptr()).collect();
    assert!(after.gzip_frames().map(|frame| frame.as_ptr()).eq(again), "joined once for all readers");
}

#[test]
fn splices_that_do_not_fit_are_refused() {
    let payload = Payload::new(head(1), (0..10).map(|n| page(n, 10)).collect(), tail());
    let splice = |at, removed| PageSplice { at, removed, inserted: Vec::new() };
    let refused =
        |splices: &[PageSplice]| payload.splice(head(2), splices, tail()).map(|_| ()).expect_err("does not fit");
    assert_eq!(refused(&[splice(9, 2)]), BadSplice::OutOfRange { end: 11, page_count: 10 });
    assert_eq!(refused(&[splice(11, 0)]), BadSplice::OutOfRange { end: 11, page_count: 10 });
    assert_eq!(refused(&[splice(1, usize::MAX)]), BadSplice::OutOfRange { end: usize::MAX, page_count: 10 });
    assert_eq!(refused(&[splice(3, 2), splice(4, 0)]), BadSplice::OutOfOrder { at: 4, previous_end: 5 });
    assert_eq!(refused(&[splice(3, 0), splice(2, 0)]), BadSplice::OutOfOrder { at: 2, previous_end: 3 });
    assert!(payload.splice(head(2), &[splice(0, 0), splice(0, 4), splice(4, 6), splice(10, 0)], tail()).is_ok());
}

/// A splice as numbers: distance from the one before, pages removed, kinds of the pages inserted.
type Step = (usize, usize, Vec<usize>);

fn rounds() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let few = prop::collection::vec(0..KINDS.len(), 0..4);
    let many = prop::collection::vec(0..KINDS.len(), 0..60);
    let small = (0..200_usize, 0..4_usize, few);
    let large = (0..40_usize, 0..80_usize, many);
    prop::collection::vec(prop::collection::vec(prop_oneof![8 => small, 1 => large], 1..4), 1..400)
}

/// Plain lengths of the pages that take part.
const KINDS: [usize; 10] = [1, 30, 300, 2000, 3000, 5000, 9000, 20_000, 70_000, 200_000];

proptest! {
    #![proptest_config(testkit::cases(24))]
    #[test]
    fn after_any_splices_a_payload_is_what_a_plain_list_is(rounds in rounds(), start in 0..300_usize) {
        let kinds: Vec<Page> = KINDS.iter().zip(0..).map(|(length, seed)| page(seed, *length)).collect();
        let mut model: Vec<Page> = (0..start).map(|n| kinds[n * 7 % 6].clone()).collect();
        let mut payload = Payload::new(head(0), model.clone(), tail());
        for (number, steps) in (1..).zip(&rounds) {
            let mut splices = Vec::new();
            let mut reached = 0;
            for (distance, removed, inserted) in steps {
                let at = (reached + distance).min(model.len());
                let removed = (*removed).min(model.len() - at);
                let inserted = inserted.iter().map(|kind| kinds[*kind].clone()).collect();
                splices.push(PageSplice { at, removed, inserted });
                reached = at + removed;
            }
            for splice in splices.iter().rev() {
                model.splice(splice.at..splice.at + splice.removed, splice.inserted.iter().cloned());
            }
            payload = payload.splice(head(number), &splices, tail()).expect("fits");
            check(&payload, &head(number), &model);
        }
        check_gzip(&payload);
    }
}
