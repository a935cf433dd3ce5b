//! The certificate that is served: given, kept in a folder, or made for this process.

use crate::failure::Failure;
use crate::run::flags::ServingArgs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};

/// Where certificate and key are.
pub enum Pair {
    Files { certificate: PathBuf, key: PathBuf },
    Made { certificate: String, key: String },
}

type Chain = Vec<CertificateDer<'static>>;

impl Pair {
    /// As the flags say. Mirrors `MaybeDefaultWithSelfSignedCerts`.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn new(args: &ServingArgs) -> Result<Self, Failure> {
        if let (Some(certificate), Some(key)) = (&args.tls_cert_file, &args.tls_private_key_file) {
            return Ok(Self::Files {
                certificate: certificate.clone(),
                key: key.clone(),
            });
        }
        let wrong = |why: String| Failure::Usage(format!("the self-signed certificate: {why}"));
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let make = || {
            rcgen::generate_simple_self_signed(names)
                .map(|made| (made.cert.pem(), made.signing_key.serialize_pem()))
                .map_err(|error| wrong(error.to_string()))
        };
        let Some(folder) = args
            .cert_dir
            .as_ref()
            .filter(|dir| !dir.as_os_str().is_empty())
        else {
            let (certificate, key) = make()?;
            return Ok(Self::Made { certificate, key });
        };
        let certificate = folder.join("kube-scheduler.crt");
        let key = folder.join("kube-scheduler.key");
        if !certificate.exists() && !key.exists() {
            let (made, made_key) = make()?;
            let write = |path: &Path, text: &str, mode: u32| {
                use std::io::Write;
                use std::os::unix::fs::OpenOptionsExt;
                let mut options = std::fs::OpenOptions::new();
                let file = options.write(true).create(true).truncate(true).mode(mode);
                let written = file
                    .open(path)
                    .and_then(|mut file| file.write_all(text.as_bytes()));
                written.map_err(|error| wrong(format!("{}: {error}", path.display())))
            };
            std::fs::create_dir_all(folder)
                .map_err(|error| wrong(format!("{}: {error}", folder.display())))?;
            write(&certificate, &made, 0o644)?;
            write(&key, &made_key, 0o600)?;
        }
        Ok(Self::Files { certificate, key })
    }

    /// Reads both.
    ///
    /// # Errors
    /// The file and what is wrong with it.
    pub fn read(&self) -> Result<(Chain, PrivateKeyDer<'static>), String> {
        let (certificate, key, [of_certificate, of_key]) = match self {
            Self::Files { certificate, key } => (
                read(certificate)?,
                read(key)?,
                [certificate.display().to_string(), key.display().to_string()],
            ),
            Self::Made { certificate, key } => (
                certificate.clone().into_bytes(),
                key.clone().into_bytes(),
                ["self-signed".to_owned(), "self-signed".to_owned()],
            ),
        };
        let chain = authorities(&certificate).map_err(|why| format!("{of_certificate}: {why}"))?;
        let key = PrivateKeyDer::from_pem_slice(&key)
            .map_err(|error| format!("{of_key}: no private key: {error}"))?;
        Ok((chain, key))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Certificates of a PEM text.
///
/// # Errors
/// None at all, or one that is broken.
pub fn authorities(pem: &[u8]) -> Result<Chain, String> {
    let read: Result<Chain, _> = CertificateDer::pem_slice_iter(pem).collect();
    match read {
        Ok(chain) if chain.is_empty() => Err("no certificate in it".to_owned()),
        Ok(chain) => Ok(chain),
        Err(error) => Err(error.to_string()),
    }
}

/// Cipher suites by Go's names; all if none is named. Those of TLS 1.3 are always on, as in Go.
///
/// # Errors
/// A name that is none of those that are offered.
pub fn suites(names: &[String]) -> Result<Vec<rustls::SupportedCipherSuite>, Failure> {
    let all = rustls::crypto::ring::default_provider().cipher_suites;
    let names: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !name.is_empty())
        .collect();
    if names.is_empty() {
        return Ok(all);
    }
    let name_of = |suite: &rustls::SupportedCipherSuite| {
        let name = suite.suite().as_str().unwrap_or_default().to_owned();
        name.replace("TLS13_", "TLS_")
    };
    for name in &names {
        if !all.iter().any(|suite| name_of(suite) == *name) {
            let known: Vec<String> = all.iter().map(name_of).collect();
            return Err(Failure::Usage(format!(
                "--tls-cipher-suites: {name} is not offered; expected some of {}",
                known.join(",")
            )));
        }
    }
    let keeps = |suite: &rustls::SupportedCipherSuite| {
        suite.tls13().is_some() || names.contains(&name_of(suite).as_str())
    };
    Ok(all.into_iter().filter(keeps).collect())
}
