// SPDX-License-Identifier: GPL-2.0-or-later
//! Request of `fastpath-rules update`: validation, and the verification method of each source.

use std::collections::BTreeSet;
use std::path::PathBuf;

use config::Fault;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::select::{Selector, category_name};
use crate::verify::{UsignKey, checksum};

/// Source name of fastpath's own rules.
pub const OWN: &str = "fastpath";

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    #[serde(default)]
    pub sources: Vec<SourceRequest>,
    /// fastpath's own rules; `None` if disabled.
    #[serde(default)]
    pub builtin: Option<Builtin>,
    /// Folder for archives, rule sets and the state.
    pub store: PathBuf,
    /// Maximum size of each download and of each unpacked source.
    pub limit_bytes: u64,
    /// Test program with its arguments; `{rules}` is replaced by the rule file and `{dir}` by a
    /// writable folder.
    pub test: Vec<String>,
    /// Timeout of the test in seconds.
    #[serde(default = "five_minutes")]
    pub test_seconds: u64,
    /// Timeout of each download in seconds.
    #[serde(default = "five_minutes")]
    pub download_seconds: u64,
    /// If false, the selection is applied to existing archives without a download.
    #[serde(default = "yes")]
    pub download: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Builtin {
    pub path: PathBuf,
    /// See [`SourceRequest::disable`].
    #[serde(default)]
    pub disable: Vec<String>,
    /// See [`SourceRequest::drop`].
    #[serde(default)]
    pub drop: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceRequest {
    /// Unique; letters, digits, `-` and `_`.
    pub name: String,
    /// http or https URL of an archive or plain rule file.
    pub url: String,
    /// SHA-256 of the archive, 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// https URL of a checksum file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256_url: Option<String>,
    /// URL of a usign or signify signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature_url: Option<String>,
    /// Public key of the signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Accepts an https download without checksum and signature.
    #[serde(default)]
    pub unverified: bool,
    /// Rule files by name without `.rules`; empty selects all.
    #[serde(default)]
    pub categories: Vec<String>,
    /// Selectors of rules to disable: `SID`, `GID:SID` or `cat:NAME`.
    #[serde(default)]
    pub disable: Vec<String>,
    /// Selectors of alerts to convert to drops.
    #[serde(default)]
    pub drop: Vec<String>,
}

fn five_minutes() -> u64 {
    300
}

fn yes() -> bool {
    true
}

#[derive(Debug, Error)]
pub enum RequestError {
    #[error("invalid request: {0}")]
    Json(#[from] serde_json::Error),
    #[error("{0}")]
    Value(String),
}

/// Verification method of a source.
#[derive(Debug, Clone)]
pub enum Proof {
    Sha256(String),
    /// URL of the published SHA-256.
    Sha256At(String),
    /// URL of the signature, and the key that made it.
    Signature(String, UsignKey),
    /// TLS only.
    Transport,
}

impl Proof {
    /// Returns the name for the state: `sha256`, `signature` or `none`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sha256(_) | Self::Sha256At(_) => "sha256",
            Self::Signature(..) => "signature",
            Self::Transport => "none",
        }
    }
}

impl Request {
    /// Parses and checks a request.
    ///
    /// # Errors
    /// Fails if a field is invalid; the error names field and source.
    pub fn parse(text: &str) -> Result<Self, RequestError> {
        let request: Self = serde_json::from_slice(text.as_bytes())?;
        let wrong = |what: String| Err(RequestError::Value(what));
        if !request.store.is_absolute() {
            return wrong(format!("store '{}' is not an absolute path", request.store.display()));
        }
        if request.test.is_empty() || !request.test.iter().any(|word| word.contains("{rules}")) {
            return wrong("test is not a program with {rules} among its arguments".to_owned());
        }
        if request.limit_bytes == 0 || request.test_seconds == 0 || request.download_seconds == 0 {
            return wrong(
                "limit_bytes, test_seconds and download_seconds are at least 1".to_owned(),
            );
        }
        let mut names = BTreeSet::new();
        for source in &request.sources {
            source.check().map_err(|(what, why)| {
                RequestError::Value(format!("source '{}', {what}: {why}", source.name))
            })?;
            if !names.insert(&source.name) {
                return wrong(format!("source '{}' is there twice", source.name));
            }
        }
        let own = request.builtin.iter().flat_map(|own| own.disable.iter().chain(&own.drop));
        selectors(own).map_err(|why| RequestError::Value(format!("builtin: {why}")))?;
        Ok(request)
    }
}

