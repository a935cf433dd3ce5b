//! Changes of nodes and pods: into the cluster, and as events to the queue.
//!
//! Mirrors `pkg/scheduler/eventhandlers.go`. The order is upstream's: what came or changed is in
//! the cluster when its event goes out; a node that goes is still there.

use super::{ApplyError, Change, Scheduler};
use crate::class::{Section, flag};
use crate::cluster::{PodRow, PodState};
use crate::id::{ClassId, PodId};
use crate::intern::{Word, release_texts, text_word};
use crate::object::{Node, Pod, parse_time};
use crate::planted::{self, Bug};
use crate::queue::event::{Event, PodSide, Resource, Side, action};
use crate::queue::hint::{Judge, is_binding};
use crate::queue::{Item, Place, side};

/// One end of an event, before it is put together.
#[derive(Clone, Copy, Default)]
pub(super) enum End {
    #[default]
    None,
    Pod(PodSide),
    /// The node whose words were written last into this end.
    Node,
    /// The same of a volume or an object of storage.
    Volume,
}

impl End {
    fn side(self, node: &side::Side) -> Side<'_> {
        match self {
            Self::None => Side::None,
            Self::Pod(pod) => Side::Pod(pod),
            Self::Node => node.read().map_or(Side::None, Side::Node),
            Self::Volume => node.read_volume().map_or(Side::None, Side::Volume),
        }
    }
}

/// An event, before it is put together.
#[derive(Clone, Copy)]
pub(super) struct News {
    pub(super) resource: Resource,
    pub(super) action: u16,
    pub(super) old: End,
    pub(super) new: End,
    /// Only pods of at most this priority hear of it.
    pub(super) highest: Option<i32>,
    /// This pod does not.
    pub(super) except: Option<PodId>,
}

impl News {
    pub(super) const fn new(resource: Resource, action: u16, old: End, new: End) -> Self {
        Self {
            resource,
            action,
            old,
            new,
            highest: None,
            except: None,
        }
    }
}

impl Scheduler {
    pub(super) fn apply_node(&mut self, change: Change, node: &Node) -> Result<(), ApplyError> {
        let name = node.metadata.name.as_str();
        let quiet = self.queue.ignores_events();
        let known = self.cluster.find_node(name).filter(|_| !quiet);
        let old_words = match known {
            Some(id) if change != Change::Added => {
                let [old, _] = &mut self.sides;
                old.fill(&mut self.cluster, id.index());
                old.words().len()
            }
            _ => 0,
        };
        let result = self
            .queue
            .check_room(old_words.saturating_add(side::bound(node)))
            .map_err(ApplyError::from)
            .and_then(|()| self.change_node(change, node, quiet));
        for side in &mut self.sides {
            side.clear(&mut self.cluster.texts);
        }
        result
    }

    fn change_node(&mut self, change: Change, node: &Node, quiet: bool) -> Result<(), ApplyError> {
        let news = |action, old, new| News::new(Resource::Node, action, old, new);
        match change {
            Change::Added => {
                let id = self.cluster.add_node(node)?;
                if !quiet {
                    self.fill_new(id.index());
                    self.tell(news(action::ADD, End::None, End::Node));
                }
            }
            Change::Modified => {
                let id = self.cluster.update_node(node)?;
                if !quiet {
                    self.fill_new(id.index());
                    for action in self.node_changes().into_iter().flatten() {
                        self.tell(news(action, End::Node, End::Node));
                    }
                }
            }
            Change::Deleted => {
                let name = node.metadata.name.as_str();
                if self.cluster.find_node(name).is_none() {
                    return Err(ApplyError::NotFound);
                }
                if !quiet {
                    self.tell(news(action::DELETE, End::Node, End::None));
                }
                self.cluster.remove_node(name)?;
            }
        }
        Ok(())
    }

    fn fill_new(&mut self, row: usize) {
        let [_, new] = &mut self.sides;
        new.fill(&mut self.cluster, row);
    }

    /// What changed of a node, one event each, in upstream's order.
    fn node_changes(&self) -> [Option<u16>; 5] {
        let [old, new] = &self.sides;
        let (Some(old), Some(new)) = (old.read(), new.read()) else {
            return [None; 5];
        };
        let of = |changed: bool, action: u16| changed.then_some(action);
        [
            of(old.unschedulable && !new.unschedulable, action::NODE_TAINT),
            of(!old.same_amounts(&new), action::NODE_ALLOCATABLE),
            of(old.labels.0 != new.labels.0, action::NODE_LABEL),
            of(
                old.taints != new.taints && !planted::is(Bug::TaintUnheard),
                action::NODE_TAINT,
            ),
            of(old.features != new.features, action::NODE_DECLARED_FEATURE),
        ]
    }

