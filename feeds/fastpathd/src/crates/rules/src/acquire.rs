// SPDX-License-Identifier: GPL-2.0-or-later
//! Downloads and verifies the archive of a source unless the last good archive is current.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use config::secret::shown_url;

use crate::fetch::Fetcher;
use crate::reason::SourceReason;
use crate::request::{Proof, Request, SourceRequest};
use crate::store::Store;
use crate::verify::{published_checksum, sha256};

/// Maximum size of a checksum file, bytes.
const CHECKSUMS: u64 = 64 * 1024;
/// Maximum size of a signature file, bytes.
const SIGNATURE: u64 = 4 * 1024;

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fresh {
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
    /// `sha256`, `signature` or `none`.
    pub(crate) verified: &'static str,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Acquired {
    /// The archive was downloaded and verified, and is in the work folder under the source's name.
    Fresh(Fresh),
    /// The last good archive is current, or the request disables downloads.
    Same {
        /// The source was contacted, or its checksum is in the settings.
        checked: bool,
    },
}

pub(crate) fn acquire(
    request: &Request,
    source: &SourceRequest,
    store: &Store,
    fetcher: Option<&Fetcher>,
) -> Result<Acquired, SourceReason> {
    let kept = store.archive(&source.name);
    if !request.download {
        let result = kept.is_file().then_some(Acquired::Same { checked: false });
        return result.ok_or(SourceReason::NothingYet);
    }
    let kept_digest = digest(&kept).ok();
    let proof = source.proof().map_err(|(option, fault)| SourceReason::Settings {
        option: option.to_owned(),
        said: fault.to_string(),
    })?;
    let expected = match &proof {
        Proof::Sha256(sum) => Some(sum.clone()),
        Proof::Sha256At(url) => {
            let text = text(fetcher.ok_or(SourceReason::NoProgram)?, url, CHECKSUMS)?;
            let file = source.file_name();
            let missing =
                || SourceReason::NoChecksum { url: shown_url(url), file: file.to_owned() };
            Some(published_checksum(&text, file).ok_or_else(missing)?)
        }
        Proof::Signature(..) | Proof::Transport => None,
    };
    if expected.is_some() && expected == kept_digest {
        return Ok(Acquired::Same { checked: true });
    }
    let fetcher = fetcher.ok_or(SourceReason::NoProgram)?;
    let path = store.work(&source.name);
    let bytes = download(fetcher, &source.url, request.limit_bytes, &path)?;
    let found = digest(&path).map_err(|error| SourceReason::of_file(&path, &error))?;
    let url = shown_url(&source.url);
    if let Some(expected) = expected.filter(|expected| *expected != found) {
        return Err(SourceReason::Checksum { url, expected, found });
    }
    if let Proof::Signature(at, key) = &proof {
        let signature = text(fetcher, at, SIGNATURE)?;
        let unreadable = |error: io::Error| {
            let (url, said) = (url.clone(), error.to_string());
            SourceReason::Unreadable { url, said }
        };
        key.check(&signature, File::open(&path).map_err(unreadable)?, &url)?;
    }
    if kept_digest.as_ref() == Some(&found) {
        return Ok(Acquired::Same { checked: true });
    }
    Ok(Acquired::Fresh(Fresh { bytes, sha256: found, verified: proof.name() }))
}

fn digest(path: &Path) -> io::Result<String> {
    sha256(File::open(path)?)
}

fn text(fetcher: &Fetcher, url: &str, limit: u64) -> Result<String, SourceReason> {
    let mut bytes = Vec::new();
    fetcher.fetch(url, limit, &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn download(fetcher: &Fetcher, url: &str, limit: u64, path: &Path) -> Result<u64, SourceReason> {
    let failed = |error| SourceReason::of_file(path, &error);
    let mut file = BufWriter::new(File::create(path).map_err(failed)?);
    let outcome = fetcher.fetch(url, limit, &mut file);
    let flushed = file.flush();
    if outcome.is_err() || flushed.is_err() {
        // Free the space for later steps.
        let _ = fs::remove_file(path);
    }
    let bytes = outcome?;
    flushed.map_err(failed)?;
    Ok(bytes)
}
