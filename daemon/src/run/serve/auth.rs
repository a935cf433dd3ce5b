//! Who asks, and whether they may.
//!
//! Mirrors the filter chain of kube-scheduler: paths that are always allowed are open; else the user is
//! found by the front proxy's headers, a client certificate or a token, or is anonymous, and the API
//! server is asked whether they may.

use super::certificate::authorities;
use super::listener::Peer;
use super::review::{Reviews, User};
use crate::failure::Failure;
use crate::run::client::{Api, REQUEST_TIME, connection};
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
use serde::Deserialize;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const ANONYMOUS: &str = "system:anonymous";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const AUTHENTICATED: &str = "system:authenticated";
/// May do everything.
const MASTERS: &str = "system:masters";
/// The cluster's own settings, which say who vouches for whom.
const SETTINGS: &str =
    "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

/// How the front proxy says for whom it asks.
#[derive(Default)]
struct Proxy {
    authorities: Vec<CertificateDer<'static>>,
    names: Vec<String>,
    user_headers: Vec<String>,
    uid_headers: Vec<String>,
    group_headers: Vec<String>,
    extra_prefixes: Vec<String>,
}

/// Lets those through who may.
pub struct Gate {
    args: AuthenticationArgs,
    clients: Vec<CertificateDer<'static>>,
    proxy: Proxy,
    reviews: Reviews,
}

impl Gate {
    /// `api` is that of the scheduler, used where no kubeconfig is given for reviews. Who vouches for
    /// whom is read once.
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
        let (clients, proxy) = vouchers(args, &authentication).await?;
        Ok(Arc::new(Self {
            args: args.clone(),
            clients,
            proxy,
            reviews: Reviews::new(authentication, authorization, times.map(span)),
        }))
    }

    /// Those that handshakes may be done with, of clients and of the front proxy.
    pub fn authorities(&self) -> Vec<CertificateDer<'static>> {
        let all = self.clients.iter().chain(&self.proxy.authorities);
        all.cloned().collect()
    }

    /// Who asks; `None` if they claim to be somebody and are not.
    async fn user(&self, peer: &Peer, headers: &HeaderMap) -> Option<User> {
        if let Some(user) = self.proxied(peer, headers) {
            return Some(user);
        }
        if let Some((name, groups)) = vouched(peer, &self.clients) {
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

    /// The user that the front proxy asks for.
    fn proxied(&self, peer: &Peer, headers: &HeaderMap) -> Option<User> {
        let proxy = &self.proxy;
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
                if let (Some(key), Ok(value)) = (key.as_str().strip_prefix(&prefix), value.to_str())
                {
                    let values = user.extra.entry(key.to_owned()).or_default();
                    values.push(value.to_owned());
                }
            }
        }
        Some(user)
    }

    fn is_open(&self, path: &str) -> bool {
        let mut open = self.args.authorization_always_allow_paths.iter();
        open.any(|allowed| match allowed.strip_suffix('*') {
            Some(prefix) => path.starts_with(prefix),
            None => path == allowed,
        })
    }
}

/// Who vouches for whom: files that are given, else the cluster's settings.
async fn vouchers(
    args: &AuthenticationArgs,
    api: &Api,
) -> Result<(Vec<CertificateDer<'static>>, Proxy), Failure> {
    let from_file = |flag: &str, file: &Path| {
        let wrong = |why: String| Failure::Usage(format!("--{flag} {}: {why}", file.display()));
        let pem = std::fs::read(file).map_err(|error| wrong(error.to_string()))?;
        authorities(&pem).map_err(wrong)
    };
    let given = |file: &Option<std::path::PathBuf>| {
        file.clone().filter(|file| !file.as_os_str().is_empty())
    };
    let mut clients = None;
    if let Some(file) = given(&args.client_ca_file) {
        clients = Some(from_file("client-ca-file", &file)?);
    }
    let mut proxy = None;
    if let Some(file) = given(&args.requestheader_client_ca_file) {
        proxy = Some(Proxy {
            authorities: from_file("requestheader-client-ca-file", &file)?,
            names: args.requestheader_allowed_names.clone(),
            user_headers: args.requestheader_username_headers.clone(),
            uid_headers: args.requestheader_uid_headers.clone(),
            group_headers: args.requestheader_group_headers.clone(),
            extra_prefixes: args.requestheader_extra_headers_prefix.clone(),
        });
    }
    if (clients.is_none() || proxy.is_none()) && !args.authentication_skip_lookup {
        match looked_up(api).await {
            Ok((their_clients, their_proxy)) => {
                clients = clients.or(their_clients);
                proxy = proxy.or(their_proxy);
            }
            Err(why) if args.authentication_tolerate_lookup_failure => {
                let hint = "requests with a client certificate may be refused";
                tracing::warn!(target: "serve", why, hint, "Unable to read the cluster's authentication settings");
            }
            Err(why) => {
                return Err(Failure::Usage(format!(
                    "reading {SETTINGS}: {why}; --authentication-tolerate-lookup-failure goes on \
                     without"
                )));
            }
        }
    }
    Ok((clients.unwrap_or_default(), proxy.unwrap_or_default()))
}

async fn looked_up(
    api: &Api,
) -> Result<(Option<Vec<CertificateDer<'static>>>, Option<Proxy>), String> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Settings {
        data: std::collections::BTreeMap<String, String>,
    }
    let bytes = api.get(SETTINGS, REQUEST_TIME).await;
    let bytes = bytes.map_err(|error| error.to_string())?;
    let Settings { data } = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    let pem = |key: &str| {
        data.get(key)
            .map(|pem| authorities(pem.as_bytes()))
            .transpose()
    };
    let list = |key: &str| -> Vec<String> {
        let text = data.get(key).map_or("[]", String::as_str);
        serde_json::from_str(text).unwrap_or_default()
    };
    let proxy = pem("requestheader-client-ca-file")?.map(|authorities| Proxy {
        authorities,
        names: list("requestheader-allowed-names"),
        user_headers: list("requestheader-username-headers"),
        uid_headers: list("requestheader-uid-headers"),
        group_headers: list("requestheader-group-headers"),
        extra_prefixes: list("requestheader-extra-headers-prefix"),
    });
    Ok((pem("client-ca-file")?, proxy))
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
