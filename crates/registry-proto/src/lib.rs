//! Code generated from proto/, and the one place where messages become model types and back.
