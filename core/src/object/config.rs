//! KubeSchedulerConfiguration v1. (Being written.)

/// Configuration.
#[derive(Clone, Debug, Default)]
pub struct KubeSchedulerConfiguration {}

/// Everything that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors {}
