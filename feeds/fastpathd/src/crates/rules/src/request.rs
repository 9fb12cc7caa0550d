// SPDX-License-Identifier: GPL-2.0-or-later
//! The request of `fastpath-rules update`: checks its fields, and determines how each source is
//! verified.

use std::collections::BTreeSet;
use std::path::PathBuf;

use config::Fault;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::select::{Selector, category_name};
use crate::verify::{UsignKey, checksum};

/// Name of our own rules among the sources.
pub const OWN: &str = "fastpath";

/// Request for one update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Sources in the order of the settings.
    #[serde(default)]
    pub sources: Vec<SourceRequest>,
    /// Our own rules; `None` if they are disabled.
    #[serde(default)]
    pub builtin: Option<Builtin>,
    /// Folder for archives, rule sets and the state.
    pub store: PathBuf,
    /// Maximum size of each download, and of each unpacked source.
    pub limit_bytes: u64,
    /// Program that tests a rule file, with its arguments. `{rules}` stands for the file, `{dir}`
    /// for a folder that the program may write to.
    pub test: Vec<String>,
    /// Timeout of the test, seconds.
    #[serde(default = "five_minutes")]
    pub test_seconds: u64,
    /// Timeout of each download, seconds.
    #[serde(default = "five_minutes")]
    pub download_seconds: u64,
    /// If false, the current selection is applied to earlier downloads.
    #[serde(default = "yes")]
    pub download: bool,
}

/// Our own rules.
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
    /// URL of an archive or plain rule file, http or https.
    pub url: String,
    /// SHA-256 of the archive, 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// URL at which the SHA-256 is published, https.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256_url: Option<String>,
    /// URL of a signature by usign or signify.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature_url: Option<String>,
    /// Public key of the signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Accepts the archive without checksum and signature, over https only.
    #[serde(default)]
    pub unverified: bool,
    /// Names of rule files without `.rules`; all if empty.
    #[serde(default)]
    pub categories: Vec<String>,
    /// Selectors of rules to disable: `SID`, `GID:SID` or `cat:NAME`.
    #[serde(default)]
    pub disable: Vec<String>,
    /// Selectors of alerts that become drops.
    #[serde(default)]
    pub drop: Vec<String>,
}

fn five_minutes() -> u64 {
    300
}

fn yes() -> bool {
    true
}

/// Why a request is refused.
#[derive(Debug, Error)]
pub enum RequestError {
    /// The request is not JSON of the documented form.
    #[error("invalid request: {0}")]
    Json(#[from] serde_json::Error),
    /// A value is invalid.
    #[error("{0}")]
    Value(String),
}

/// How a source is verified.
#[derive(Debug, Clone)]
pub enum Proof {
    /// The archive has this SHA-256.
    Sha256(String),
    /// The archive has the SHA-256 published at this URL.
    Sha256At(String),
    /// The archive has a signature at this URL, made by this key.
    Signature(String, UsignKey),
    /// The archive is not verified, but TLS protects its transport.
    Transport,
}

impl Proof {
    /// Returns the name for state and page: `sha256`, `signature` or `none`.
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
    /// A value is invalid; the error names it and its source.
    pub fn parse(text: &str) -> Result<Self, RequestError> {
        let request: Self = serde_json::from_str(text)?;
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

    /// Returns how the source is verified: a signature takes precedence over a checksum.
    ///
    /// # Errors
    /// The field that is invalid or missing.
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

    /// Returns the last part of the URL's path, which is the file's name at the source.
    #[must_use]
    pub fn file_name(&self) -> &str {
        let path = self.url.split(['?', '#']).next().unwrap_or_default();
        path.rsplit('/').next().unwrap_or_default()
    }
}

/// Reports whether a text can name a source, and thus a file in the store.
#[must_use]
pub(crate) fn is_source_name(text: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !text.is_empty() && text.len() <= 64 && text.chars().all(good)
}

/// Checks a URL.
///
/// # Errors
/// The fault of the URL.
pub(crate) fn check_url(url: &str) -> Result<(), Fault> {
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

/// Parses selectors.
///
/// # Errors
/// The fault of the first invalid one.
pub(crate) fn selectors<'a>(
    texts: impl IntoIterator<Item = &'a String>,
) -> Result<Vec<Selector>, Fault> {
    texts.into_iter().map(|text| text.parse()).collect()
}
