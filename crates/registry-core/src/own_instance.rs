//! The node as an instance of its own registry: its settings and its description, pure. Part of `config`; kept alive by
//! `service::own_instance`.

use clap::ArgAction;
use registry_model::{
    AppName, DataCenterDraft, DataCenterName, InstanceId, InstanceInfo, Port, RegistrationDraft, UnixMillis,
};
use service_runtime::{Address, config::address::AddressError};

/// Settings of the node as an instance.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub struct OwnInstance {
    /// Whether the node registers itself, as an instance like any other.
    #[arg(long, value_name = "BOOL", default_value = "false", action = ArgAction::Set,
          num_args = 0..=1, default_missing_value = "true")]
    pub register_self: bool,
    /// The application that the node registers itself as.
    #[arg(long, value_name = "NAME", default_value = "EUREKA", value_parser = app_name)]
    pub server_app_name: AppName,
    /// Where clients and other servers reach the node's HTTP port, and what stands before `/eureka` in its paths, if something does.
    #[arg(long, value_name = "HOST:PORT[/PATH]", value_parser = advertised)]
    pub advertise: Option<Advertised>,
}

/// A host and a port, as others see them, and a path or nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advertised {
    host: String,
    port: u16,
    address: Address,
    /// With a slash in front and none at its end.
    path: String,
}

fn app_name(text: &str) -> Result<AppName, String> {
    AppName::parse(text).map_err(|error| error.to_string())
}

fn advertised(text: &str) -> Result<Advertised, String> {
    let (address, path) = match text.split_once('/') {
        Some((address, path)) if !text.starts_with("unix:") => (address, path.trim_matches('/')),
        Some(_) | None => (text, ""),
    };
    let path = if path.is_empty() { String::new() } else { format!("/{path}") };
    let address: Address = address.parse().map_err(|error: AddressError| error.to_string())?;
    match address.clone() {
        Address::Tcp { port: 0, .. } => Err("must name the port".to_owned()),
        Address::Tcp { host, port } => Ok(Advertised { host, port, address, path }),
        Address::Unix(_) => Err("must be HOST:PORT".to_owned()),
    }
}

impl OwnInstance {
    /// Whether the node is to register itself, and does not know as what.
    pub(crate) fn lacks_address(&self) -> bool {
        self.register_self && self.id().is_none()
    }

    /// The id of the node's instance, if it registers itself.
    pub(crate) fn id(&self) -> Option<InstanceId> {
        self.description(UnixMillis::NEVER).map(|instance| instance.key.id)
    }

    /// The node's instance, if it registers itself: `UP`, with the default lease.
    pub(crate) fn description(&self, now: UnixMillis) -> Option<InstanceInfo> {
        let Advertised { host, port, address, path } = self.advertise.as_ref().filter(|_| self.register_self)?;
        let app = self.server_app_name.as_str();
        let name = app.to_lowercase();
        let url = |resource: &str| Some(format!("http://{address}{path}/{resource}").into());
        let draft = RegistrationDraft {
            instance_id: Some(format!("{host}:{name}:{port}").into()),
            host_name: Some(host.as_str().into()),
            app: app.into(),
            // Clients take either; a name stays a name, since it may mean another address elsewhere.
            ip_addr: Some(host.as_str().into()),
            data_center: Some(DataCenterDraft { name: Some(DataCenterName::MyOwn), ..DataCenterDraft::default() }),
            port: Some(Port { number: (*port).into(), enabled: true }),
            home_page_url: url(""),
            status_page_url: url("eureka/status"),
            health_check_url: url("eureka/healthcheck"),
            vip_address: Some(name.into()),
            ..RegistrationDraft::default()
        };
        draft.validate(&self.server_app_name, now).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::tests::parsed;

    #[test]
    fn the_node_describes_itself_by_the_address_that_it_advertises() {
        let own = |arguments: &[&str]| parsed(arguments).unwrap().own_instance.description(UnixMillis(5));
        assert_eq!(own(&[]), None);
        assert_eq!(own(&["--advertise", "node-1.test:8761"]), None);
        let instance = own(&["--register-self", "--advertise", "node-1.test:8761"]).unwrap();
        assert_eq!(instance.key.to_string(), "EUREKA/node-1.test:eureka:8761");
        assert_eq!(
            (&*instance.host_name, instance.port.number, instance.last_dirty),
            ("node-1.test", 8761, UnixMillis(5))
        );
        assert_eq!(instance.home_page_url.as_deref(), Some("http://node-1.test:8761/"));
        for address in ["node-1.test:8761/reg", "node-1.test:8761/reg/"] {
            let behind = own(&["--register-self", "--advertise", address]).unwrap();
            assert_eq!(behind.key, instance.key);
            assert_eq!(behind.home_page_url.as_deref(), Some("http://node-1.test:8761/reg/"));
            assert_eq!(behind.status_page_url.as_deref(), Some("http://node-1.test:8761/reg/eureka/status"));
        }
        let other = own(&["--register-self", "--advertise", "[::1]:8761", "--server-app-name", "discovery"]).unwrap();
        assert_eq!(other.key.to_string(), "DISCOVERY/::1:discovery:8761");
        assert_eq!(other.home_page_url.as_deref(), Some("http://[::1]:8761/"));
    }

    #[test]
    fn an_address_that_nobody_could_use_is_refused_and_none_too() {
        for address in ["unix:/run/node", "node-1.test", "node-1.test:0"] {
            assert!(parsed(&["--advertise", address]).is_none(), "{address}");
        }
        assert!(parsed(&["--server-app-name", ""]).is_none());
        assert!(parsed(&["--register-self"]).unwrap().check().is_err());
        assert!(parsed(&["--register-self", "false"]).unwrap().check().is_ok());
    }
}
