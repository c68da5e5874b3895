//! Who this registry-core is: its node, and this one life of it. Made once at the start.

use registry_model::{Epoch, NodeId};

/// What makes positions of this registry-core unlike those of any other, and of any other life of the same one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// The node.
    pub node: NodeId,
    /// The life.
    pub epoch: Epoch,
}

impl Life {
    /// A life that nobody has had before.
    pub fn random() -> Self {
        Self { node: NodeId(rand::random()), epoch: Epoch(rand::random()) }
    }
}
