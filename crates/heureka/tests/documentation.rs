//! The pages that list things name all of them: docs/CONFIG.md every setting of the node, docs/METRICS.md every metric.

use clap::CommandFactory as _;
use heureka::{Node, Settings};
use registry_core::Life;
use service_runtime::{ProcessHandle, Sources, config::settings};
use std::{collections::BTreeMap, sync::Arc};
use testkit::ManualClock;

#[test]
fn config_md_lists_every_setting_with_its_default() {
    let page = include_str!("../../../docs/CONFIG.md");
    for setting in settings(&Settings::command()) {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{}` |", setting.name)));
        let row = row.unwrap_or_else(|| panic!("docs/CONFIG.md lacks {}", setting.name));
        // The gRPC port's default is each binary's own.
        if let Some(default) = setting.default.filter(|_| setting.name != "grpc-listen") {
            assert!(
                row.contains(&format!("`{default}`")),
                "{} is {default} by default, not as in: {row}",
                setting.name
            );
        }
    }
}

/// Kind and unit, if it says one, of each metric in a text for Prometheus; a counter by the name that its value has.
fn exposed(text: &str) -> BTreeMap<String, (&str, Option<&str>)> {
    let described =
        |prefix: &'static str| text.lines().filter_map(move |line| line.strip_prefix(prefix)?.split_once(' '));
    let units: BTreeMap<_, _> = described("# UNIT ").collect();
    let metric = |(name, kind): (&str, _)| {
        let value = match kind {
            "counter" => format!("{name}_total"),
            "info" => format!("{name}_info"),
            _ => name.to_owned(),
        };
        (value, (kind, units.get(name).copied()))
    };
    described("# TYPE ").map(metric).collect()
}

#[tokio::test]
async fn metrics_md_lists_every_metric_of_a_node_with_kind_and_unit() {
    let process = ProcessHandle::detached("heureka", Arc::new(ManualClock::new()));
    let settings = Settings::load(&Sources::of(["heureka"], [])).unwrap();
    let _node = Node::start(&settings, Life::random(), &process);
    let text = process.metrics().encode();
    let exposed = exposed(&text);
    let page = include_str!("../../../docs/METRICS.md");
    let mut listed = BTreeMap::new();
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let ["", name, kind, unit, meaning, ""] = *cells else { panic!("not four cells: {row}") };
        assert!(!unit.is_empty() && !meaning.is_empty(), "{row}");
        assert_eq!(listed.insert(name.trim_matches('`'), (kind, unit)), None, "{row}");
    }
    for (name, (kind, unit)) in &exposed {
        let Some(row) = listed.get(name.as_str()) else { panic!("docs/METRICS.md lacks {name}") };
        assert_eq!(row, &(*kind, unit.unwrap_or(row.1)), "{name}");
    }
    for name in listed.keys() {
        assert!(exposed.contains_key(*name), "a node has no {name}");
    }
    process.stop().await;
}
