//! Development only: whole nodes in one test process, in every wiring, and what tests need to look at them from outside.
//! Used by the tests of this crate and by nobody else.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "development only: this is how a test fails"
)]

mod document;
mod http_client;
mod sandbox;

pub use document::{Applications, Fields, Instance, fields};
pub use http_client::{Client, Request, Response};
pub use sandbox::{Options, Part, Sandbox, Wiring};

/// Runs stories, each an `async fn(Wiring)`, as tests of their own in every wiring.
///
/// `in_every_wiring! { a_story, another }` makes `one_process::a_story`, `unix_sockets::a_story` and so on.
#[macro_export]
macro_rules! in_every_wiring {
    ($($story:ident),+ $(,)?) => {
        $crate::in_wiring!(one_process, OneProcess, $($story),+);
        $crate::in_split_wirings!($($story),+);
    };
}

/// As [`in_every_wiring`], only where the parts of a node are processes of their own.
#[macro_export]
macro_rules! in_split_wirings {
    ($($story:ident),+ $(,)?) => {
        $crate::in_wiring!(unix_sockets, UnixSockets, $($story),+);
        $crate::in_wiring!(tcp, Tcp, $($story),+);
    };
}

/// One wiring of [`in_every_wiring`].
#[macro_export]
macro_rules! in_wiring {
    ($module:ident, $wiring:ident, $($story:ident),+) => {
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $story() {
                    super::$story($crate::Wiring::$wiring).await;
                }
            )+
        }
    };
}
