// Package berth is kube-scheduler's decision as a library: where a pod goes, where it could go, and why,
// by the rules of kube-scheduler 1.37, without a cluster.
//
// A [Scheduler] is filled with objects, as JSON ([Scheduler.LoadJSON], [Scheduler.ApplyJSON]) or as
// values ([Scheduler.UpsertNode], [Scheduler.CreateClass], [Scheduler.UpsertPod]), and asked:
// [Scheduler.Evaluate] judges a pod on every node in one call, [Scheduler.ScheduleOne] and
// [Scheduler.ScheduleAll] run the scheduler's loop in the time that the caller says, with backoff and
// preemption, and [Scheduler.Explain] says why. [Scheduler.Fork] tries things out.
//
// Ids are small numbers: a [NodeID] is the place of the node in bits and scores. They hold until the
// object is removed and may then become another's.
//
// A Scheduler has memory of its own, outside of Go's: Close gives it back, and a cleanup does where
// Close was forgotten. It may be used by any goroutine, by one at a time: a second one gets [ErrBusy].
// Nothing that is passed in is kept but the functions of plugins.
//
// # Linking
//
// By default the package links the archive lib/libberth.a beside it, which the install command puts
// there. With the build tag berth_pkgconfig it links what pkg-config knows as berth.
package berth
