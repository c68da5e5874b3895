//! What every heureka process shares: settings, logs, metrics, gRPC assembly, ordered stop.
