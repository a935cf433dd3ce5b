//! What feeds a scheduler, in a state file with it.

use super::{Intake, Key, Size, key};
use crate::capacity::{Capacities, CapacityExceeded};
use crate::id::PodId;
use crate::object::config::KubeSchedulerConfiguration;
use crate::object::{
    Labels, LimitRange, LimitRangeItem, LimitRangeSpec, Object, ObjectMeta, Overhead,
    PriorityClass, ResourceList, RuntimeClass, RuntimeClassScheduling, Toleration,
};
use crate::quantity::Quantity;
use crate::scheduler::{Options, Scheduler};
use crate::state_file::{self, Content, StateError, check};
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use serde::{Deserialize, Serialize};

/// How often tables are doubled before a state counts as too large.
const DOUBLINGS_MAX: u32 = 64;

#[derive(Serialize, Deserialize)]
pub(crate) struct SavedIntake {
    completing: Vec<SavedObject>,
    implied: BTreeSet<String>,
    arrivals: Vec<(PodId, u64)>,
    arrivals_count: u64,
}

#[cfg(test)]
impl SavedIntake {
    /// Objects by which pods are completed.
    pub(crate) fn completing(&self) -> usize {
        self.completing.len()
    }
}

/// An object by which pods are completed.
#[derive(Serialize, Deserialize)]
enum SavedObject {
    PriorityClass {
        name: String,
        value: i32,
        global_default: bool,
        preemption_policy: String,
    },
    RuntimeClass {
        name: String,
        overhead: Option<Amounts>,
        /// Node selector, and tolerations: key, operator, value, effect.
        scheduling: Option<(Labels, Vec<[String; 4]>)>,
    },
    LimitRange {
        namespace: String,
        name: String,
        /// Type; default, default request, most, least.
        limits: Vec<(String, [Amounts; 4])>,
    },
}

/// Quantities as texts, by resource.
type Amounts = Vec<(String, String)>;

impl Intake {
    /// [`Scheduler::save_state`], with what is known of classes, limits and namespaces beside it.
    pub fn save_state(&self) -> Vec<u8> {
        let arrivals = self.arrivals.iter();
        state_file::write(&Content {
            scheduler: self.scheduler.saved(),
            intake: Some(SavedIntake {
                completing: self.completing.values().filter_map(saved).collect(),
                implied: self.implied.clone(),
                arrivals: arrivals.map(|(pod, arrival)| (*pod, *arrival)).collect(),
                arrivals_count: self.arrivals_count,
            }),
        })
    }

    /// Makes an intake of what [`save_state`](Self::save_state) or [`Scheduler::save_state`] wrote.
    /// Without `capacities` it has room for a quarter more than the state holds, and some.
    ///
    /// # Errors
    /// As [`Scheduler::restore_state`].
    pub fn restore_state(
        config: KubeSchedulerConfiguration,
        options: Options,
        capacities: Option<Capacities>,
        bytes: &[u8],
    ) -> Result<Self, StateError> {
        let content = state_file::read(bytes)?;
        let (capacities, is_fixed) = match capacities {
            Some(given) => (given, true),
            None => (room_for(&content)?, false),
        };
        Self::of_content(config, options, capacities, is_fixed, content)
    }

    fn of_content(
        config: KubeSchedulerConfiguration,
        options: Options,
        capacities: Capacities,
        is_fixed: bool,
        content: Content,
    ) -> Result<Self, StateError> {
        let Content { scheduler, intake } = content;
        let make = |capacities| Scheduler::restore(&config, options, capacities, &scheduler, &[]);
        let scheduler = if is_fixed {
            make(capacities)?
        } else {
            restore_growing(capacities, make)?
        };
        let mut restored = Self {
            is_fixed,
            ..Self::around(config, options, scheduler)
        };
        if let Some(intake) = intake {
            restored.restore(intake)?;
        }
        Ok(restored)
    }

    /// Takes a state in the place of everything that was taken in so far, forks included. An intake
    /// whose capacities were given keeps to them; of one whose size was given nodes and pods keep to
    /// it, and the rest grows, as in a first load. External plugins stay.
    ///
    /// # Errors
    /// As [`Scheduler::restore_state`]; nothing is changed then.
    pub fn load_state(&mut self, bytes: &[u8]) -> Result<(), StateError> {
        let content = state_file::read(bytes)?;
        let (size, is_fixed) = (self.size, self.is_fixed);
        let capacities = match size {
            _ if is_fixed => *self.scheduler.capacities(),
            Some(size) => size.capacities()?,
            None => room_for(&content)?,
        };
        let (config, options) = (self.config.clone(), self.options);
        let mut restored = Self::of_content(config, options, capacities, is_fixed, content)?;
        let externals = &mut restored.scheduler.externals;
        externals.clone_from(&self.scheduler.externals);
        let (spacing, grows, simulates) = (self.spacing, self.grows, self.simulates);
        *self = Self {
            size,
            spacing,
            grows,
            simulates,
            ..restored
        };
        Ok(())
    }