    pub(super) fn apply_pod(&mut self, change: Change, pod: &Pod) -> Result<(), ApplyError> {
        let finished = pod.status.is_finished() && !planted::is(Bug::FinishedKept);
        if change == Change::Added && finished {
            return Ok(());
        }
        self.queue.check_room(0)?;
        if change == Change::Added {
            return self.add_pod(pod);
        }
        let metadata = &pod.metadata;
        let known = self.cluster.find_pod(&metadata.namespace, &metadata.name);
        let id = known.ok_or(ApplyError::NotFound)?;
        if change == Change::Modified && !finished {
            return self.update_pod(id, pod);
        }
        self.remove_pod(id, metadata.namespace.as_str(), metadata.name.as_str())
    }

    fn add_pod(&mut self, pod: &Pod) -> Result<(), ApplyError> {
        let nomination = self.intern_nomination(pod)?;
        let added = self.cluster.add_pod(pod);
        let id = added.inspect_err(|_| release_texts(&[nomination], &mut self.cluster.texts))?;
        self.added(id, pod, nomination);
        Ok(())
    }

    /// A pod is new in the cluster: it is told, or it waits.
    fn added(&mut self, id: PodId, pod: &Pod, nomination: Word) {
        self.describe(id, pod, nomination);
        let Some(row) = self.row(id) else {
            return;
        };
        if row.node_name != 0 {
            let new = End::Pod(placed(id, row.class));
            self.tell(News::new(
                Resource::AssignedPod,
                action::ADD,
                End::None,
                new,
            ));
        } else if self.is_ours(row.class) {
            self.queue.nominate(&mut self.cluster.texts, id, nomination);
            self.enqueue(id);
        }
    }

    fn update_pod(&mut self, id: PodId, pod: &Pod) -> Result<(), ApplyError> {
        let Some(old) = self.row(id) else {
            return Err(ApplyError::NotFound);
        };
        let before = self.queue.item(id);
        let is_another = self.cluster.is_another(&old, pod);
        let nomination = self.intern_nomination(pod)?;
        // The old class is part of the events.
        self.cluster.classes.records.retain(old.class.0);
        let updated = self.cluster.update_pod(pod);
        if let Err(error) = updated {
            release_texts(&[nomination], &mut self.cluster.texts);
            self.cluster.release_class(old.class);
            return Err(error);
        }
        if is_another {
            self.replaced(id, pod, &old, nomination);
            self.cluster.release_class(old.class);
            return Ok(());
        }
        // So is the old nomination, until the new one is in force.
        let old_nomination = before.status_nomination;
        crate::intern::retain_texts(&[old_nomination], &mut self.cluster.texts);
        self.describe(id, pod, nomination);
        if let Some(new) = self.row(id) {
            // A pod that is assumed on a node that went keeps that node's name, which is not the
            // object's.
            let is_assigned = !pod.spec.node_name.is_empty();
            self.pod_updated(id, &old, &new, &before, is_assigned);
        }
        release_texts(&[old_nomination], &mut self.cluster.texts);
        self.cluster.release_class(old.class);
        Ok(())
    }

    /// Another pod has come under the name, and the cluster has it already: the old one is gone,
    /// with all that the queue knew of it, and the new one is new.
    fn replaced(&mut self, id: PodId, pod: &Pod, old: &PodRow, nomination: Word) {
        let before = self.queue.item(id);
        self.leave_queue(id);
        self.queue.forget(&mut self.cluster.texts, id);
        self.tell_removed(id, old, &before);
        self.added(id, pod, nomination);
    }

    pub(super) fn pod_updated(
        &mut self,
        id: PodId,
        old: &PodRow,
        new: &PodRow,
        before: &Item,
        is_assigned: bool,
    ) {
        let was_assigned = old.node_name != 0 && !is_binding(before.place);
        if was_assigned {
            let (from, to) = (placed(id, old.class), placed(id, new.class));
            for action in self.pod_changes(old.class, new.class) {
                let (from, to) = (End::Pod(from), End::Pod(to));
                self.tell(News::new(Resource::AssignedPod, action, from, to));
            }
        } else if is_assigned {
            self.end_promises(id, old, new, before.place);
            self.leave_queue(id);
            let to = End::Pod(placed(id, new.class));
            self.tell(News::new(Resource::AssignedPod, action::ADD, End::None, to));
        } else if old.state == PodState::Assumed || is_binding(before.place) {
            let terminates =
                |class: ClassId| self.cluster.class(class).class.has(flag::TERMINATING);
            let begins = terminates(new.class) && !terminates(old.class);
            if begins && is_binding(before.place) {
                self.assumed_pod_goes(id, old.class, before);
            }
        } else {
            match (self.is_ours(old.class), self.is_ours(new.class)) {
                (true, true) => self.pending_pod_updated(id, old, new, before),
                // The API server does not let the scheduler name change; nothing is lost if it does.
                (true, false) => self.leave_queue(id),
                (false, true) => self.queue_again(id),
                (false, false) => {}
            }
        }
    }

