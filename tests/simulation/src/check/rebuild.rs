//! The state against one that is built anew from the objects alone (I16), and against the server
//! (I17).

use crate::simulation::{Simulation, new_scheduler};
use crate::violation::{Check, ensure};
use berth_core::Change;
use berth_core::object::Object;

/// Compares with a scheduler that is fed with what is there.
pub(crate) fn rebuilt(simulation: &mut Simulation) -> Check {
    // What is assumed of volumes stands in no object.
    if !simulation.shadow.storage.promises.are_kept() {
        return Ok(());
    }
    simulation.looks.rebuilt += 1;
    let mut fresh = new_scheduler(&simulation.setup);
    fresh.advance(simulation.engine.now());
    let (pods, others): (Vec<_>, Vec<_>) = simulation
        .client
        .told
        .values()
        .partition(|object| matches!(object, Object::Pod(_)));
    for object in others.into_iter().chain(pods) {
        let mut object = object.clone();
        if let Object::Pod(pod) = &mut object {
            let key = crate::expected::key_of(pod);
            let node = simulation.pods.get(&key).and_then(|own| own.node.clone());
            pod.spec.node_name = node.unwrap_or_default();
        }
        let result = fresh.apply(Change::Added, &object);
        ensure(result.is_ok(), "I16", || {
            format!("what is there does not fit a new scheduler: {result:?}, {object:?}")
        })?;
    }
    let (own, anew) = (simulation.engine.state_hash(), fresh.state_hash());
    ensure(own == anew, "I16", || {
        "the state is not that of its objects".into()
    })
}

/// After everything was listed: what the scheduler was told is what the server holds, but for what
/// it had no room for.
pub(crate) fn whole(simulation: &Simulation) -> Check {
    let client = &simulation.client;
    for (id, own) in &simulation.server.objects {
        let finished = matches!(&own.object, Object::Pod(pod) if pod.status.is_finished());
        let told = client.told.get(id);
        let expected = Some(&own.object).filter(|_| !finished);
        let refused = client.refused.contains(id);
        ensure(refused || told == expected, "I17", || {
            format!("the server holds {expected:?}, the scheduler was told {told:?}")
        })?;
    }
    for id in client.told.keys() {
        let there = simulation.server.objects.contains_key(id) || client.refused.contains(id);
        ensure(there, "I17", || format!("the server does not hold {id:?}"))?;
    }
    Ok(())
}
