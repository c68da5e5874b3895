use super::*;
use crate::tests::{
    Bench,
    fakes::{all, app, at, changed, gone, part, update, whole},
};
use registry_proto::cache::{PageSplice, follow_response::Step};
use testkit::eventually;

impl Bench {
    async fn reads(&self, path: &str, text: &str) {
        testkit::eventually_async(&format!("{path} reads {text}"), async || self.get(path).await.text() == text).await;
    }

    /// Breaks the stream and waits for the next one.
    async fn follows_again(&self) {
        let before = self.cache.follower();
        self.cache.breaks();
        eventually("the facade has noticed", || self.facade.tier.session.load().is_none()).await;
        // Past the back-off; a loop that has not yet gone to sleep sleeps next time round.
        eventually("the facade follows again", || {
            self.clock.advance(FIRST_DELAY);
            self.cache.follower().is_some_and(|follower| Some(follower) != before)
        })
        .await;
    }

    /// Waits until the stream's messages have been applied, by one more.
    async fn has_applied_all(&self, revision: u64, complete: bool) {
        let before = self.facade.tier.session.load_full().map_or(0, |session| session.seen());
        self.cache.watermark(1, revision, complete).await;
        eventually("the watermark is applied", || {
            self.facade.tier.session.load_full().is_some_and(|session| session.seen() > before)
        })
        .await;
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn pushed_pages_replace_those_held() {
    let bench = Bench::following(&[]).await;
    bench.cache.holds(&all(), at(1, 1), &["a", "b", "c"]);
    bench.reads("apps", "<abc>").await;
    bench.cache.says(changed(&all(), at(1, 1), at(1, 2), 1, "B")).await;
    bench.cache.says(part(&all(), Some(at(1, 2)), at(1, 3), 1, "-")).await;
    let last = PageSplice { at: 2, removed: 1, pages: vec![] };
    bench.cache.says(Step::Update(update(&all(), Some(at(1, 2)), at(1, 3), vec![last]))).await;
    bench.reads("apps", "<a-B>").await;
    assert_eq!(bench.cache.subscribed().len(), 1);
}

#[tokio::test]
async fn a_payload_that_ends_is_gone() {
    let bench = Bench::following(&[]).await;
    bench.cache.holds(&app("A"), at(1, 1), &["a"]);
    bench.reads("apps/A", "<a>").await;
    bench.cache.loses(&app("A"));
    bench.cache.says(gone(&app("A"))).await;
    bench.has_applied_all(2, true).await;
    assert_eq!(bench.get("apps/A").await.status.as_u16(), 404);
    assert_eq!(bench.facade.tier.pages.len(), 0);
}

#[tokio::test]
async fn an_update_that_does_not_fit_is_asked_for_whole_once() {
    let bench = Bench::following(&[]).await;
    bench.cache.holds(&all(), at(1, 1), &["a"]);
    bench.reads("apps", "<a>").await;
    bench.cache.holds(&all(), at(1, 9), &["whole"]);
    bench.cache.says(changed(&all(), at(1, 7), at(1, 8), 0, "lost")).await;
    bench.cache.says(changed(&all(), at(1, 8), at(1, 9), 0, "lost")).await;
    bench.reads("apps", "<whole>").await;
    assert_eq!(bench.cache.subscribed(), [vec![(all(), None)], vec![(all(), None)]]);
    assert_eq!(
        bench.cache.last_seen_sequence(),
        3,
        "after the update that does not fit, so that it is not taken for late"
    );
    assert_eq!(bench.facade.metrics.resubscriptions.get(), 1);

    // So is one whose places do not exist.
    bench.cache.holds(&all(), at(1, 11), &["again"]);
    bench.cache.says(changed(&all(), at(1, 9), at(1, 10), 5, "nowhere")).await;
    bench.reads("apps", "<again>").await;
    assert_eq!(bench.facade.metrics.resubscriptions.get(), 2);
}

#[tokio::test]
async fn a_broken_stream_costs_no_page() {
    let bench = Bench::following(&[]).await;
    bench.cache.holds(&all(), at(1, 1), &["kept"]);
    bench.reads("apps", "<kept>").await;
    bench.cache.breaks();
    eventually("the facade has noticed", || bench.facade.tier.session.load().is_none()).await;
    assert_eq!(bench.get("apps").await.text(), "<kept>");

    bench.cache.holds(&all(), at(1, 5), &["new"]);
    bench.follows_again().await;
    eventually("what is held is told", || bench.cache.subscribed().len() == 2).await;
    assert_eq!(bench.cache.subscribed().last().unwrap(), &[(all(), Some(at(1, 1)))]);
    bench.cache.watermark(1, 5, true).await;
    bench.reads("apps", "<new>").await;
}

#[tokio::test]
async fn a_failed_subscription_is_repeated() {
    let bench = Bench::following(&[]).await;
    bench.cache.holds(&all(), at(1, 1), &["old"]);
    bench.reads("apps", "<old>").await;
    bench.cache.refuses(true);
    bench.cache.holds(&all(), at(1, 5), &["new"]);
    bench.follows_again().await;
    bench.has_applied_all(5, true).await;
    bench.cache.refuses(false);
    eventually("it is told again what is held", || {
        bench.clock.advance(RETRY);
        bench.cache.subscribed().len() > 1
    })
    .await;
    bench.reads("apps", "<new>").await;
}

#[tokio::test]
async fn an_incomplete_view_replaces_and_drops_nothing_that_was_held_before() {
    let bench = Bench::following(&[]).await;
    bench.cache.holds(&all(), at(1, 9), &["full"]);
    bench.cache.holds(&app("A"), at(1, 9), &["a"]);
    bench.cache.holds(&app("B"), at(1, 9), &["b"]);
    bench.reads("apps", "<full>").await;
    bench.reads("apps/A", "<a>").await;
    bench.reads("apps/B", "<b>").await;

    // Tier 2 starts over from a cold registry, which knows only B and, not held here, C.
    bench.cache.holds(&all(), at(2, 0), &["cold"]);
    bench.cache.holds(&app("B"), at(2, 0), &["cold b"]);
    bench.cache.holds(&app("C"), at(2, 0), &["c"]);
    bench.cache.loses(&app("A"));
    bench.follows_again().await;
    bench.cache.watermark(2, 0, false).await;
    eventually("what is held is told", || bench.cache.subscribed().len() == 4).await;
    bench.cache.says(changed(&all(), at(2, 0), at(2, 1), 0, "warmer")).await;
    bench.cache.says(gone(&app("B"))).await;
    bench.has_applied_all(1, false).await;
    for (path, text) in [("apps", "<full>"), ("apps/A", "<a>"), ("apps/B", "<b>")] {
        assert_eq!(bench.get(path).await.text(), text, "{path}");
    }
    // What is not held would be nearly empty, or wrongly not there at all.
    for path in ["apps/C", "apps/D"] {
        let answer = bench.get(path).await;
        assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (503, Some("1")), "{path}");
    }

    bench.cache.loses(&app("B"));
    bench.cache.watermark(2, 2, true).await;
    bench.reads("apps", "<warmer>").await;
    for path in ["apps/A", "apps/B"] {
        assert_eq!(bench.get(path).await.status.as_u16(), 404, "{path}");
    }
    assert_eq!(bench.get("apps/C").await.text(), "<c>");
    assert_eq!(bench.get("apps/D").await.status.as_u16(), 404);
    assert_eq!(bench.facade.metrics.resubscriptions.get(), 0);
}

#[tokio::test]
async fn a_payload_on_its_way_when_the_view_turns_incomplete_is_shown_when_it_is_complete_again() {
    let bench = Bench::following(&[]).await;
    bench.cache.is_silent_on(&app("A"));
    let reader = bench.get_later("apps/A");
    eventually("the payload is asked for", || !bench.cache.subscribed().is_empty()).await;
    bench.cache.watermark(2, 0, false).await;
    bench.cache.says(whole(&app("A"), at(2, 1), &["cold"])).await;
    assert_eq!(reader.await.unwrap().status.as_u16(), 503);
    bench.cache.says(changed(&app("A"), at(2, 1), at(2, 2), 0, "warm")).await;
    bench.cache.watermark(2, 2, true).await;
    bench.reads("apps/A", "<warm>").await;
    assert_eq!(bench.facade.metrics.resubscriptions.get(), 0);
}

#[tokio::test]
async fn a_facade_that_has_never_seen_a_complete_view_takes_what_comes() {
    let bench = Bench::new(&[]);
    bench.cache.holds(&all(), at(1, 0), &["few"]);
    bench.cache.watermark(1, 0, false).await;
    bench.reads("apps", "<few>").await;
    assert_eq!(bench.get("apps/A").await.status.as_u16(), 404);
}

#[tokio::test]
async fn a_watermark_counts_once_everything_held_has_come_again() {
    let bench = Bench::following(&[]).await;
    bench.cache.holds(&all(), at(1, 5), &["five"]);
    bench.cache.holds(&app("A"), at(1, 5), &["a"]);
    bench.reads("apps", "<five>").await;
    bench.reads("apps/A", "<a>").await;
    bench.cache.breaks();
    bench.acknowledges(at(1, 10)).await;
    bench.cache.refuses(true);
    bench.cache.holds(&all(), at(1, 10), &["ten"]);
    bench.cache.loses(&app("A"));
    bench.follows_again().await;
    bench.has_applied_all(10, true).await;

    let asleep = bench.clock.sleepers();
    let reader = bench.get_later("apps");
    eventually("the read waits", || bench.clock.sleepers() > asleep).await;
    bench.cache.refuses(false);
    eventually("it is told again what is held", || {
        bench.clock.advance(RETRY);
        bench.cache.subscribed().len() > 2
    })
    .await;
    // It has waited for as long as reads wait.
    reader.await.unwrap();
    bench.reads("apps", "<ten>").await;
    // The last thing held was not sent again, for it does not exist any more; no watermark says so a second time.
    eventually("the watermark counts", || bench.facade.metrics.watermark_lag.get() == 0).await;
}

#[tokio::test]
async fn a_watermark_does_not_count_while_a_payload_is_asked_for_anew() {
    let bench = Bench::following(&[]).await;
    bench.cache.holds(&all(), at(1, 1), &["one"]);
    bench.reads("apps", "<one>").await;
    bench.acknowledges(at(1, 9)).await;
    bench.cache.refuses(true);
    bench.cache.says(changed(&all(), at(1, 7), at(1, 9), 0, "lost")).await;
    bench.has_applied_all(9, true).await;
    assert_eq!(bench.facade.metrics.watermark_lag.get(), 8);
    bench.cache.holds(&all(), at(1, 9), &["nine"]);
    bench.cache.refuses(false);
    eventually("the watermark counts", || {
        bench.clock.advance(RETRY);
        bench.facade.metrics.watermark_lag.get() == 0
    })
    .await;
    assert_eq!(bench.get("apps").await.text(), "<nine>");
}

#[tokio::test]
async fn without_push_nothing_of_an_incomplete_view_takes_the_place_of_what_was_held() {
    let bench = Bench::following(&["--cache-push", "false"]).await;
    bench.cache.holds(&all(), at(1, 9), &["full"]);
    bench.cache.holds(&app("A"), at(1, 9), &["a"]);
    bench.reads("apps", "<full>").await;
    bench.reads("apps/A", "<a>").await;
    bench.cache.holds(&all(), at(2, 0), &["cold"]);
    bench.cache.loses(&app("A"));
    bench.follows_again().await;
    bench.cache.watermark(2, 0, false).await;
    eventually("what is held is told", || bench.cache.subscribed().len() == 3).await;
    bench.has_applied_all(0, false).await;

    // The view becomes complete; its pages are not sent unasked.
    bench.cache.holds(&all(), at(2, 5), &["warm"]);
    bench.cache.holds(&app("A"), at(2, 5), &["warm a"]);
    bench.cache.watermark(2, 5, true).await;
    testkit::eventually_async("the complete listing is shown", async || match bench.get("apps").await.text() {
        "<full>" => false,
        other => {
            assert_eq!(other, "<warm>");
            true
        }
    })
    .await;
    bench.reads("apps/A", "<warm a>").await;
}

#[tokio::test]
async fn everything_held_is_compared_at_multiples_of_the_interval_on_the_wall_clock() {
    for push in ["true", "false"] {
        let bench = Bench::following(&["--cache-push", push]).await;
        bench.cache.holds(&all(), at(1, 1), &["old"]);
        bench.reads("apps", "<old>").await;
        bench.cache.holds(&all(), at(1, 2), &["new"]);
        let to_multiple = until_multiple(registry_model::Clock::unix(&bench.clock), Duration::from_secs(30));
        bench.clock.advance(to_multiple - Duration::from_millis(1));
        bench.has_applied_all(1, true).await;
        assert_eq!(bench.cache.subscribed().len(), 1);

        bench.clock.advance(Duration::from_millis(1));
        bench.reads("apps", "<new>").await;
        assert_eq!(bench.cache.subscribed().last().unwrap(), &[(all(), Some(at(1, 1)))]);

        // The next one, and this time there is nothing there any more.
        bench.cache.loses(&all());
        bench.clock.advance(Duration::from_secs(30));
        eventually("it is compared again", || bench.cache.subscribed().len() >= 3).await;
        eventually("it is gone", || bench.facade.tier.pages.len() == 0).await;
    }
}

#[test]
fn the_next_multiple_is_never_now() {
    let table = [(0, 30_000, 30_000), (1, 30_000, 29_999), (29_999, 30_000, 1), (-1, 30_000, 1), (7, 1, 1)];
    for (now, interval, left) in table {
        let wait = until_multiple(UnixMillis(now), Duration::from_millis(interval));
        assert_eq!(wait, Duration::from_millis(left), "{now}");
    }
}
