//! Which instance last registered an address: a container that starts again under a new id leaves its old one behind, and the
//! setting `replace-same-address` clears that away. Asked by `registry` for each registration while the setting is on.

use foldhash::quality::RandomState;
use hashbrown::HashMap;
use registry_model::{AppName, InstanceInfo, InstanceKey, Port};

/// Where an instance listens: application, address, and the ports in use.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    app: AppName,
    ip_addr: Box<str>,
    port: Option<i32>,
    secure_port: Option<i32>,
}

impl Address {
    /// The address of an instance; none if it uses no port.
    pub(crate) fn of(instance: &InstanceInfo) -> Option<Self> {
        let in_use = |port: Port| port.enabled.then_some(port.number);
        let (port, secure_port) = (in_use(instance.port), in_use(instance.secure_port));
        (port.is_some() || secure_port.is_some()).then(|| Self {
            app: instance.key.app.clone(),
            ip_addr: instance.ip_addr.clone(),
            port,
            secure_port,
        })
    }
}

/// The last registrant of each address. Whether that one is still there, and still at that address, is for the reader to see.
#[derive(Debug, Default)]
pub(crate) struct LastRegistrants(HashMap<Address, InstanceKey, RandomState>);

impl LastRegistrants {
    /// An instance registers at its address; returns another one that registered there before.
    pub(crate) fn register(&mut self, address: Address, key: &InstanceKey) -> Option<InstanceKey> {
        self.0.insert(address, key.clone()).filter(|last| last != key)
    }

    /// Drops those who are gone, once they are more than those who may be there.
    pub(crate) fn tidy(&mut self, leases: usize, there: impl Fn(&Address, &InstanceKey) -> bool) {
        /// Below this it is not worth the look.
        const FEW: usize = 1024;
        if self.0.len() > FEW.max(leases.saturating_mul(2)) {
            self.0.retain(|address, key| there(address, key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::instances::{instance, key};

    #[test]
    fn an_address_is_application_ip_and_the_ports_in_use() {
        let plain = instance("ORDERS", "c1");
        let unused = Port { enabled: false, ..plain.port };
        let address = Address::of(&plain);
        assert!(address.is_some());
        assert_eq!(
            Address::of(&InstanceInfo { secure_port: Port { number: 1, enabled: false }, ..plain.clone() }),
            address
        );
        assert_ne!(Address::of(&InstanceInfo { port: Port { number: 1, ..plain.port }, ..plain.clone() }), address);
        assert_ne!(Address::of(&instance("BILLING", "c1")), address);
        assert_eq!(Address::of(&InstanceInfo { port: unused, ..plain }), None);
    }

    #[test]
    fn those_who_are_gone_take_no_room_for_long() {
        let mut last = LastRegistrants::default();
        for place in 0..5000 {
            let mut instance = instance("ORDERS", &format!("c{place}"));
            instance.port.number = place;
            last.register(Address::of(&instance).unwrap(), &instance.key);
            last.tidy(1, |_, key| key.id.as_str() == "c1");
        }
        assert!(last.0.len() <= 1025, "{}", last.0.len());
        let address = Address::of(&instance("ORDERS", "a")).unwrap();
        assert_eq!(last.register(address.clone(), &key("ORDERS", "a")), None);
        assert_eq!(last.register(address.clone(), &key("ORDERS", "a")), None);
        assert_eq!(last.register(address, &key("ORDERS", "b")), Some(key("ORDERS", "a")));
    }
}