impl SourceRequest {
    /// Checks all fields.
    ///
    /// # Errors
    /// The first invalid field, with its fault.
    pub fn check(&self) -> Result<(), (&'static str, Fault)> {
        if !is_source_name(&self.name) {
            return Err(("name", Fault::SourceName));
        }
        if self.name == OWN {
            return Err(("name", Fault::SourceReserved));
        }
        check_url(&self.url).map_err(|why| ("url", why))?;
        self.check_choices()?;
        self.proof().map(|_| ())
    }

    /// Checks categories and selectors.
    ///
    /// # Errors
    /// The first invalid field, with its fault.
    pub fn check_choices(&self) -> Result<(), (&'static str, Fault)> {
        for category in &self.categories {
            category_name(category).map_err(|fault| ("categories", fault))?;
        }
        selectors(&self.disable).map_err(|why| ("disable", why))?;
        selectors(&self.drop).map_err(|why| ("drop", why))?;
        Ok(())
    }

    /// Returns the verification method; a signature takes precedence over a checksum.
    ///
    /// # Errors
    /// Returns the invalid or missing field.
    pub fn proof(&self) -> Result<Proof, (&'static str, Fault)> {
        if let Some(url) = &self.signature_url {
            check_url(url).map_err(|why| ("signature_url", why))?;
            let key = self.key.as_deref().ok_or(("key", Fault::Missing))?;
            let key = UsignKey::parse(key).map_err(|fault| ("key", fault))?;
            return Ok(Proof::Signature(url.clone(), key));
        }
        if let Some(sum) = &self.sha256 {
            let sum = checksum(sum);
            let sum = sum.ok_or(("sha256", Fault::Checksum))?;
            return Ok(Proof::Sha256(sum));
        }
        if let Some(url) = &self.sha256_url {
            check_url(url).map_err(|why| ("sha256_url", why))?;
            if !url.starts_with("https://") {
                return Err(("sha256_url", Fault::ChecksumPlain));
            }
            return Ok(Proof::Sha256At(url.clone()));
        }
        match (self.unverified, self.url.starts_with("https://")) {
            (true, true) => Ok(Proof::Transport),
            (true, false) => Err(("unverified", Fault::UnverifiedPlain)),
            (false, _) => Err(("unverified", Fault::Unverified)),
        }
    }

    #[must_use]
    pub fn file_name(&self) -> &str {
        let path = self.url.split(['?', '#']).next().unwrap_or_default();
        path.rsplit('/').next().unwrap_or_default()
    }
}

/// Reports whether the text is valid as a source name and as a file name in the store.
#[must_use]
pub fn is_source_name(text: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !text.is_empty() && text.len() <= 64 && text.chars().all(good)
}

/// Checks the scheme, the length and the characters of a URL.
///
/// # Errors
/// The first fault.
pub fn check_url(url: &str) -> Result<(), Fault> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
    let rest = rest.ok_or(Fault::UrlScheme)?;
    if rest.is_empty() || rest.starts_with('/') || url.len() > 2000 {
        return Err(Fault::UrlHost);
    }
    if !url.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Fault::UrlCharacters);
    }
    Ok(())
}

pub(crate) fn selectors<'a>(
    texts: impl IntoIterator<Item = &'a String>,
) -> Result<Vec<Selector>, Fault> {
    texts.into_iter().map(|text| text.parse()).collect()
}
