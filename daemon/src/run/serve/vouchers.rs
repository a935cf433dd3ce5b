//! Who vouches for clients of the port, and for the front proxy: files that are given, and else what the
//! cluster's own settings say.

use super::certificate::authorities;
use crate::failure::Failure;
use crate::run::client::{Api, REQUEST_TIME};
use crate::run::flags::AuthenticationArgs;
use rustls::pki_types::CertificateDer;
use serde::Deserialize;
use std::path::Path;

/// The cluster's own settings, which say who vouches for whom.
const SETTINGS: &str =
    "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

/// How the front proxy says for whom it asks.
#[derive(Debug, Default, PartialEq)]
pub struct Proxy {
    pub authorities: Vec<CertificateDer<'static>>,
    pub names: Vec<String>,
    pub user_headers: Vec<String>,
    pub uid_headers: Vec<String>,
    pub group_headers: Vec<String>,
    pub extra_prefixes: Vec<String>,
}

/// Their certificates.
#[derive(Debug, Default, PartialEq)]
pub struct Vouchers {
    pub clients: Vec<CertificateDer<'static>>,
    pub proxy: Proxy,
}

impl Vouchers {
    /// Files that are given, else the cluster's settings, which may be missing at the start alone.
    ///
    /// # Errors
    /// A file that cannot be used; the cluster's settings, unless they may be missing.
    pub async fn read(args: &AuthenticationArgs, api: &Api, starts: bool) -> Result<Self, Failure> {
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
                Err(why) if starts && args.authentication_tolerate_lookup_failure => {
                    let hint = "requests with a client certificate may be refused";
                    tracing::warn!(target: "serve", why, hint, "Unable to read the cluster's authentication settings");
                }
                Err(why) => {
                    let hint = if starts {
                        "; --authentication-tolerate-lookup-failure goes on without"
                    } else {
                        ""
                    };
                    return Err(Failure::Usage(format!("reading {SETTINGS}: {why}{hint}")));
                }
            }
        }
        Ok(Self {
            clients: clients.unwrap_or_default(),
            proxy: proxy.unwrap_or_default(),
        })
    }
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