    fn restore(&mut self, saved: SavedIntake) -> Result<(), StateError> {
        for (place, object) in saved.completing.into_iter().enumerate() {
            let part = "completing";
            let Some(object) = restored(object) else {
                return check(false, part, place, "an amount is no quantity");
            };
            let (key, object): (Key, Object) = (key(&object), object);
            let new = self.completing.insert(key, object).is_none();
            check(new, part, place, "this object is there already")?;
        }
        for (place, namespace) in saved.implied.iter().enumerate() {
            let there = self.scheduler.has_namespace(namespace);
            check(there, "implied", place, "there is no such namespace")?;
        }
        for (place, (pod, _)) in saved.arrivals.iter().enumerate() {
            let there = self.scheduler.has_pod(*pod);
            check(there, "arrivals", place, "there is no such pod")?;
        }
        self.implied = saved.implied;
        self.arrivals = saved.arrivals.into_iter().collect();
        self.arrivals_count = saved.arrivals_count;
        Ok(())
    }
}

/// Room for a quarter more nodes and pods than the state holds, and some.
fn room_for(content: &Content) -> Result<Capacities, CapacityExceeded> {
    let (nodes, pods) = content.scheduler.size();
    Size::around(nodes, pods).capacities()
}

/// Makes something in larger and larger tables until they hold it; nodes and pods are counted.
pub(super) fn restore_growing<T>(
    mut capacities: Capacities,
    make: impl Fn(Capacities) -> Result<T, StateError>,
) -> Result<T, StateError> {
    for _ in 0..DOUBLINGS_MAX {
        match make(capacities) {
            Err(StateError::Capacity(CapacityExceeded { which, .. }))
                if !matches!(which, "nodes" | "pods" | "bytes") =>
            {
                capacities = capacities.grown(which);
            }
            made => return made,
        }
    }
    make(capacities)
}

fn saved(object: &Object) -> Option<SavedObject> {
    let metadata = object.metadata();
    let (namespace, name) = (metadata.namespace.clone(), metadata.name.clone());
    Some(match object {
        Object::PriorityClass(own) => SavedObject::PriorityClass {
            name,
            value: own.value,
            global_default: own.global_default,
            preemption_policy: own.preemption_policy.clone(),
        },
        Object::RuntimeClass(own) => SavedObject::RuntimeClass {
            name,
            overhead: own.overhead.as_ref().map(|own| amounts(&own.pod_fixed)),
            scheduling: own.scheduling.as_ref().map(|own| {
                let tolerations = own.tolerations.iter().map(|own| {
                    [&own.key, &own.operator, &own.value, &own.effect].map(String::clone)
                });
                (own.node_selector.clone(), tolerations.collect())
            }),
        },
        Object::LimitRange(own) => {
            let limits = own.spec.limits.iter().map(|own| {
                let parts = [&own.default, &own.default_request, &own.max, &own.min];
                (own.type_.clone(), parts.map(amounts))
            });
            SavedObject::LimitRange {
                namespace,
                name,
                limits: limits.collect(),
            }
        }
        _ => return None,
    })
}

fn restored(saved: SavedObject) -> Option<Object> {
    let meta = |namespace, name| ObjectMeta {
        name,
        namespace,
        ..ObjectMeta::default()
    };
    Some(match saved {
        SavedObject::PriorityClass {
            name,
            value,
            global_default,
            preemption_policy,
        } => Object::PriorityClass(PriorityClass {
            metadata: meta(String::new(), name),
            value,
            global_default,
            preemption_policy,
        }),
        SavedObject::RuntimeClass {
            name,
            overhead,
            scheduling,
        } => {
            let overhead = match overhead {
                Some(own) => Some(Overhead {
                    pod_fixed: list(own)?,
                }),
                None => None,
            };
            let toleration = |[key, operator, value, effect]: [String; 4]| Toleration {
                key,
                operator,
                value,
                effect,
            };
            Object::RuntimeClass(RuntimeClass {
                metadata: meta(String::new(), name),
                overhead,
                scheduling: scheduling.map(|(node_selector, own)| RuntimeClassScheduling {
                    node_selector,
                    tolerations: own.into_iter().map(toleration).collect(),
                }),
            })
        }
        SavedObject::LimitRange {
            namespace,
            name,
            limits,
        } => {
            let limit = |(type_, [default, default_request, max, min]): (String, [Amounts; 4])| {
                Some(LimitRangeItem {
                    type_,
                    default: list(default)?,
                    default_request: list(default_request)?,
                    max: list(max)?,
                    min: list(min)?,
                })
            };
            Object::LimitRange(LimitRange {
                metadata: meta(namespace, name),
                spec: LimitRangeSpec {
                    limits: limits.into_iter().map(limit).collect::<Option<_>>()?,
                },
            })
        }
    })
}

fn amounts(list: &ResourceList) -> Amounts {
    let amounts = list.iter();
    amounts
        .map(|(name, amount)| (name.clone(), amount.to_string()))
        .collect()
}

fn list(amounts: Amounts) -> Option<ResourceList> {
    let amounts = amounts
        .into_iter()
        .map(|(name, amount)| Some((name, Quantity::parse(&amount).ok()?)));
    amounts.collect()
}
