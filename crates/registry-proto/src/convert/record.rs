//! Records, positions, changes and origins.

use super::{ConvertError, IntoModel};
use crate::types;
use registry_model::{
    AppName, Change, Epoch, InstanceId, InstanceKey, LeaseTimes, Origin, Position, Record, Revision, UnixMillis,
};

impl From<&InstanceKey> for types::InstanceKey {
    fn from(key: &InstanceKey) -> Self {
        Self { app: key.app.as_str().to_owned(), instance_id: key.id.as_str().to_owned() }
    }
}

impl IntoModel for types::InstanceKey {
    type Model = InstanceKey;

    fn into_model(self) -> Result<InstanceKey, ConvertError> {
        Ok(InstanceKey { app: AppName::parse(&self.app)?, id: InstanceId::parse(&self.instance_id)? })
    }
}

impl From<LeaseTimes> for types::LeaseTimes {
    fn from(times: LeaseTimes) -> Self {
        Self {
            registered_ms: times.registered.0,
            renewed_ms: times.renewed.0,
            evicted_ms: times.evicted.0,
            service_up_ms: times.service_up.0,
        }
    }
}

impl From<types::LeaseTimes> for LeaseTimes {
    fn from(message: types::LeaseTimes) -> Self {
        Self {
            registered: UnixMillis(message.registered_ms),
            renewed: UnixMillis(message.renewed_ms),
            evicted: UnixMillis(message.evicted_ms),
            service_up: UnixMillis(message.service_up_ms),
        }
    }
}

impl From<Record> for types::Record {
    fn from(record: Record) -> Self {
        Self { instance: Some(record.instance.into()), lease: Some(record.lease.into()) }
    }
}

impl IntoModel for types::Record {
    type Model = Record;

    fn into_model(self) -> Result<Record, ConvertError> {
        Ok(Record {
            instance: self.instance.ok_or(ConvertError::Missing("record.instance"))?.into_instance()?,
            lease: self.lease.ok_or(ConvertError::Missing("record.lease"))?.into(),
        })
    }
}

/// Where a message carries an optional record that the receiver needs.
impl IntoModel for Option<types::Record> {
    type Model = Record;

    fn into_model(self) -> Result<Record, ConvertError> {
        self.ok_or(ConvertError::Missing("record"))?.into_model()
    }
}

impl From<Position> for types::Position {
    fn from(position: Position) -> Self {
        Self { epoch: position.epoch.0, revision: position.revision.0 }
    }
}

impl From<types::Position> for Position {
    fn from(message: types::Position) -> Self {
        Self { epoch: Epoch(message.epoch), revision: Revision(message.revision) }
    }
}

impl IntoModel for Option<types::Position> {
    type Model = Position;

    fn into_model(self) -> Result<Position, ConvertError> {
        self.map(Position::from).ok_or(ConvertError::Missing("position"))
    }
}

impl From<Change> for types::Change {
    fn from(change: Change) -> Self {
        Self { revision: change.revision.0, at_ms: change.at.0, record: Some(change.record.into()) }
    }
}

impl IntoModel for types::Change {
    type Model = Change;

    fn into_model(self) -> Result<Change, ConvertError> {
        Ok(Change { revision: Revision(self.revision), at: UnixMillis(self.at_ms), record: self.record.into_model()? })
    }
}

impl From<Origin> for types::Origin {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::Client => Self::Client,
            Origin::Peer => Self::Peer,
        }
    }
}

impl From<types::Origin> for Origin {
    fn from(message: types::Origin) -> Self {
        match message {
            types::Origin::Unspecified | types::Origin::Client => Self::Client,
            types::Origin::Peer => Self::Peer,
        }
    }
}