    fn pending_pod_updated(&mut self, id: PodId, old: &PodRow, new: &PodRow, before: &Item) {
        let status = self.queue.item(id).status_nomination;
        if before.place == Place::Nowhere {
            self.queue.renew(id);
            self.queue.nominate(&mut self.cluster.texts, id, status);
            self.enqueue(id);
        } else {
            // A nomination whose patch has not come back yet stays in force.
            let kept = before.status_nomination == 0 && status == 0;
            let node = if kept { before.nomination } else { status };
            self.queue.nominate(&mut self.cluster.texts, id, node);
        }
        if before.place == Place::Waiting {
            let side = |class| PodSide {
                pod: id,
                class,
                is_placed: false,
            };
            let (from, to) = (side(old.class), side(new.class));
            for action in self.pod_changes(old.class, new.class) {
                let event = Event {
                    resource: Resource::TargetPod,
                    action,
                    old: Side::Pod(from),
                    new: Side::Pod(to),
                };
                let judge = Judge {
                    cluster: &self.cluster,
                    plans: &self.plans,
                };
                if self.queue.wake_pod(&judge, id, &event) {
                    break;
                }
            }
        }
        if before.status_nomination != 0 && before.status_nomination != status {
            let news = News {
                highest: Some(old.priority),
                ..gone(id, old.class)
            };
            self.tell(news);
        }
    }

    fn remove_pod(&mut self, id: PodId, namespace: &str, name: &str) -> Result<(), ApplyError> {
        let Some(row) = self.row(id) else {
            return Err(ApplyError::NotFound);
        };
        let before = self.queue.item(id);
        self.cluster.classes.records.retain(row.class.0);
        self.cluster.remove_pod(namespace, name)?;
        self.leave_queue(id);
        self.queue.forget(&mut self.cluster.texts, id);
        self.tell_removed(id, &row, &before);
        self.cluster.release_class(row.class);
        Ok(())
    }

    /// Others hear that a pod is gone which had a node, or was nominated to one.
    fn tell_removed(&mut self, id: PodId, row: &PodRow, before: &Item) {
        let is_assumed = row.state == PodState::Assumed || is_binding(before.place);
        let was_assigned = row.node_name != 0 && !is_binding(before.place);
        if planted::is(Bug::LostWakeUp) {
            return;
        }
        if was_assigned || is_assumed {
            self.tell(gone(id, row.class));
        } else if before.status_nomination != 0 && self.is_ours(row.class) {
            self.tell(News {
                highest: Some(row.priority),
                ..gone(id, row.class)
            });
        }
    }

    /// A pod that is not bound yet is to be deleted: what waits at Permit is rejected, what is being bound loses
    /// its room. Mirrors `handleAssumedPodDeletion`.
    fn assumed_pod_goes(&mut self, id: PodId, class: ClassId, before: &Item) {
        if before.place == Place::Permit {
            self.reject_waiting(id);
            return;
        }
        self.cluster.forget(id);
        self.tell(gone(id, class));
    }

    /// What changed of a pod, one event each; none of the known: a plain update.
    ///
    /// Mirrors `PodSchedulingPropertiesChange`.
    fn pod_changes(&self, old: ClassId, new: ClassId) -> impl Iterator<Item = u16> + use<> {
        let (old, new) = (self.cluster.class(old), self.cluster.class(new));
        let differs = |section| old.section(section) != new.section(section);
        let (mut fell, mut rose) = (false, false);
        let amounts = old.class.amounts.status.iter();
        for (before, now) in amounts.zip(&new.class.amounts.status) {
            fell |= now < before;
            rose |= now > before;
        }
        for (one, other, flag) in [(old, new, &mut fell), (new, old, &mut rose)] {
            *flag |= one.scalars().any(|scalar| {
                let mut there = other.scalars();
                let amount = there.find(|other| other.resource == scalar.resource);
                amount.is_none_or(|amount| amount.status < scalar.status)
            });
        }
        let gates = old.class.has(flag::GATED) && !new.class.has(flag::GATED);
        let tolerations = Section::Tolerations;
        let toleration = old.section(tolerations).len() != new.section(tolerations).len();
        let changes = [
            (differs(Section::Labels), action::POD_LABEL),
            (fell, action::POD_SCALE_DOWN),
            (rose, action::POD_SCALE_UP),
            (gates, action::POD_GATES_ELIMINATED),
            (toleration, action::POD_TOLERATION),
        ];
        let none = !changes.iter().any(|(changed, _)| *changed);
        let found = changes.into_iter().filter(|(changed, _)| *changed);
        found
            .map(|(_, action)| action)
            .chain(none.then_some(action::UPDATE))
    }

