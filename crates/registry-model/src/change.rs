//! A change of the registry, as every reader of the change stream sees it.

use crate::{Record, Revision, UnixMillis};

/// Who asks for a write: Eureka treats what another server replicates differently from what a client says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A client of this node.
    Client,
    /// Another server of the cluster; never passed on.
    Peer,
}

/// One visible change: a registration, a cancellation, an eviction, a status change. Plain renewals are none.
///
/// What happened is the record's own `action`: `Added` and `Modified` records are present afterwards, `Deleted` ones are not.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its number.
    pub revision: Revision,
    /// When it happened, by the wall clock of the registry-core that made it.
    pub at: UnixMillis,
    /// The instance as it is afterwards, or as it was when it was removed.
    pub record: Record,
}
