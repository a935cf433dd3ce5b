//! Whose word is taken: certificates of extenders.

use super::{Extender, TIMEOUT, keeps, notes};
use berth_core::object::config::Extender as Config;
use rustls::pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// An extender that speaks TLS as `extender.test` and says `{}` to everything; its port and the
/// certificate that is its own authority, in PEM.
async fn serve() -> (u16, String) {
    let made = rcgen::generate_simple_self_signed(vec!["extender.test".to_owned()]);
    let made = made.expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("it goes together");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("it is bound").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // One who does not trust us goes away.
                let Ok(mut stream) = acceptor.accept(stream).await else {
                    return;
                };
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n{}") {
                    let mut bytes = [0; 512];
                    let count = stream.read(&mut bytes).await.unwrap_or(0);
                    if count == 0 {
                        return;
                    }
                    request.extend_from_slice(&bytes[..count]);
                }
                let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
                let _ = stream.write_all(answer).await;
            });
        }
    });
    (port, made.cert.pem())
}

fn config(port: u16, fields: &Value) -> Config {
    let mut config = json!({
        "urlPrefix": format!("https://127.0.0.1:{port}/under/"), "httpTimeout": "5s",
    });
    for (name, value) in fields.as_object().expect("fields") {
        config[name] = value.clone();
    }
    serde_json::from_value(config).expect("a configuration")
}

async fn answer(port: u16, fields: Value) -> Result<Value, String> {
    let extender = Extender::new(config(port, &fields)).await?;
    extender.send("filter", b"{}".to_vec()).await
}

#[tokio::test]
async fn a_certificate_is_checked_if_there_is_something_to_check_it_by() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let (port, authority) = serve().await;
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("ca.crt");
    std::fs::write(&file, &authority).expect("it is written");
    let named = json!({"caFile": file, "serverName": "extender.test"});
    for fields in [
        json!({"enableHTTPS": true}),
        json!({"enableHTTPS": true, "tlsConfig": {"insecure": true}}),
        json!({"tlsConfig": {"insecure": true}}),
        json!({"enableHTTPS": true, "tlsConfig": named.clone()}),
        json!({"tlsConfig": named}),
    ] {
        assert_eq!(
            answer(port, fields.clone()).await,
            Ok(json!({})),
            "{fields}"
        );
        let is_told = notes(&[config(port, &fields)]).count() == 1;
        assert_eq!(is_told, fields["tlsConfig"]["caFile"].is_null(), "{fields}");
    }
    let other = rcgen::generate_simple_self_signed(vec!["extender.test".to_owned()]);
    let other = other.expect("a certificate").cert.pem();
    std::fs::write(folder.path().join("other.crt"), other).expect("it is written");
    for fields in [
        // Whose name is another one's, who is signed by another one, and who is not known at all.
        json!({"enableHTTPS": true, "tlsConfig": {"caFile": file}}),
        json!({"enableHTTPS": true, "tlsConfig": {
            "caFile": folder.path().join("other.crt"), "serverName": "extender.test"}}),
        json!({}),
    ] {
        let error = answer(port, fields.clone()).await.expect_err("not trusted");
        assert!(error.contains("/under/filter"), "{fields}: {error}");
    }
}

#[tokio::test]
async fn every_call_has_an_end() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    for (given, expected) in [
        ("-1s", TIMEOUT),
        ("0s", TIMEOUT),
        ("7s", Duration::from_secs(7)),
    ] {
        let extender = Extender::new(config(1, &json!({"httpTimeout": given}))).await;
        assert_eq!(extender.expect("an extender").time, expected, "{given}");
    }
}

#[test]
fn only_what_requests_carry_is_kept() {
    let config = |fields| config(1, &fields);
    let kept = |all: &[Config]| {
        let keeps = keeps(all);
        [keeps.pending, keeps.bound, keeps.nodes]
    };
    assert_eq!(kept(&[]), [false; 3]);
    assert_eq!(
        kept(&[config(json!({"bindVerb": "b"}))]),
        [true, false, false]
    );
    let knows = json!({"filterVerb": "f", "preemptVerb": "p", "nodeCacheCapable": true});
    assert_eq!(kept(&[config(knows)]), [true, false, false]);
    assert_eq!(
        kept(&[config(json!({"preemptVerb": "p"}))]),
        [true, true, false]
    );
    assert_eq!(
        kept(&[config(json!({"filterVerb": "f"}))]),
        [true, false, true]
    );
}
