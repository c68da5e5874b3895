use super::*;
use service_runtime::ProcessHandle;
use testkit::ManualClock;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

struct Bench {
    client: DuplexStream,
    connection: Noting<DuplexStream>,
    progress: Arc<Progress>,
    ends: Ends,
    watched: Watched,
    metrics: Metrics,
    now: Mono,
}

impl Bench {
    fn new() -> Self {
        let (client, server) = duplex(8);
        let (progress, now) = (Arc::new(Progress::default()), Mono::from_nanos(1));
        let connection = Noting::new(server, Arc::clone(&progress));
        let ends = Ends { any: CancellationToken::new(), given_up: CancellationToken::new() };
        let mut watched = Watched::default();
        watched.add(&progress, &ends, now);
        let process = ProcessHandle::detached("test", Arc::new(ManualClock::new()));
        Self { client, connection, progress, ends, watched, metrics: Metrics::new(process.metrics()), now }
    }

    /// Looks after so many seconds, as often as is usual.
    fn look(&mut self, seconds: u64) {
        for _ in 0..seconds / LOOK.as_secs() {
            self.now = self.now + LOOK;
            self.watched.look(self.now, &self.metrics);
        }
    }

    /// Looks now, so that what is going on is known; then it is given up after so many seconds, and not before.
    #[track_caller]
    fn is_given_up_after(&mut self, seconds: u64) {
        self.watched.look(self.now, &self.metrics);
        self.look(seconds - LOOK.as_secs());
        assert!(!self.ends.any.is_cancelled(), "too early");
        self.look(LOOK.as_secs());
        assert!(self.ends.any.is_cancelled() && self.ends.given_up.is_cancelled(), "too late");
        assert_eq!(self.watched.len(), 0);
    }

    async fn reads(&mut self, text: &[u8]) {
        self.client.write_all(text).await.unwrap();
        self.connection.read_exact(&mut vec![0; text.len()]).await.unwrap();
    }
}

#[tokio::test]
async fn an_idle_connection_may_wait_longer_than_a_heartbeat_takes() {
    Bench::new().is_given_up_after(100);
    let mut bench = Bench::new();
    for _ in 0..5 {
        bench.look(95);
        bench.reads(b"request").await;
        bench.progress.request();
        bench.progress.answer();
        bench.connection.write_all(b"answer").await.unwrap();
        bench.client.read_exact(&mut [0; 6]).await.unwrap();
    }
    bench.is_given_up_after(100);
}

#[tokio::test]
async fn a_head_that_has_begun_has_to_end_however_it_trickles() {
    let mut bench = Bench::new();
    bench.look(50);
    bench.reads(b"G").await;
    bench.look(25);
    bench.reads(b"E").await;
    assert!(!bench.ends.any.is_cancelled());
    bench.look(10);
    assert!(bench.ends.given_up.is_cancelled());
}

#[tokio::test]
async fn an_answer_in_the_making_is_waited_for_and_its_body_is_no_head() {
    let mut bench = Bench::new();
    bench.progress.request();
    bench.reads(b"body").await;
    bench.look(1000);
    assert!(!bench.ends.any.is_cancelled());
    bench.progress.answer();
    bench.is_given_up_after(100);
}

#[tokio::test]
async fn a_client_that_takes_nothing_is_given_up_and_a_slow_one_is_not() {
    let mut bench = Bench::new();
    bench.progress.request();
    bench.progress.answer();
    for _ in 0..10 {
        // More than the other side takes.
        let writing = bench.connection.write_all(b"0123456789");
        assert!(futures::FutureExt::now_or_never(writing).is_none());
        bench.look(25);
        bench.client.read_exact(&mut [0; 8]).await.unwrap();
    }
    assert!(futures::FutureExt::now_or_never(bench.connection.write_all(b"0123456789")).is_none());
    bench.is_given_up_after(30);
}

#[tokio::test]
async fn connections_that_have_ended_are_forgotten() {
    let Bench { mut watched, metrics, connection, progress, .. } = Bench::new();
    watched.look(Mono::from_nanos(1), &metrics);
    assert_eq!(watched.len(), 1);
    drop((connection, progress));
    watched.look(Mono::from_nanos(1), &metrics);
    assert_eq!(watched.len(), 0);
}
