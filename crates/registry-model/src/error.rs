//! Classes of errors: what a caller can do about one. The mapping to gRPC lives in registry-proto, to HTTP in http-facade.

/// What a caller can do about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The request is wrong and stays wrong.
    Invalid,
    /// What it names does not exist.
    NotFound,
    /// It contradicts the present state.
    Conflict,
    /// Try again later, here or elsewhere.
    Unavailable,
    /// A fault of ours.
    Internal,
}

/// An error that knows its class.
pub trait Classify {
    /// The class.
    fn class(&self) -> ErrorClass;
    /// A stable reason in upper snake case; clients match on this, never on texts.
    fn reason(&self) -> &'static str;
}
