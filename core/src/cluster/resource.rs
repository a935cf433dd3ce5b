//! Resources beside cpu, memory and ephemeral storage: names, and a column each.

use crate::capacity::{CapacityExceeded, bytes_of, sum};
use crate::fixed_vec::FixedVec;
use crate::id::{ResourceId, TextId};
use crate::intern::Texts;
use crate::table::Table;
use alloc::vec;
use alloc::vec::Vec;

/// Names are few and stay for good, so that an id always means the same resource.
#[derive(Clone)]
pub(crate) struct Resources {
    names: FixedVec<TextId>,
    allocatable: Vec<i64>,
    requested: Vec<i128>,
    rows: usize,
    limit: u32,
}

impl Resources {
    pub(crate) fn new(limit: u32, rows: u32) -> Self {
        let cells = (limit as usize).saturating_mul(rows as usize);
        Self {
            names: FixedVec::with_capacity(limit as usize),
            allocatable: vec![0; cells],
            requested: vec![0; cells],
            rows: rows as usize,
            limit,
        }
    }

    pub(crate) const fn bytes(limit: u64, rows: u64) -> u64 {
        let cells = limit.saturating_mul(rows);
        sum(&[
            bytes_of::<TextId>(limit),
            bytes_of::<i64>(cells),
            bytes_of::<i128>(cells),
        ])
    }

    pub(crate) fn find(&self, name: &str, texts: &Texts) -> Option<ResourceId> {
        let text = texts.find(name)?;
        self.names
            .iter()
            .position(|own| *own == text)
            .map(ResourceId::from_index)
    }

    pub(crate) fn intern(
        &mut self,
        name: &str,
        texts: &mut Texts,
    ) -> Result<ResourceId, CapacityExceeded> {
        if let Some(id) = self.find(name, texts) {
            return Ok(id);
        }
        if self.names.len() >= self.limit as usize {
            return Err(CapacityExceeded {
                which: "resources",
                limit: u64::from(self.limit),
            });
        }
        let id = ResourceId::from_index(self.names.len());
        self.names.push(texts.intern(name)?);
        Ok(id)
    }

    pub(crate) fn name(&self, id: ResourceId) -> TextId {
        *self.names.at(id)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = ResourceId> + use<> {
        (0..self.names.len()).map(ResourceId::from_index)
    }

    pub(crate) fn allocatable(&self, id: ResourceId, row: usize) -> i64 {
        *self.allocatable.at(self.cell(id, row))
    }

    pub(crate) fn requested(&self, id: ResourceId, row: usize) -> i128 {
        *self.requested.at(self.cell(id, row))
    }

    pub(crate) fn set_allocatable(&mut self, id: ResourceId, row: usize, amount: i64) {
        let cell = self.cell(id, row);
        self.allocatable.set(cell, amount);
    }

    pub(crate) fn add_requested(&mut self, id: ResourceId, row: usize, amount: i128) {
        let cell = self.cell(id, row);
        if let Some(sum) = self.requested.at_mut(cell) {
            *sum = sum.saturating_add(amount);
        }
    }

    fn cell(&self, id: ResourceId, row: usize) -> usize {
        id.index().saturating_mul(self.rows).saturating_add(row)
    }
}
