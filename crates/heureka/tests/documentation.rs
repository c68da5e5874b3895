//! docs/CONFIG.md names every setting of the node, with its default.

use clap::CommandFactory as _;
use heureka::Settings;
use service_runtime::config::settings;

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
