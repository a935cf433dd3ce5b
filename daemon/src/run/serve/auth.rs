//! Who asks, and whether they may.
//!
//! Mirrors the filter chain of kube-scheduler: paths that are always allowed are open; else the user is
//! found by the front proxy's headers, a client certificate or a token, or is anonymous, and the API
//! server is asked whether they may. Who vouches for certificates is read again every ten seconds.

use super::listener::Peer;
use super::review::{Reviews, User};
use super::vouchers::{Proxy, Vouchers};
use crate::failure::Failure;
use crate::run::client::{Api, connection};
use crate::run::flags::AuthenticationArgs;
use crate::run::limiter::Limiter;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use berth_core::object::config::Duration as Span;
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use serde_json::json;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};

const ANONYMOUS: &str = "system:anonymous";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const AUTHENTICATED: &str = "system:authenticated";
/// May do everything.
const MASTERS: &str = "system:masters";
/// Files and settings that say who vouches for whom are looked at so often.
const LOOK: Duration = Duration::from_secs(10);

/// Lets those through who may.
pub struct Gate {
    args: AuthenticationArgs,
    vouchers: RwLock<Arc<Vouchers>>,
    reviews: Reviews,
}

impl Gate {
    /// `api` is that of the scheduler, used where no kubeconfig is given for reviews. Who vouches for
    /// whom is looked at again and again as long as the process runs.
    ///
    /// # Errors
    /// A file that cannot be used; the cluster's settings, unless they may be missing.
    pub async fn new(args: &AuthenticationArgs, api: &Api) -> Result<Arc<Self>, Failure> {
        let reviewer = async |file: &Option<String>| -> Result<Api, Failure> {
            match file.as_deref().filter(|file| !file.is_empty()) {
                None => Ok(api.clone()),
                Some(file) => {
                    let connection = connection(file, None).await?;
                    // Upstream's rate of these clients.
                    Api::new(&connection, "reviews", Limiter::new(200.0, 400))
                }
            }
        };
        let authentication = reviewer(&args.authentication_kubeconfig).await?;
        let authorization = reviewer(&args.authorization_kubeconfig).await?;
        let times = [
            args.authentication_token_webhook_cache_ttl,
            args.authorization_webhook_cache_authorized_ttl,
            args.authorization_webhook_cache_unauthorized_ttl,
        ];
        let vouchers = Vouchers::read(args, &authentication, true).await?;
        let gate = Arc::new(Self {
            args: args.clone(),
            vouchers: RwLock::new(Arc::new(vouchers)),
            reviews: Reviews::new(authentication.clone(), authorization, times.map(span)),
        });
        tokio::spawn(gate.clone().look(authentication));
        Ok(gate)
    }

    /// Reads who vouches for whom again. What cannot be read leaves those who did.
    async fn look(self: Arc<Self>, api: Api) {
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.tick().await;
        loop {
            ticks.tick().await;
            match Vouchers::read(&self.args, &api, false).await {
                Ok(vouchers) if vouchers == *self.vouchers() => {}
                Ok(vouchers) => {
                    tracing::info!(target: "serve", "Others vouch for clients now");
                    let vouchers = Arc::new(vouchers);
                    *self
                        .vouchers
                        .write()
                        .unwrap_or_else(PoisonError::into_inner) = vouchers;
                }
                Err(Failure::Usage(why)) => {
                    tracing::error!(target: "serve", why, "Who vouches for clients was not read again");
                }
                Err(_) => {}
            }
        }
    }

    fn vouchers(&self) -> Arc<Vouchers> {
        let vouchers = self.vouchers.read();
        vouchers.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Those who vouch for clients and for the front proxy.
    pub fn authorities(&self) -> Vec<CertificateDer<'static>> {
        let vouchers = self.vouchers();
        let all = vouchers.clients.iter().chain(&vouchers.proxy.authorities);
        all.cloned().collect()
    }

    /// Who asks; `None` if they claim to be somebody and are not.
    async fn user(&self, peer: &Peer, headers: &HeaderMap) -> Option<User> {
        let vouchers = self.vouchers();
        if let Some(user) = proxied(&vouchers.proxy, peer, headers) {
            return Some(user);
        }
        if let Some((name, groups)) = vouched(peer, &vouchers.clients) {
            return Some(known(name, groups));
        }
        let given = headers.get(header::AUTHORIZATION);
        let given = given.and_then(|value| value.to_str().ok()?.split_once(' '));
        let bearer = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, token)) = bearer else {
            if !peer.chain.is_empty() {
                return None;
            }
            // Who speaks another scheme says nothing, as upstream.
            return Some(User {
                name: ANONYMOUS.to_owned(),
                groups: vec![UNAUTHENTICATED.to_owned()],
                ..User::default()
            });
        };
        match self.reviews.user_of(token.trim()).await {
            Ok(user) => user.map(|mut user| {
                if !user.groups.iter().any(|group| group == AUTHENTICATED) {
                    user.groups.push(AUTHENTICATED.to_owned());
                }
                user
            }),
            Err(error) => {
                tracing::error!(target: "serve", %error, "Unable to authenticate a request");
                None
            }
        }
    }

    fn is_open(&self, path: &str) -> bool {
        let mut open = self.args.authorization_always_allow_paths.iter();
        open.any(|allowed| match allowed.strip_suffix('*') {
            Some(prefix) => path.starts_with(prefix),
            None => path == allowed,
        })
    }
}

