//! Tier 3, the read-only cache, and the Eureka REST API.
