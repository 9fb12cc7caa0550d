// SPDX-License-Identifier: GPL-2.0-or-later
//! The request of `fastpath-rules update`: fields, defaults (300 s for a download and for the
//! test), names of sources, URLs, and how a source may be verified.

use std::collections::BTreeSet;
use std::path::PathBuf;

use config::Fault;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::select::{Selector, category_name};
use crate::verify::{UsignKey, checksum};

/// The name under which our own rules appear.
pub const OWN: &str = "fastpath";

/// One update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// In the order of the settings.
    #[serde(default)]
    pub sources: Vec<SourceRequest>,
    /// Our own rules, unless they are switched off.
    #[serde(default)]
    pub builtin: Option<Builtin>,
    /// Folder for everything that is kept.
    pub store: PathBuf,
    /// Most bytes that each source may unpack to, and that each download may have.
    pub limit_bytes: u64,
    /// The program that tests a rule file, with its arguments; `{rules}` is the file, `{dir}` a
    /// folder it may write to.
    pub test: Vec<String>,
    /// Seconds for the test.
    #[serde(default = "five_minutes")]
    pub test_seconds: u64,
    /// Seconds for each download.
    #[serde(default = "five_minutes")]
    pub download_seconds: u64,
    /// False: only earlier downloads are used, with the current selection.
    #[serde(default = "yes")]
    pub download: bool,
}

/// Our own rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Builtin {
    /// The rule file.
    pub path: PathBuf,
    /// As in [`SourceRequest::disable`].
    #[serde(default)]
    pub disable: Vec<String>,
    /// As in [`SourceRequest::drop`].
    #[serde(default)]
    pub drop: Vec<String>,
}

/// One source.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceRequest {
    /// Letters, digits, `-`, `_`; unique.
    pub name: String,
    /// Archive or plain rule file; http or https.
    pub url: String,
    /// Its SHA-256, 64 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// Where its SHA-256 is published; https.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256_url: Option<String>,
    /// Where its signature by usign or signify is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature_url: Option<String>,
    /// The public key for that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Do without checksum and signature; only over https.
    #[serde(default)]
    pub unverified: bool,
    /// Names of files without `.rules`; none: all.
    #[serde(default)]
    pub categories: Vec<String>,
    /// `SID`, `GID:SID` or `cat:NAME`.
    #[serde(default)]
    pub disable: Vec<String>,
    /// Likewise: alerts that become drops.
    #[serde(default)]
    pub drop: Vec<String>,
}

fn five_minutes() -> u64 {
    300
}

fn yes() -> bool {
    true
}

/// Why a request is not carried out.
#[derive(Debug, Error)]
pub enum RequestError {
    /// Not JSON of the documented shape.
    #[error("invalid request: {0}")]
    Json(#[from] serde_json::Error),
    /// A value that cannot be used.
    #[error("{0}")]
    Value(String),
}

/// How a source is verified.
#[derive(Debug, Clone)]
pub enum Proof {
    /// It has this SHA-256.
    Sha256(String),
    /// It has the SHA-256 found there.
    Sha256At(String),
    /// It has a signature there by this key.
    Signature(String, UsignKey),
    /// Not at all, but it comes over TLS.
    Transport,
}

impl Proof {
    /// For state and page: `sha256`, `signature` or `none`.
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
    /// Reads and checks a request.
    ///
    /// # Errors
    /// It cannot be carried out, with the source and value that is wrong.
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
    /// Whether everything in it can be used; the error is the field and its defect.
    ///
    /// # Errors
    /// The first field that cannot.
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

    /// Whether categories and selectors can be used, as [`SourceRequest::check`].
    ///
    /// # Errors
    /// The first that cannot.
    pub fn check_choices(&self) -> Result<(), (&'static str, Fault)> {
        for category in &self.categories {
            category_name(category).map_err(|fault| ("categories", fault))?;
        }
        selectors(&self.disable).map_err(|why| ("disable", why))?;
        selectors(&self.drop).map_err(|why| ("drop", why))?;
        Ok(())
    }

    /// How it is verified: a signature before a published checksum before nothing.
    ///
    /// # Errors
    /// The field that is wrong or missing.
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

    /// Last part of the URL's path: the source's name of the file.
    #[must_use]
    pub fn file_name(&self) -> &str {
        let path = self.url.split(['?', '#']).next().unwrap_or_default();
        path.rsplit('/').next().unwrap_or_default()
    }
}

/// Whether a text can name a source, and a file in the store.
#[must_use]
pub(crate) fn is_source_name(text: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !text.is_empty() && text.len() <= 64 && text.chars().all(good)
}

/// Whether a URL is one that is fetched.
///
/// # Errors
/// It is not.
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

/// Reads selectors.
///
/// # Errors
/// The first invalid one, with its defect.
pub(crate) fn selectors<'a>(
    texts: impl IntoIterator<Item = &'a String>,
) -> Result<Vec<Selector>, Fault> {
    texts.into_iter().map(|text| text.parse()).collect()
}