    /// Lets an event reach the pods that wait, and keeps it for those in flight.
    pub(super) fn tell(&mut self, news: News) {
        if self.queue.ignores_events() {
            return;
        }
        let Self {
            cluster,
            plans,
            queue,
            sides: [old, new],
            ..
        } = self;
        let event = Event {
            resource: news.resource,
            action: news.action,
            old: news.old.side(old),
            new: news.new.side(new),
        };
        let judge = Judge { cluster, plans };
        queue.wake(&judge, &event, news.highest, news.except);
        if queue.keep(&event, [old.words(), new.words()]) {
            let (from, to) = event.pods();
            for pod in [from, to].into_iter().flatten() {
                cluster.classes.records.retain(pod.class.0);
            }
            for (end, side) in [(news.old, old), (news.new, new)] {
                if matches!(end, End::Node | End::Volume) {
                    crate::intern::retain_texts(side.words(), &mut cluster.texts);
                }
            }
        }
    }

    /// Takes a pod out of every part of the queue; what is known of it stays.
    pub(super) fn leave_queue(&mut self, id: PodId) {
        self.queue.nominate(&mut self.cluster.texts, id, 0);
        self.queue.take_out(id);
        self.queue.done(id, Place::Nowhere);
        self.drop_events();
    }

    /// Gives back what events held that nobody needs any more.
    pub(super) fn drop_events(&mut self) {
        let Self { cluster, queue, .. } = self;
        queue.drop_events(|classes, nodes| {
            for class in classes.into_iter().flatten() {
                cluster.release_class(class);
            }
            for words in nodes {
                release_texts(words, &mut cluster.texts);
            }
        });
    }

    /// Puts a pod in that is new or new again.
    pub(super) fn enqueue(&mut self, id: PodId) {
        let judge = Judge {
            cluster: &self.cluster,
            plans: &self.plans,
        };
        self.queue.add(&judge, id);
    }

    /// Puts a pod back in that lost its node.
    pub(super) fn queue_again(&mut self, id: PodId) {
        let is_pending = self
            .row(id)
            .is_some_and(|row| row.state == PodState::Pending && self.is_ours(row.class));
        if is_pending && self.queue.item(id).place == Place::Nowhere {
            self.queue.renew(id);
            self.enqueue(id);
        }
    }

    /// The queue learns what the object says of the pod beside its class; takes the reference to
    /// the nomination's text over.
    fn describe(&mut self, id: PodId, pod: &Pod, nomination: Word) {
        let Some(row) = self.row(id) else {
            return;
        };
        let mut conditions = pod.status.conditions.iter();
        let disruption = conditions.find(|condition| condition.type_ == "DisruptionTarget");
        let old = self.queue.item_mut(id).map_or(0, |item| {
            item.start = pod.status.start_time.as_deref().and_then(parse_time);
            item.never_preempts = pod.spec.preemption_policy == "Never";
            item.is_terminating = pod.metadata.deletion_timestamp.is_some();
            item.is_preempted = disruption.is_some_and(|condition| {
                condition.status == "True" && condition.reason == "PreemptionByScheduler"
            });
            core::mem::replace(&mut item.status_nomination, nomination)
        });
        release_texts(&[old], &mut self.cluster.texts);
        self.queue.changed(id, row.priority, row.class, row.pin);
    }

    fn intern_nomination(&mut self, pod: &Pod) -> Result<Word, ApplyError> {
        let name = pod.status.nominated_node_name.as_str();
        if name.is_empty() {
            return Ok(0);
        }
        Ok(text_word(self.cluster.texts.intern(name)?))
    }

    pub(super) fn row(&self, id: PodId) -> Option<PodRow> {
        self.cluster.pods.get(id.index()).copied()
    }

    /// Whether a profile is responsible for pods of this class.
    fn is_ours(&self, class: ClassId) -> bool {
        self.cluster.class(class).class.profile.is_some()
    }
}

/// A pod that has a node, or had one.
pub(super) const fn placed(pod: PodId, class: ClassId) -> PodSide {
    PodSide {
        pod,
        class,
        is_placed: true,
    }
}

/// The event of a pod that took or was to take room and is gone.
pub(super) const fn gone(pod: PodId, class: ClassId) -> News {
    News::new(
        Resource::AssignedPod,
        action::DELETE,
        End::Pod(placed(pod, class)),
        End::None,
    )
}
