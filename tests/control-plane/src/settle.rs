//! When schedulers have done all that they can, and whether they did it lawfully.

use crate::api::Api;
use crate::audit::Row;
use crate::check::{Cluster, bound_twice};
use crate::control_plane::{ControlPlane, Scheduler};
use crate::wait::until;

/// Pods that name no scheduler are its own.
pub const SCHEDULER: &str = "default-scheduler";

/// The whole cluster as the API shows it.
pub async fn read(api: &Api) -> Cluster {
    Cluster::read(api).await.expect("the API answers")
}

/// Waits until every pod that fits is bound and every other one told why it is not; no scheduler may end
/// meanwhile.
pub async fn done(api: &Api, schedulers: &mut [&mut Scheduler]) {
    until("the schedulers have done all that they can", async || {
        for scheduler in schedulers.iter_mut() {
            if let Some(status) = scheduler.process.exit_status() {
                panic!("ended by itself, {status}: {}", scheduler.process.log());
            }
        }
        read(api)
            .await
            .violations(SCHEDULER)
            .is_empty()
            .then_some(())
    })
    .await;
}

/// Nothing was bound twice, and nothing was asked that the scheduler's role does not allow.
pub fn assert_lawful(plane: &ControlPlane) {
    let rows = plane.audit();
    assert_eq!(bound_twice(&rows), []);
    let refused = rows.iter().filter(|row| row.code == 403);
    let refused: Vec<&Row> = refused
        .filter(|row| row.user == "system:kube-scheduler")
        .collect();
    assert!(refused.is_empty(), "{refused:?}");
}
