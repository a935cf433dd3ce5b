//! A certificate authority of the test's own.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use std::fs;
use std::path::{Path, PathBuf};

/// The authority, whose certificate lies in its folder.
#[derive(Debug)]
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    folder: PathBuf,
}

/// A certificate and its key, as files.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The certificate, PEM.
    pub certificate: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
}

impl Authority {
    /// A new one, in an existing folder.
    pub fn new(folder: &Path) -> Self {
        let mut params = params("berth tests", &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        let key = new_key();
        let certificate = params.self_signed(&key).expect("it signs itself");
        write(&folder.join("authority.crt"), &certificate.pem());
        Self {
            issuer: Issuer::new(params, key),
            folder: folder.to_owned(),
        }
    }

    /// Its own certificate.
    pub fn certificate(&self) -> PathBuf {
        self.folder.join("authority.crt")
    }

    /// A server's, for 127.0.0.1.
    pub fn server(&self, name: &str) -> Pair {
        let mut params = params(name, &[]);
        let loopback = CertificateParams::new(["127.0.0.1".to_owned()]).expect("an address");
        params.subject_alt_names = loopback.subject_alt_names;
        self.sign(name, params, &[ExtendedKeyUsagePurpose::ServerAuth])
    }

    /// A server's, or a user's, whose time is over.
    pub fn expired(&self, name: &str) -> Pair {
        let mut params = params(name, &[]);
        let loopback = CertificateParams::new(["127.0.0.1".to_owned()]).expect("an address");
        params.subject_alt_names = loopback.subject_alt_names;
        params.not_before = rcgen::date_time_ymd(2020, 1, 1);
        params.not_after = rcgen::date_time_ymd(2020, 1, 2);
        let usages = [
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        self.sign(name, params, &usages)
    }

    /// A user's: Kubernetes reads the user from the common name, groups from the organizations.
    pub fn client(&self, user: &str, groups: &[&str]) -> Pair {
        let params = params(user, groups);
        self.sign(user, params, &[ExtendedKeyUsagePurpose::ClientAuth])
    }

    fn sign(
        &self,
        name: &str,
        mut params: CertificateParams,
        usages: &[ExtendedKeyUsagePurpose],
    ) -> Pair {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = usages.to_vec();
        let key = new_key();
        let certificate = params.signed_by(&key, &self.issuer).expect("it signs");
        let pair = Pair {
            certificate: self.folder.join(format!("{name}.crt")),
            key: self.folder.join(format!("{name}.key")),
        };
        write(&pair.certificate, &certificate.pem());
        write(&pair.key, &key.serialize_pem());
        pair
    }
}

fn new_key() -> KeyPair {
    KeyPair::generate().expect("keys are made")
}

fn params(name: &str, organizations: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    for organization in organizations {
        let names = &mut params.distinguished_name;
        names.push(DnType::OrganizationName, *organization);
    }
    params
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
