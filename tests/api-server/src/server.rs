//! The server as the test holds it.

use crate::call::Call;
use crate::fault::{Fault, Order};
use crate::http::{Shared, accept};
use crate::kind::{Kind, Target};
use crate::state::{Listener, State};
use crate::store::{Key, Store};
use crate::watch::{bookmark_at, write};
use crate::write::set_defaults;
use serde_json::{Value, json};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The end of a test that hangs; far above what anything here takes.
const LIMIT: Duration = Duration::from_mins(3);

/// An API server on a port of loopback, without TLS. It is gone when this value is.
#[derive(Debug)]
pub struct Server {
    shared: Arc<Shared>,
    address: SocketAddr,
    accepting: Option<JoinHandle<()>>,
}

/// All objects and their versions at one time.
#[derive(Clone, Debug)]
pub struct Saved(Store);

impl Server {
    /// A new one. What exists is `extension-apiserver-authentication`, with nobody's authority.
    pub async fn start() -> Self {
        let mut server = Self {
            shared: Arc::default(),
            address: (Ipv4Addr::LOCALHOST, 0).into(),
            accepting: None,
        };
        let authority = json!({
            "metadata": {"namespace": "kube-system", "name": "extension-apiserver-authentication"},
            "data": {"client-ca-file": ""},
        });
        server.put("configmaps", authority);
        server.up().await;
        server
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// A kubeconfig, which is JSON as well as YAML, for a user who says `token`.
    pub fn kubeconfig(&self, token: &str) -> String {
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": self.url()}}],
            "users": [{"name": "test", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        });
        config.to_string()
    }

    /// Refuses connections and cuts those that are open.
    pub async fn down(&mut self) {
        if let Some(accepting) = self.accepting.take() {
            accepting.abort();
            // It says that it was aborted, which is known.
            let _ = accepting.await;
        }
    }

    /// Serves again, at the same place.
    pub async fn up(&mut self) {
        let listener = TcpListener::bind(self.address).await;
        let listener = listener.unwrap_or_else(|error| panic!("{}: {error}", self.address));
        self.address = listener.local_addr().expect("it is bound");
        let accepting = accept(listener, Arc::clone(&self.shared));
        self.accepting = Some(tokio::spawn(accepting));
    }

    /// Creates or replaces an object of a resource, and gives it back as it is then.
    pub fn put(&self, resource: &str, mut object: Value) -> Value {
        let text = |field: &str| {
            object["metadata"][field]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let key: Key = (Kind::of(resource), text("namespace"), text("name"));
        set_defaults(key.0, &mut object);
        self.shared.change(|state| {
            let lost = state.loses_changes;
            state.store.put(&key, object, lost).value().into_owned()
        })
    }

    /// Creates objects of a resource that were there before anybody came, in bulk: watches that are open
    /// hear nothing of them, and of the server's memory they take little more than their texts.
    pub fn fill(&self, resource: &str, objects: impl Iterator<Item = Value>) {
        let kind = Kind::of(resource);
        self.shared.change(|state| {
            for mut object in objects {
                let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
                let key: Key = (kind, text("namespace").to_owned(), text("name").to_owned());
                set_defaults(kind, &mut object);
                state.store.fill(&key, object);
            }
        });
    }

    /// Removes an object at once, if it is there.
    pub fn remove(&self, resource: &str, namespace: &str, name: &str) {
        let key = key(resource, namespace, name);
        self.shared.change(|state| {
            let lost = state.loses_changes;
            state.store.remove(&key, lost)
        });
    }

    /// An object as it is now.
    pub fn get(&self, resource: &str, namespace: &str, name: &str) -> Option<Value> {
        let key = key(resource, namespace, name);
        let state = self.shared.look();
        let object = state.store.get(&key)?;
        Some(object.value().into_owned())
    }

    /// All objects of a resource, in the order of their names.
    pub fn all(&self, resource: &str) -> Vec<Value> {
        let state = self.shared.look();
        let all = state.store.all(Kind::of(resource));
        all.map(|object| object.value().into_owned()).collect()
    }

    /// The version of the last change.
    pub fn version(&self) -> u64 {
        self.shared.look().store.version()
    }

    /// Every request so far, in the order in which they came.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.look().calls.clone()
    }

    /// From now on each request is told as it comes, by verb, resource (with its subresource behind a
    /// slash) and name, and no more is kept of it: a benchmark makes millions. The server waits meanwhile.
    pub fn listen(&self, listener: impl FnMut(&str, &str, &str) + Send + 'static) {
        let listener = Listener(Box::new(listener));
        self.shared.change(|state| state.listener = Some(listener));
    }

    /// Requests with a verb and a resource (with its subresource behind a slash).
    pub fn count(&self, verb: &str, resource: &str) -> usize {
        let state = self.shared.look();
        let calls = state.calls.iter();
        calls
            .filter(|call| call.verb == verb && call.resource == resource)
            .count()
    }

    /// Watches of a resource that are open.
    pub fn watches(&self, resource: &str) -> usize {
        let state = self.shared.look();
        state.open.get(resource).copied().unwrap_or_default()
    }

    /// Waits until `look` has an answer, which it is asked for after each change and each request.
    pub async fn until<T>(&self, what: &str, mut look: impl FnMut(&Self) -> Option<T>) -> T {
        let mut bell = self.shared.bell();
        let found = tokio::time::timeout(LIMIT, async {
            loop {
                if let Some(found) = look(self) {
                    return found;
                }
                // The bell lives as long as the server.
                let _ = bell.changed().await;
            }
        });
        found
            .await
            .unwrap_or_else(|_| panic!("waited in vain: {what}"))
    }

    /// From now on, the next `times` requests with this verb and resource (`*` for any) end so.
    /// Of faults that fit, the one ordered first comes first.
    pub fn order(&self, verb: &str, resource: &str, times: u64, fault: Fault) -> Order {
        let order = |state: &mut State| state.faults.order(verb, resource, times, fault);
        self.shared.change(order)
    }

    /// Takes a fault back; what it holds goes on.
    pub fn lift(&self, order: Order) {
        self.shared.change(|state| state.faults.lift(order));
    }

    /// Takes all faults back.
    pub fn lift_all(&self) {
        self.shared.change(|state| state.faults.lift_all());
    }

    /// Ends the open watches of a resource in good order, as a server does that is busy.
    pub fn end_watches(&self, resource: &str) {
        self.shared.change(|state| state.cut(resource));
    }

    /// Watches of a resource stay open and say nothing, until they may again.
    pub fn silence_watches(&self, resource: &str, silent: bool) {
        self.shared.change(|state| {
            if silent {
                state.silent.insert(resource.to_owned());
            } else {
                state.silent.remove(resource);
            }
            state.store.touch_all();
        });
    }

    /// Changes made while this is on are never told to watches; lists have them.
    pub fn lose_changes(&self, lost: bool) {
        self.shared.change(|state| state.loses_changes = lost);
    }

    /// Sends bytes, whatever they are, through the open watches of a resource.
    pub fn say(&self, resource: &str, line: &[u8]) {
        let said = (resource.to_owned(), line.to_vec());
        self.shared.change(|state| {
            state.said.push(said);
            state.store.touch_all();
        });
    }

    /// Sends an event, such as one that was there before, through the open watches of a resource.
    pub fn say_event(&self, resource: &str, what: &str, object: &Value) {
        let mut line = Vec::new();
        write(&mut line, what, object.to_string().as_bytes());
        self.say(resource, &line);
    }

    /// Sends a bookmark of the present version.
    pub fn bookmark(&self, resource: &str) {
        let target = Target {
            kind: Kind::of(resource),
            namespace: String::new(),
            name: String::new(),
            subresource: String::new(),
        };
        let bookmark = bookmark_at(&target, self.version());
        self.say_event(resource, "BOOKMARK", &bookmark);
    }

    /// Forgets all changes so far: watches and pages that go by an older version get 410.
    pub fn forget_history(&self) {
        self.shared.change(|state| state.store.forget());
    }

    /// All objects as they are.
    pub fn save(&self) -> Saved {
        Saved(self.shared.look().store.clone())
    }

    /// Everything is as it was then, the version too, as when etcd was restored. Watches end.
    pub fn restore(&self, saved: Saved) {
        self.shared.change(|state| {
            state.store = saved.0;
            state.cut_all();
        });
    }

    /// A token is that of a user.
    pub fn know_token(&self, token: &str, user: &str, groups: &[&str]) {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        let user = (user.to_owned(), groups);
        self.shared
            .change(|state| state.reviews.tokens.insert(token.to_owned(), user));
    }

    /// From now on whoever says another token is refused with 401; `None` lets everybody in, as at first.
    pub fn admit(&self, token: Option<&str>) {
        let token = token.map(str::to_owned);
        self.shared.change(|state| state.token = token);
    }

    /// A user may do this to a resource, or to a path that is none's.
    pub fn allow(&self, user: &str, verb: &str, what: &str) {
        let right = [user, verb, what].map(str::to_owned).into();
        self.shared
            .change(|state| state.reviews.rights.insert(right));
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(accepting) = &self.accepting {
            accepting.abort();
        }
    }
}

fn key(resource: &str, namespace: &str, name: &str) -> Key {
    (Kind::of(resource), namespace.to_owned(), name.to_owned())
}
