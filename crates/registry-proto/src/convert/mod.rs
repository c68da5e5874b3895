//! Messages to model types and back, one file per family. Called at the first line of service methods and by remote readers.

mod instance;
mod leases;
mod record;

pub use instance::instance_status;

use registry_model::{Classify, ErrorClass, NameError};

/// A message whose fields make no model value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    /// A field that must be there is not.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A field has a value that it cannot have.
    #[error("{field} cannot be {value}")]
    OutOfRange {
        /// The field.
        field: &'static str,
        /// Its value.
        value: i64,
    },
    /// A name that is none.
    #[error(transparent)]
    Name(#[from] NameError),
}

impl Classify for ConvertError {
    fn class(&self) -> ErrorClass {
        ErrorClass::Invalid
    }

    fn reason(&self) -> &'static str {
        match self {
            Self::Missing(_) => "FIELD_MISSING",
            Self::OutOfRange { .. } => "FIELD_OUT_OF_RANGE",
            Self::Name(_) => "NAME_INVALID",
        }
    }
}

/// Conversion of a message that may lack what a model type needs.
pub trait IntoModel {
    /// The model type.
    type Model;
    /// Converts it.
    ///
    /// # Errors
    /// The first field that is missing or wrong.
    fn into_model(self) -> Result<Self::Model, ConvertError>;
}
