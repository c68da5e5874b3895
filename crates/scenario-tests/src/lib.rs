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
pub mod server;
pub mod story;

pub use document::{Applications, Fields, Instance, fields};
pub use http_client::{Client, Request, Response};
pub use sandbox::{Options, Part, Sandbox, Wiring};

/// Runs stories as tests of their own in every wiring.
///
/// A story is an `async fn(&Sandbox)`, or `async fn(&mut Sandbox)` where parts restart; the node has the default settings, is
/// ready when it begins and stops after it. `with SETTINGS:` before some says with which constant [`Options`] theirs starts.
/// Behind `unstarted:` they are `async fn(Wiring)`, and start and stop what they need.
///
/// `in_every_wiring! { a_story, another; with SETTINGS: a_third; unstarted: a_fourth }` makes `one_process::a_story`,
/// `unix_sockets::a_story` and so on.
#[macro_export]
macro_rules! in_every_wiring {
    ($($stories:tt)+) => {
        $crate::in_wiring!(one_process, OneProcess; $($stories)+);
        $crate::in_split_wirings!($($stories)+);
    };
}

/// As [`in_every_wiring`], only where the parts of a node are processes of their own.
#[macro_export]
macro_rules! in_split_wirings {
    ($($stories:tt)+) => {
        $crate::in_wiring!(unix_sockets, UnixSockets; $($stories)+);
        $crate::in_wiring!(tcp, Tcp; $($stories)+);
    };
}

/// One wiring of [`in_every_wiring`], in a module of this name.
#[macro_export]
macro_rules! in_wiring {
    ($module:ident, $wiring:ident; $($stories:tt)+) => {
        mod $module {
            $crate::tests_of!($wiring; $($stories)+);
        }
    };
}

/// The tests of [`in_wiring`].
#[doc(hidden)]
#[macro_export]
macro_rules! tests_of {
    ($wiring:ident;) => {};
    ($wiring:ident; unstarted: $($story:ident),+ $(,)? $(; $($more:tt)*)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                super::$story($crate::Wiring::$wiring).await;
            }
        )+
        $($crate::tests_of!($wiring; $($more)*);)?
    };
    ($wiring:ident; with $options:ident: $($story:ident),+ $(,)? $(; $($more:tt)*)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                let mut node = $crate::Sandbox::start_with($crate::Wiring::$wiring, super::$options).await;
                let lent = &mut node;
                super::$story(lent).await;
                node.stop().await;
            }
        )+
        $($crate::tests_of!($wiring; $($more)*);)?
    };
    ($wiring:ident; $($story:ident),+ $(,)? $(; $($more:tt)*)?) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $story() {
                let mut node = $crate::Sandbox::start($crate::Wiring::$wiring).await;
                let lent = &mut node;
                super::$story(lent).await;
                node.stop().await;
            }
        )+
        $($crate::tests_of!($wiring; $($more)*);)?
    };
}

/// Runs stories, each an `async fn(&Server)`, as tests of their own, on a server that the named function of
/// [`Server`](server::Server) starts, and that stops after the story.
///
/// `on_a_server! { start: a_story, another; registered: a_third }` makes `on_a_server::a_story` and so on.
#[macro_export]
macro_rules! on_a_server {
    ($($start:ident: $($story:ident),+ $(,)?);+ $(;)?) => {
        mod on_a_server {
            $($(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $story() {
                    let server = $crate::server::Server::$start().await;
                    super::$story(&server).await;
                    server.stop().await;
                }
            )+)+
        }
    };
}
