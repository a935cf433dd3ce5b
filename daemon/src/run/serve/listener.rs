//! TLS over the port, with what the other end showed.
//!
//! The certificate is read again every ten seconds. Handshakes run beside each other, a bounded number of
//! connections in all. Who vouches for a client's certificate is asked with each request and not here, as
//! upstream does: whom nobody vouches for is answered 401.

use super::auth::Gate;
use super::certificate::{self, Pair};
use super::shown::Shown;
use crate::failure::Failure;
use crate::run::flags::ServingArgs;
use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{Receiver, channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Connections at a time.
const CONNECTIONS_MAX: usize = 1000;
/// A handshake takes so long at most.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Files are looked at so often.
const LOOK: Duration = Duration::from_secs(10);

/// What is needed for a handshake.
pub struct Tls {
    pair: Pair,
    /// Knows who vouches for those who ask.
    gate: Arc<Gate>,
    versions: Vec<&'static rustls::SupportedProtocolVersion>,
    suites: Vec<rustls::SupportedCipherSuite>,
    http2: bool,
    made: Mutex<Option<Made>>,
}

/// A configuration, and when its files were looked at.
struct Made {
    config: Arc<ServerConfig>,
    at: Instant,
}

impl Tls {
    /// # Errors
    /// Files that cannot be read or do not go together, unknown versions and suites.
    pub fn new(args: &ServingArgs, gate: Arc<Gate>) -> Result<Self, Failure> {
        let versions: Vec<&'static rustls::SupportedProtocolVersion> =
            match args.tls_min_version.as_deref() {
                None | Some("" | "VersionTLS10" | "VersionTLS11" | "VersionTLS12") => {
                    vec![&rustls::version::TLS13, &rustls::version::TLS12]
                }
                Some("VersionTLS13") => vec![&rustls::version::TLS13],
                Some(other) => {
                    let known = "expected VersionTLS12 or VersionTLS13";
                    let message = format!("--tls-min-version={other}: {known}");
                    return Err(Failure::Usage(message));
                }
            };
        let tls = Self {
            pair: Pair::new(args)?,
            gate,
            versions,
            suites: certificate::suites(&args.tls_cipher_suites)?,
            http2: !args.disable_http2_serving,
            made: Mutex::new(None),
        };
        tls.make().map_err(Failure::Usage)?;
        Ok(tls)
    }

    /// The configuration of the next handshake.
    fn config(&self) -> Option<Arc<ServerConfig>> {
        {
            let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(made) = &*made
                && made.at.elapsed() < LOOK
            {
                return Some(made.config.clone());
            }
        }
        if let Err(error) = self.make() {
            // The one that is there is good until the files are.
            tracing::error!(target: "serve", error, "Certificates were not read again");
        }
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let made = made.as_mut()?;
        made.at = Instant::now();
        Some(made.config.clone())
    }

    fn make(&self) -> Result<(), String> {
        let (chain, key) = self.pair.read()?;
        let provider = rustls::crypto::CryptoProvider {
            cipher_suites: self.suites.clone(),
            ..rustls::crypto::ring::default_provider()
        };
        let provider = Arc::new(provider);
        let builder = ServerConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&self.versions)
            .map_err(|error| error.to_string())?;
        let authorities = self.gate.authorities();
        let builder = if authorities.is_empty() {
            builder.with_no_client_auth()
        } else {
            let shown = Shown::new(authorities, &provider);
            builder.with_client_cert_verifier(Arc::new(shown))
        };
        let mut config = builder
            .with_single_cert(chain, key)
            .map_err(|error| format!("the serving certificate: {error}"))?;
        if self.http2 {
            config.alpn_protocols.push(b"h2".to_vec());
        }
        config.alpn_protocols.push(b"http/1.1".to_vec());
        *self.made.lock().unwrap_or_else(PoisonError::into_inner) = Some(Made {
            config: Arc::new(config),
            at: Instant::now(),
        });
        Ok(())
    }
}

/// Hands out connections whose handshake is done.
pub struct Listener {
    ready: Receiver<(Held, SocketAddr)>,
    local: SocketAddr,
}

/// A connection, and its place among those that there may be.
pub struct Held {
    stream: TlsStream<TcpStream>,
    _place: OwnedSemaphorePermit,
}

/// Who is at the other end.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    /// Certificate chain whose key they have, whoever made it; empty if none was shown.
    pub chain: Vec<CertificateDer<'static>>,
}

impl Listener {
    /// Over a port that is listened on.
    pub fn new(tcp: TcpListener, tls: Tls) -> Self {
        let local = tcp
            .local_addr()
            .unwrap_or_else(|_| SocketAddr::from(([0, 0, 0, 0], 0)));
        let (to, ready) = channel(16);
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let tls = Arc::new(tls);
        tokio::spawn(async move {
            loop {
                let Ok(place) = places.clone().acquire_owned().await else {
                    return;
                };
                let Ok((stream, address)) = tcp.accept().await else {
                    // As when no file handle is left.
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    continue;
                };
                let (to, tls) = (to.clone(), tls.clone());
                tokio::spawn(async move {
                    let Some(config) = tls.config() else {
                        return;
                    };
                    let handshake = TlsAcceptor::from(config).accept(stream);
                    if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, handshake).await {
                        let held = Held {
                            stream,
                            _place: place,
                        };
                        let _ = to.send((held, address)).await;
                    }
                });
            }
        });
        Self { ready, local }
    }
}

impl axum::serve::Listener for Listener {
    type Io = Held;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Held, SocketAddr) {
        match self.ready.recv().await {
            Some(accepted) => accepted,
            // Nothing will come any more.
            None => std::future::pending().await,
        }
    }

    fn local_addr(&self) -> std::io::Result<SocketAddr> {
        Ok(self.local)
    }
}

impl Connected<IncomingStream<'_, Listener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, Listener>) -> Self {
        let (_, connection) = stream.io().stream.get_ref();
        let chain = connection.peer_certificates().unwrap_or_default();
        Self {
            chain: chain.iter().map(|one| one.clone().into_owned()).collect(),
        }
    }
}

macro_rules! delegate {
    ($self:ident, $cx:ident, $trait:ident :: $method:ident $(, $arg:ident)*) => {
        tokio::io::$trait::$method(
            std::pin::Pin::new(&mut $self.get_mut().stream), $cx $(, $arg)*)
    };
}

type Task<'a> = std::task::Context<'a>;
type Ready<T> = std::task::Poll<std::io::Result<T>>;

impl tokio::io::AsyncRead for Held {
    fn poll_read(
        self: std::pin::Pin<&mut Self>,
        cx: &mut Task<'_>,
        into: &mut tokio::io::ReadBuf<'_>,
    ) -> Ready<()> {
        delegate!(self, cx, AsyncRead::poll_read, into)
    }
}

impl tokio::io::AsyncWrite for Held {
    fn poll_write(self: std::pin::Pin<&mut Self>, cx: &mut Task<'_>, from: &[u8]) -> Ready<usize> {
        delegate!(self, cx, AsyncWrite::poll_write, from)
    }

    fn poll_flush(self: std::pin::Pin<&mut Self>, cx: &mut Task<'_>) -> Ready<()> {
        delegate!(self, cx, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(self: std::pin::Pin<&mut Self>, cx: &mut Task<'_>) -> Ready<()> {
        delegate!(self, cx, AsyncWrite::poll_shutdown)
    }
}
