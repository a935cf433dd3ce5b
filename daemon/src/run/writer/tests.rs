//! F24: what is under way when the lead ends, by a clock that the test moves.

use super::{Eviction, Report, StatusPatch, Writer};
use crate::run::client::{Api, connection};
use crate::run::events::{Event, Events};
use crate::run::lead::Lead;
use crate::run::limiter::Limiter;
use crate::run::pod_ref::PodRef;
use berth_api_server::{Fault, Refusal, Server};
use berth_core::id::PodId;
use berth_core::object::PodCondition;
use serde_json::json;
use std::time::Duration;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, sleep, sleep_until};

fn pod(server: &Server, name: &str) -> PodRef {
    let pod = server.put(
        "pods",
        json!({"metadata": {"namespace": "default", "name": name}}),
    );
    PodRef {
        id: PodId(0),
        namespace: "default".to_owned(),
        name: name.to_owned(),
        uid: pod["metadata"]["uid"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
        version: 1,
    }
}

fn event(pod: &PodRef) -> Event {
    Event {
        type_: "Normal",
        reason: "Preempted",
        action: "Preempting",
        controller: "default-scheduler".to_owned(),
        regarding: pod.reference(),
        related: None,
        note: "it goes".to_owned(),
    }
}

fn patch() -> StatusPatch {
    StatusPatch {
        condition: Some(PodCondition {
            type_: "PodScheduled".to_owned(),
            status: "False".to_owned(),
            reason: "Unschedulable".to_owned(),
            message: "no room".to_owned(),
        }),
        ..StatusPatch::default()
    }
}

#[tokio::test(start_paused = true)]
async fn f24_no_write_is_sent_again_after_the_deadline() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = Server::start().await;
    let way = connection("", Some(&server.url())).await.expect("a server");
    let api = Api::new(&way, "test", Limiter::new(-1.0, 0)).expect("a client");
    let lead = Lead::new();
    let (events, event_writer) = Events::new(api.clone(), lead.clone(), "here".to_owned());
    tokio::spawn(event_writer.run());
    let (report_to, mut reports) = unbounded_channel();
    let writer = Writer::new(api, lead.clone(), events.clone(), report_to);
    let [bound, patched, preemptor, victim] =
        ["bound", "patched", "preemptor", "victim"].map(|name| pod(&server, name));
    // The server puts everything off, for longer than the lead lasts.
    let busy = Refusal::too_many_requests(2);
    server.order("*", "*", u64::MAX, Fault::Refuse(busy));
    let deadline = Instant::now() + Duration::from_secs(9);
    lead.until(deadline);
    writer.bind(bound, "n1".to_owned(), None);
    writer.patch(patched.clone(), patch());
    events.tell(event(&patched));
    let eviction = Eviction {
        event: event(&victim),
        patch: patch(),
        victim,
    };
    writer.preempt(preemptor, vec![eviction]);
    sleep_until(deadline).await;
    let sent = server.calls();
    for (verb, resource) in [
        ("create", "pods/binding"),
        ("patch", "pods/status"),
        ("create", "events"),
    ] {
        assert!(
            server.count(verb, resource) > 1,
            "{resource} was tried and tried again"
        );
    }
    sleep(Duration::from_mins(10)).await;
    assert_eq!(server.calls().len(), sent.len(), "nothing left after that");
    // Which of the two came to its end first is chance.
    let ends = [(); 2].map(|()| reports.try_recv().expect("both came to their ends"));
    let has_failed = |end: &Report| matches!(end, Report::BindFailed { .. });
    assert!(ends.iter().any(has_failed), "{ends:?}");
    // Who leads again writes again.
    lead.until(Instant::now() + Duration::from_secs(9));
    server.lift_all();
    writer.patch(patched, patch());
    server
        .until("it is patched", |server| {
            let pod = server.get("pods", "default", "patched")?;
            (pod["status"]["conditions"][0]["reason"] == "Unschedulable").then_some(())
        })
        .await;
}
