//! What brings one payload of one follower level: its messages, with the pages that differ from what was sent. Called by `Follower::carry_out`.

use super::Sent;
use crate::{
    keys::PayloadKey,
    metrics::Metrics,
    view::{Difference, PageList, View},
};
use registry_model::Position;
use registry_proto::cache::{Page as PageMessage, PageSplice, PayloadEnds, PayloadUpdate, follow_response::Step};
use wire_codec::Page;

/// A message carries about this many compressed bytes at the most, plus one page.
const MESSAGE_BYTES: usize = 512 << 10;

/// The parts of one payload's update; none if the follower is level already.
pub(super) fn update(
    key: &PayloadKey,
    view: &View,
    pages: &PageList,
    sent: Option<&Sent>,
    differences: Vec<Difference>,
    metrics: &Metrics,
) -> Vec<Step> {
    if sent.is_some_and(|sent| differences.is_empty() && (sent.counts == view.counts || !key.scope.counts_all())) {
        return Vec::new();
    }
    let mut parts = Parts::new(key, view, sent.map(|sent| sent.position));
    for difference in differences {
        let mut splice = PageSplice {
            at: place(difference.removed.start),
            removed: place(difference.removed.len()),
            pages: Vec::new(),
        };
        for page in difference.inserted.filter_map(|at| pages.page(at, key.form)) {
            metrics.pages_sent.inc();
            parts.bytes += page.deflated().len();
            splice.pages.push(page_message(&page));
            if parts.bytes >= MESSAGE_BYTES {
                // What is left of this splice inserts behind what the first part has put in place.
                let rest = PageSplice { at: splice.at.saturating_add(splice.removed), removed: 0, pages: Vec::new() };
                parts.splices.push(std::mem::replace(&mut splice, rest));
                parts.end_part();
            }
        }
        if splice.removed > 0 || !splice.pages.is_empty() {
            parts.splices.push(splice);
        }
    }
    let (head, tail) = view.ends(key);
    parts.finish(head, tail, view.regional_ends(key))
}

/// An update in the making.
struct Parts {
    template: PayloadUpdate,
    splices: Vec<PageSplice>,
    bytes: usize,
    made: Vec<Step>,
}

impl Parts {
    fn new(key: &PayloadKey, view: &View, previous: Option<Position>) -> Self {
        let template = PayloadUpdate {
            key: Some(key.into()),
            previous: previous.map(Into::into),
            position: Some(view.level.position.into()),
            ..PayloadUpdate::default()
        };
        Self { template, splices: Vec::new(), bytes: 0, made: Vec::new() }
    }

    fn end_part(&mut self) {
        self.bytes = 0;
        self.made
            .push(Step::Update(PayloadUpdate { splices: std::mem::take(&mut self.splices), ..self.template.clone() }));
    }

    fn finish(mut self, head: Page, tail: Page, regional: Option<(Page, Page)>) -> Vec<Step> {
        let message = |page: &Page| Some(page_message(page));
        let (head, tail) = (message(&head), message(&tail));
        let regional = regional.map(|(head, tail)| PayloadEnds { head: message(&head), tail: message(&tail) });
        self.made.push(Step::Update(PayloadUpdate {
            splices: self.splices,
            head,
            tail,
            regional,
            complete: true,
            ..self.template
        }));
        self.made
    }
}

fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

fn page_message(page: &Page) -> PageMessage {
    PageMessage {
        deflated: page.deflated().clone(),
        crc: page.crc(),
        // A page is about 64 KiB, and at most as large as one instance.
        length: u32::try_from(page.length()).unwrap_or(u32::MAX),
    }
}
