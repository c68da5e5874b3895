//! Calls as Eureka's metrics count them: all, and those that no other server replicated.

use super::*;
use registry_proto::registry::{ClearStatusRequest, SetStatusRequest};

#[tokio::test]
async fn calls_are_counted_with_and_without_what_other_servers_replicated() {
    let (core, clock, process) = started(&[]);
    for origin in [types::Origin::Client, types::Origin::Peer] {
        let from = |request: RegisterRequest| Request::new(RegisterRequest { origin: origin.into(), ..request });
        core.register(from(registration(instance("BILLING", "n1")).into_inner())).await.unwrap();
        core.renew(Request::new(renewal("n1", None, origin.into()))).await.unwrap();
        core.renew(Request::new(renewal("nobody", None, origin.into()))).await.unwrap();
        let app = "billing".to_owned();
        let set = SetStatusRequest {
            app: app.clone(),
            instance_id: "nobody".into(),
            status: types::InstanceStatus::Up.into(),
            origin: origin.into(),
            ..SetStatusRequest::default()
        };
        core.set_status(Request::new(set)).await.unwrap();
        let clear = ClearStatusRequest {
            app: app.clone(),
            instance_id: "nobody".into(),
            origin: origin.into(),
            ..ClearStatusRequest::default()
        };
        core.clear_status(Request::new(clear)).await.unwrap();
        for instance_id in ["n1", "nobody"] {
            let cancel = CancelRequest { app: app.clone(), instance_id: instance_id.into(), origin: origin.into() };
            core.cancel(Request::new(cancel)).await.unwrap();
        }
    }
    clock.advance(Duration::from_secs(1));
    let text = process.metrics().encode();
    for (name, all) in [
        ("renew", 4),
        ("renew_not_found", 2),
        ("register", 2),
        ("cancel", 4),
        ("cancel_not_found", 2),
        ("status_update", 2),
        ("status_override_delete", 2),
    ] {
        for line in
            [format!("eureka_{name}_total {all}\n"), format!("eureka_{name}_minus_replication_total {}\n", all / 2)]
        {
            assert!(text.contains(&line), "{line} is not in\n{text}");
        }
    }
}

#[tokio::test]
async fn few_renewals_are_told_of_from_five_minutes_after_the_start() {
    let (core, clock, _process) = started(&[]);
    let level = || (core.registry.metrics().below_threshold.get(), core.registry.metrics().preservation_enabled.get());
    for (seconds, expected) in [(300, (0, 1)), (1, (1, 1))] {
        clock.advance(Duration::from_secs(seconds));
        core.registry.tick();
        assert_eq!(level(), expected);
    }
}
