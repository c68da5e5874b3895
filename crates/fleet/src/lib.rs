//! A load generator: simulated instances that register, renew, fetch and churn.
