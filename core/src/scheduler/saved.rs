//! A scheduler in a state file; see `state_file.rs`.

use super::timers::Timers;
use super::{Options, Scheduler};
use crate::batch::{Owner, Scored};
use crate::capacity::Capacities;
use crate::cluster::saved::SavedCluster;
use crate::id::ClassId;
use crate::intern::{hash_bytes, retain_texts};
use crate::object::config::KubeSchedulerConfiguration;
use crate::profile::Profile;
use crate::queue::saved::SavedQueue;
use crate::state_file::{self, Content, StateError, check};
use alloc::format;
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// Everything that makes the next decisions what they are, but for configuration and options.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedScheduler {
    pub(crate) cluster: SavedCluster,
    pub(crate) queue: SavedQueue,
    start: u32,
    random: u64,
    timers: Timers,
    /// Hash of the profiles, without which scores cannot be used again.
    profiles: u64,
    batch: Option<SavedBatch>,
}

impl SavedScheduler {
    /// Rows of nodes and of pods.
    pub(crate) fn size(&self) -> (usize, usize) {
        self.cluster.size()
    }
}

#[derive(Serialize, Deserialize)]
struct SavedBatch {
    owner: Owner,
    heap: Vec<Scored>,
    created: u64,
    last_cycle: u64,
    last_row: u32,
}

impl Scheduler {
    /// Writes everything down that makes the next decisions what they are: objects and placements,
    /// the queue, the clock, the next random number. Forks are not written.
    ///
    /// Takes memory of the size of the file a few times while it runs.
    pub fn save_state(&self) -> Vec<u8> {
        state_file::write(&Content {
            scheduler: self.saved(),
            intake: None,
        })
    }

    /// Makes a scheduler of what [`save_state`](Self::save_state) wrote. With the same configuration
    /// and options it decides as the one that was saved would have; with others it is that cluster
    /// under other rules. Ids of nodes, pods and classes are the same. What only
    /// [`Intake`](crate::intake::Intake) knows is left out.
    ///
    /// # Errors
    /// See [`StateError`]; bytes that were changed, cut or added to are refused, and so is content
    /// that no scheduler writes.
    pub fn restore_state(
        config: &KubeSchedulerConfiguration,
        options: Options,
        capacities: Capacities,
        bytes: &[u8],
    ) -> Result<Self, StateError> {
        Self::restore(
            config,
            options,
            capacities,
            &state_file::read(bytes)?.scheduler,
            &[],
        )
    }

    pub(crate) fn saved(&self) -> SavedScheduler {
        let batch = self.batch.owner.map(|owner| SavedBatch {
            owner,
            heap: self.batch.heap.to_vec(),
            created: self.batch.created,
            last_cycle: self.batch.last_cycle,
            last_row: self.batch.last_row,
        });
        SavedScheduler {
            cluster: self.cluster.saved(),
            queue: self.queue.saved(self.cluster.pods.len()),
            start: self.start,
            random: self.random.0,
            timers: self.timers,
            profiles: self.profiles,
            batch,
        }
    }

    pub(crate) fn restore(
        config: &KubeSchedulerConfiguration,
        options: Options,
        capacities: Capacities,
        saved: &SavedScheduler,
        held: &[ClassId],
    ) -> Result<Self, StateError> {
        let mut scheduler = Self::make(config, options, capacities, |cluster| {
            cluster.restore_names(&saved.cluster)
        })?;
        scheduler.cluster.restore(&saved.cluster)?;
        let cluster = &mut scheduler.cluster;
        scheduler.queue.restore(&saved.queue, cluster)?;
        let now = scheduler.queue.now;
        let ahead = saved.timers.are_after(now);
        check(
            ahead,
            "timers",
            0,
            "one was due before the last time that was said",
        )?;
        scheduler.timers = saved.timers;
        scheduler.start = saved.start;
        scheduler.random.0 = saved.random;
        if let Some(batch) = &saved.batch
            && saved.profiles == scheduler.profiles
        {
            scheduler.restore_batch(batch)?;
        }
        for class in held {
            let records = &mut scheduler.cluster.classes.records;
            if records.contains(class.0) {
                records.retain(class.0);
            }
        }
        scheduler.cluster.let_go(&saved.cluster);
        Ok(scheduler)
    }

    /// Goes on in the tables of a scheduler that was restored from its own state; external plugins,
    /// the node search, forks and what was counted go along.
    pub(crate) fn move_to(&mut self, mut other: Self) {
        other.externals.clone_from(&self.externals);
        other.policy = self.policy;
        core::mem::swap(&mut other.saved, &mut self.saved);
        core::mem::swap(&mut other.queue.incoming, &mut self.queue.incoming);
        *self = other;
    }

    fn restore_batch(&mut self, saved: &SavedBatch) -> Result<(), StateError> {
        let (part, owner) = ("batch", saved.owner);
        let cluster = &mut self.cluster;
        let class = cluster.classes.records.contains(owner.class.0);
        check(class, part, 0, "its class is none")?;
        cluster.check_words(&[owner.pin], part, 0)?;
        let profile = owner.profile < self.plans.len();
        check(profile, part, 0, "its profile is none")?;
        let rows = cluster.nodes.len();
        let mut nodes = saved
            .heap
            .iter()
            .map(|node| node.row)
            .chain([saved.last_row]);
        let right = saved.heap.len() <= rows && nodes.all(|row| (row as usize) < rows);
        check(right, part, 0, "one of its nodes is none")?;
        cluster.classes.records.retain(owner.class.0);
        retain_texts(&[owner.pin], &mut cluster.texts);
        self.batch.owner = Some(owner);
        self.batch.heap.extend_from_slice(&saved.heap);
        self.batch.created = saved.created;
        self.batch.last_cycle = saved.last_cycle;
        self.batch.last_row = saved.last_row;
        Ok(())
    }
}

/// Tells profiles apart.
pub(super) fn hash_of(profiles: &[Profile]) -> u64 {
    hash_bytes(format!("{profiles:?}").as_bytes())
}
