//! What is wrong with a configuration, and where.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// One thing that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Path of the field, as `profiles[0].pluginConfig[1].args.hardPodAffinityWeight`; empty for
    /// the configuration itself.
    pub field: String,
    /// What is wrong, in upstream's words where upstream refuses it too.
    pub problem: String,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.problem)
    }
}

impl core::error::Error for ConfigError {}

/// Everything that is wrong with a configuration; displayed one error a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
    }
}

impl core::error::Error for ConfigErrors {}
