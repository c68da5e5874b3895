//! Every model value survives its message, and a message that is none is refused by field.

use proptest::prelude::*;
use prost::Message;
use registry_model::{Change, InstanceInfo, Record, Revision, UnixMillis};
use registry_proto::{InstanceMessage, IntoModel, types};
use std::sync::Arc;
use testkit::instances::{any_instance, any_record};

proptest! {
    #[test]
    fn an_instance_comes_back_from_the_wire(instance in any_instance(), coordinating in any::<bool>()) {
        let instance = InstanceInfo { coordinating, ..instance };
        let shared = InstanceMessage::from(Arc::new(instance.clone()));
        let bytes = shared.encode_to_vec();
        prop_assert_eq!(bytes.len(), shared.encoded_len());
        let read = InstanceMessage::decode(&*bytes).unwrap();
        prop_assert_eq!(&shared, &read);
        prop_assert_eq!(&*read.into_instance().unwrap(), &instance);
    }

    #[test]
    fn a_change_comes_back_from_the_wire(record in any_record(), revision in any::<u64>(), at in any::<i64>()) {
        let change = Change { revision: Revision(revision), at: UnixMillis(at), record };
        let bytes = types::Change::from(change.clone()).encode_to_vec();
        prop_assert_eq!(types::Change::decode(&*bytes).unwrap().into_model().unwrap(), change);
    }

    #[test]
    fn arbitrary_bytes_are_an_instance_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(message) = InstanceMessage::decode(&*bytes) {
            let _ = message.into_instance();
        }
    }
}

#[test]
fn inside_a_process_the_instance_is_shared() {
    let record = testkit::instances::record("orders", "i1");
    let message = types::Record::from(record.clone());
    let Record { instance, .. } = message.into_model().unwrap();
    assert!(Arc::ptr_eq(&instance, &record.instance));
}

#[test]
fn a_message_that_is_no_instance_is_refused_by_field() {
    let refused = |bytes: &[u8]| InstanceMessage::decode(bytes).unwrap().into_instance().unwrap_err().to_string();
    assert_eq!(refused(&[]), "app is empty");
    // Field 1 "A", field 2 "i", field 3 "h", field 4 "1".
    let named = b"\x0a\x01A\x12\x01i\x1a\x01h\x22\x011";
    assert!(InstanceMessage::decode(&named[..]).unwrap().into_instance().is_ok());
    assert_eq!(refused(&named[..9]), "ip_addr is missing");
    // Field 6, status 99.
    assert_eq!(refused(&[&named[..], b"\x30\x63"].concat()), "status cannot be 99");
}