/// The user that the front proxy asks for.
fn proxied(proxy: &Proxy, peer: &Peer, headers: &HeaderMap) -> Option<User> {
    let (name, _) = vouched(peer, &proxy.authorities)?;
    if !proxy.names.is_empty() && !proxy.names.contains(&name) {
        return None;
    }
    let all = |names: &[String]| -> Vec<String> {
        let values = names.iter().flat_map(|name| headers.get_all(name.as_str()));
        let values = values.filter_map(|value| value.to_str().ok());
        values.map(str::to_owned).collect()
    };
    let name = all(&proxy.user_headers)
        .into_iter()
        .find(|name| !name.is_empty())?;
    let mut user = known(name, all(&proxy.group_headers));
    user.uid = all(&proxy.uid_headers)
        .into_iter()
        .next()
        .unwrap_or_default();
    for (key, value) in headers {
        let prefixes = proxy
            .extra_prefixes
            .iter()
            .map(|prefix| prefix.to_lowercase());
        for prefix in prefixes {
            if let (Some(key), Ok(value)) = (key.as_str().strip_prefix(&prefix), value.to_str()) {
                let values = user.extra.entry(key.to_owned()).or_default();
                values.push(value.to_owned());
            }
        }
    }
    Some(user)
}

fn known(name: String, mut groups: Vec<String>) -> User {
    groups.push(AUTHENTICATED.to_owned());
    User {
        name,
        groups,
        ..User::default()
    }
}

fn span(duration: Span) -> Duration {
    Duration::from_nanos(u64::try_from(duration.nanos()).unwrap_or_default())
}

/// Name and groups of a certificate that one of these vouches for.
fn vouched(peer: &Peer, authorities: &[CertificateDer<'static>]) -> Option<(String, Vec<String>)> {
    let (own, between) = peer.chain.split_first()?;
    if authorities.is_empty() {
        return None;
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(authorities.iter().cloned());
    let verifier = WebPkiClientVerifier::builder(Arc::new(roots))
        .build()
        .ok()?;
    verifier
        .verify_client_cert(own, between, UnixTime::now())
        .ok()?;
    let (_, certificate) = x509_parser::parse_x509_certificate(own).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().next()?.as_str().ok()?.to_owned();
    let groups = subject.iter_organization();
    let groups = groups.filter_map(|group| group.as_str().ok().map(str::to_owned));
    Some((name, groups.collect()))
}

/// Before each request.
pub async fn guard(
    State(gate): State<Arc<Gate>>,
    ConnectInfo(peer): ConnectInfo<Peer>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path().to_owned();
    let user = gate.user(&peer, request.headers()).await;
    let Some(user) = user else {
        return status(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized");
    };
    let verb = match *request.method() {
        Method::GET => "get",
        Method::HEAD => "head",
        Method::PUT => "put",
        Method::POST => "post",
        Method::DELETE => "delete",
        Method::PATCH => "patch",
        _ => "options",
    };
    let may_all = user.groups.iter().any(|group| group == MASTERS);
    if !gate.is_open(&path) && !may_all {
        let (allowed, why) = match gate.reviews.allows(&user, verb, &path).await {
            Ok(answer) => answer,
            Err(error) => {
                tracing::error!(target: "serve", %error, "Unable to authorize a request");
                (false, String::new())
            }
        };
        if !allowed {
            let why = if why.is_empty() {
                why
            } else {
                format!(": {why}")
            };
            let name = &user.name;
            let message = format!("forbidden: User {name:?} cannot {verb} path {path:?}{why}");
            return status(StatusCode::FORBIDDEN, "Forbidden", &message);
        }
    }
    next.run(request).await
}

fn status(code: StatusCode, reason: &str, message: &str) -> Response {
    let body = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code.as_u16(),
    });
    let headers = [(header::CONTENT_TYPE, "application/json")];
    (code, headers, body.to_string()).into_response()
}
