//! `DynamicResources`: pods with device claims are unsupported so far; for all others it scores 0,
//! as upstream's does, which does not skip itself.
//!
//! Mirrors the score of `plugins/dynamicresources/dynamicresources.go` for pods without claims.

/// Score of every node for a pod without claims.
pub(crate) const SCORE: u8 = 0;
