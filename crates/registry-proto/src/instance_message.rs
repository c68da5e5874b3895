//! The message that carries an instance: shared inside a process, an ordinary typed message on the wire.

use crate::{ConvertError, generated::plain};
use bytes::{Buf, BufMut, Bytes};
use prost::{
    DecodeError, Message,
    encoding::{DecodeContext, WireType},
};
use registry_model::InstanceInfo;
use std::sync::{Arc, OnceLock};

/// An instance on its way between services.
///
/// Inside a process it passes by reference count and nothing is encoded. On the wire it is `heureka.types.v1.Instance`;
/// clones of one message share its encoding, so a change that goes to many watchers is encoded once.
#[derive(Clone, Debug, Default)]
pub struct InstanceMessage(Form);

#[derive(Clone, Debug, Default)]
enum Form {
    /// A message without any field.
    #[default]
    Empty,
    /// Made here from a model instance.
    Shared(Arc<Shared>),
    /// Read from the wire, not yet converted.
    Plain(Box<plain::Instance>),
}

#[derive(Debug)]
struct Shared {
    instance: Arc<InstanceInfo>,
    encoded: OnceLock<Bytes>,
}

impl InstanceMessage {
    /// The model instance that this message carries.
    ///
    /// # Errors
    /// A message from the wire whose fields make no instance; the error names the field.
    pub fn into_instance(self) -> Result<Arc<InstanceInfo>, ConvertError> {
        match self.0 {
            Form::Shared(shared) => {
                Ok(Arc::try_unwrap(shared).map_or_else(|shared| Arc::clone(&shared.instance), |alone| alone.instance))
            }
            Form::Plain(message) => InstanceInfo::try_from(*message).map(Arc::new),
            Form::Empty => InstanceInfo::try_from(plain::Instance::default()).map(Arc::new),
        }
    }

    /// Whether the client left its version stamp out; the receiver's clock decides then.
    pub fn lacks_dirty_stamp(&self) -> bool {
        match &self.0 {
            Form::Empty => true,
            Form::Plain(message) => message.last_dirty_ms.is_none(),
            Form::Shared(_) => false,
        }
    }

    /// The plain message with all that this one says.
    fn into_plain(self) -> Box<plain::Instance> {
        match self.0 {
            Form::Empty => Box::default(),
            Form::Plain(message) => message,
            Form::Shared(shared) => Box::new(plain::Instance::from(&*shared.instance)),
        }
    }
}

impl Shared {
    fn encoded(&self) -> &Bytes {
        self.encoded.get_or_init(|| plain::Instance::from(&*self.instance).encode_to_vec().into())
    }
}

impl From<Arc<InstanceInfo>> for InstanceMessage {
    fn from(instance: Arc<InstanceInfo>) -> Self {
        Self(Form::Shared(Arc::new(Shared { instance, encoded: OnceLock::new() })))
    }
}

impl PartialEq for InstanceMessage {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Form::Shared(left), Form::Shared(right)) => left.instance == right.instance,
            _ => self.clone().into_plain() == other.clone().into_plain(),
        }
    }
}

impl Message for InstanceMessage {
    fn encode_raw(&self, buf: &mut impl BufMut) {
        match &self.0 {
            Form::Shared(shared) => buf.put_slice(shared.encoded()),
            Form::Plain(message) => message.encode_raw(buf),
            Form::Empty => {}
        }
    }

    fn merge_field(
        &mut self,
        tag: u32,
        wire: WireType,
        buf: &mut impl Buf,
        context: DecodeContext,
    ) -> Result<(), DecodeError> {
        let mut message = std::mem::take(self).into_plain();
        let merged = message.merge_field(tag, wire, buf, context);
        self.0 = Form::Plain(message);
        merged
    }

    fn encoded_len(&self) -> usize {
        match &self.0 {
            Form::Shared(shared) => shared.encoded().len(),
            Form::Plain(message) => message.encoded_len(),
            Form::Empty => 0,
        }
    }

    fn clear(&mut self) {
        *self = Self::default();
    }
}
