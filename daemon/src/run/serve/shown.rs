//! Certificates of clients in the handshake: any will do, if who shows it has its key.
//!
//! Mirrors `tls.RequestClientCert`, under which upstream serves. Which certificates are good for anything
//! the gate finds out with each request, so that authorities can change while a connection is open.

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};

/// Takes what is shown.
#[derive(Debug)]
pub struct Shown {
    /// Whose certificates are of use; clients choose by them.
    hints: Vec<DistinguishedName>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Shown {
    /// `authorities` are told to clients.
    pub fn new(authorities: Vec<CertificateDer<'static>>, provider: &CryptoProvider) -> Self {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(authorities);
        Self {
            hints: roots.subjects(),
            algorithms: provider.signature_verification_algorithms,
        }
    }
}

impl ClientCertVerifier for Shown {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &self.hints
    }

    fn verify_client_cert(
        &self,
        _own: &CertificateDer<'_>,
        _between: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, own, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        own: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, own, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
