//! Carries a plan out; decides nothing. Called by `rounds`.

use crate::upstream::Leases;
use registry_model::ExpiredLease;
use tonic::Status;

/// How many leases one call removes: far below the largest message, whatever their names.
const AT_ONCE: usize = 500;

/// Evicts these leases; returns how many are gone. The others were renewed, or removed, since they were seen.
///
/// # Errors
/// The registry's, as soon as a call fails; what came before it is done.
pub(crate) async fn execute(leases: &[ExpiredLease], registry: &impl Leases) -> Result<u64, Status> {
    let mut evicted = 0;
    for some in leases.chunks(AT_ONCE) {
        evicted += registry.evict(some.to_vec()).await?;
    }
    Ok(evicted)
}
