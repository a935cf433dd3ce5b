//! Certificates of an API server that are not taken (section 6 of the promises).

use super::{Api, connection};
use crate::run::limiter::Limiter;
use rcgen::{
    BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    date_time_ymd,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

type Signed = (Vec<CertificateDer<'static>>, KeyPair);

fn authority() -> (Issuer<'static, KeyPair>, String) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let pem = params.self_signed(&key).expect("it signs itself").pem();
    (Issuer::new(params, key), pem)
}

/// A server's certificate for 127.0.0.1, but for what is changed about it.
fn signed(by: &Issuer<'static, KeyPair>, change: fn(&mut CertificateParams)) -> Signed {
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("an address");
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    change(&mut params);
    let key = KeyPair::generate().expect("a key");
    let certificate = params.signed_by(&key, by).expect("it signs");
    (vec![certificate.der().clone()], key)
}

/// Says `{}` to everything behind this certificate.
async fn serve((chain, key): Signed) -> u16 {
    let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("it goes together");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("it is bound").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // One who does not trust us goes away.
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut bytes = [0; 4096];
            let _ = stream.read(&mut bytes).await;
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
            let _ = stream.write_all(answer).await;
        }
    });
    port
}

async fn is_taken(folder: &Path, authority: &str, certificate: Signed) -> bool {
    let port = serve(certificate).await;
    let ca = folder.join("ca.crt");
    std::fs::write(&ca, authority).expect("it is written");
    let config = json!({
        "clusters": [{"name": "c", "cluster": {
            "server": format!("https://127.0.0.1:{port}"), "certificate-authority": ca,
        }}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    });
    let file = folder.join("kubeconfig");
    std::fs::write(&file, config.to_string()).expect("it is written");
    let way = connection(&file.display().to_string(), None).await;
    let api = Api::new(&way.expect("a kubeconfig"), "test", Limiter::new(-1.0, 0));
    let api = api.expect("a client");
    api.get("/version", Duration::from_secs(20)).await.is_ok()
}

#[tokio::test]
async fn certificates_that_prove_nothing_are_not_taken() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let folder = tempfile::tempdir().expect("a folder");
    let (own, pem) = authority();
    let (other, _) = authority();
    let taken = async |certificate| is_taken(folder.path(), &pem, certificate).await;
    assert!(taken(signed(&own, |_| {})).await, "the right one");
    let itself = {
        let params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("an address");
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("it signs itself");
        (vec![certificate.der().clone()], key)
    };
    let posing = {
        // A leaf of ours signs another one, which it may not.
        let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).expect("an address");
        params.is_ca = IsCa::ExplicitNoCa;
        let key = KeyPair::generate().expect("a key");
        let leaf = params.signed_by(&key, &own).expect("it signs");
        let (mut chain, key) = signed(&Issuer::new(params, key), |_| {});
        chain.push(leaf.der().clone());
        (chain, key)
    };
    for (name, certificate) in [
        ("of an unknown issuer", signed(&other, |_| {})),
        (
            "expired",
            signed(&own, |own| own.not_after = date_time_ymd(2020, 1, 1)),
        ),
        (
            "not yet valid",
            signed(&own, |own| own.not_before = date_time_ymd(3000, 1, 1)),
        ),
        (
            "of another name",
            signed(&own, |own| own.subject_alt_names.clear()),
        ),
        (
            "for clients",
            signed(&own, |own| {
                own.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
            }),
        ),
        ("signed by a leaf", posing),
        ("signed by itself", itself),
    ] {
        assert!(!taken(certificate).await, "{name}");
    }
}
