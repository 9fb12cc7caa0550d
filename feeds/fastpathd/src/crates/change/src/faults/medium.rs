// SPDX-License-Identifier: GPL-2.0-or-later
//! A simulated file system. A power cut loses any combination of unflushed operations on names in
//! folders and bytes of files.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

type Names = BTreeMap<PathBuf, usize>;

#[derive(Clone, Default)]
struct Inode {
    folder: bool,
    bytes: Vec<u8>,
    flushed: Vec<u8>,
}

#[derive(Clone)]
enum Change {
    Link(PathBuf, usize),
    Unlink(PathBuf),
    Rename { from: PathBuf, to: PathBuf, inode: usize },
}

#[derive(Clone, Default)]
pub(super) struct Medium {
    inodes: Vec<Inode>,
    /// Names that programs see.
    names: Names,
    /// Names on the medium.
    flushed: Names,
    /// Unflushed changes, in order.
    unflushed_changes: Vec<Change>,
}

/// Contents that a power cut may leave in an unflushed file.
const REMAINDERS: [fn(&Inode) -> Vec<u8>; 4] = [
    |of| of.flushed.clone(),
    |of| of.bytes.clone(),
    |_| Vec::new(),
    |of| of.bytes[..of.bytes.len() / 2].to_vec(),
];

impl Change {
    fn folder(&self) -> Option<&Path> {
        match self {
            Self::Link(path, _) | Self::Unlink(path) | Self::Rename { to: path, .. } => {
                path.parent()
            }
        }
    }

    fn make(&self, names: &mut Names) {
        match self {
            Self::Link(path, inode) => drop(names.insert(path.clone(), *inode)),
            Self::Unlink(path) => drop(names.remove(path)),
            Self::Rename { from, to, inode } => {
                names.remove(from);
                names.insert(to.clone(), *inode);
            }
        }
    }
}

fn missing<T>() -> io::Result<T> {
    Err(io::ErrorKind::NotFound.into())
}

impl Medium {
    pub(super) fn with(folders: &[&str], files: &[(&str, &str)]) -> Self {
        let mut medium = Self::default();
        for folder in folders {
            medium.make_folder(Path::new(folder)).unwrap();
        }
        for (path, text) in files {
            medium.create(Path::new(path), text.as_bytes()).unwrap();
        }
        medium.flush_all();
        medium
    }

    pub(super) fn flush_all(&mut self) {
        self.unflushed_changes.clear();
        self.flushed.clone_from(&self.names);
        for inode in &mut self.inodes {
            inode.flushed.clone_from(&inode.bytes);
        }
    }

    pub(super) fn exists(&self, path: &Path) -> bool {
        path == Path::new("/") || self.names.contains_key(path)
    }

    pub(super) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let inode = self.names.get(path).map(|&inode| &self.inodes[inode]);
        inode.filter(|of| !of.folder).map_or_else(missing, |of| Ok(of.bytes.clone()))
    }

    pub(super) fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        if !self.exists(folder) {
            return missing();
        }
        let names = self.names.keys().filter(|path| path.parent() == Some(folder));
        Ok(names.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect())
    }

    fn note(&mut self, change: Change) -> io::Result<()> {
        if !change.folder().is_some_and(|folder| self.exists(folder)) {
            return missing();
        }
        change.make(&mut self.names);
        self.unflushed_changes.push(change);
        Ok(())
    }

    fn link(&mut self, path: &Path, inode: Inode) -> io::Result<()> {
        if self.exists(path) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.inodes.push(inode);
        self.note(Change::Link(path.to_owned(), self.inodes.len() - 1))
    }

    pub(super) fn create(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.link(path, Inode { bytes: bytes.to_owned(), ..Inode::default() })
    }

    pub(super) fn make_folder(&mut self, path: &Path) -> io::Result<()> {
        self.link(path, Inode { folder: true, ..Inode::default() })
    }

    pub(super) fn overwrite(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let Some(&inode) = self.names.get(path) else { return missing() };
        bytes.clone_into(&mut self.inodes[inode].bytes);
        Ok(())
    }

    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let Some(&inode) = self.names.get(from) else { return missing() };
        self.note(Change::Rename { from: from.to_owned(), to: to.to_owned(), inode })
    }

    pub(super) fn unlink(&mut self, path: &Path) -> io::Result<()> {
        self.read(path)?;
        self.note(Change::Unlink(path.to_owned()))
    }

    pub(super) fn flush(&mut self, path: &Path) -> io::Result<()> {
        let Some(&inode) = self.names.get(path) else { return missing() };
        let of = &mut self.inodes[inode];
        of.flushed.clone_from(&of.bytes);
        let (flushed, unflushed): (Vec<_>, Vec<_>) = std::mem::take(&mut self.unflushed_changes)
            .into_iter()
            .partition(|change: &Change| change.folder() == Some(path));
        self.unflushed_changes = unflushed;
        for change in flushed {
            change.make(&mut self.flushed);
        }
        Ok(())
    }

    /// Removes all files below a folder in memory, which a reboot clears.
    pub(super) fn clear_folder(&mut self, folder: &Path) {
        let stays = |path: &Path| path == folder || !path.starts_with(folder);
        self.names.retain(|path, _| stays(path));
        self.flushed.retain(|path, _| stays(path));
        self.unflushed_changes
            .retain(|change| change.folder().is_none_or(|of| !of.starts_with(folder)));
    }

    fn unflushed(&self) -> impl Iterator<Item = usize> {
        let differs = |of: &Inode| of.bytes != of.flushed;
        self.inodes.iter().enumerate().filter(move |(_, of)| differs(of)).map(|(number, _)| number)
    }

    pub(super) fn outcomes(&self) -> usize {
        self.unflushed().fold(1 << self.unflushed_changes.len(), |all, _| all * REMAINDERS.len())
    }

    /// Returns one of the states that a power cut may leave. The digits of `outcome` select the
    /// fate of each unflushed operation. 0 loses all of them.
    pub(super) fn after_power_cut(&self, mut outcome: usize) -> Self {
        let mut digit = |of: usize| {
            let digit = outcome % of;
            outcome /= of;
            digit
        };
        let mut names = self.flushed.clone();
        for change in &self.unflushed_changes {
            if digit(2) == 1 {
                change.make(&mut names);
            }
        }
        // A file is lost with its folder.
        let mut after = Names::new();
        for (path, inode) in names {
            let above = path.parent().unwrap();
            if above == Path::new("/") || after.contains_key(above) {
                after.insert(path, inode);
            }
        }
        let mut inodes = self.inodes.clone();
        for number in self.unflushed() {
            inodes[number].bytes = REMAINDERS[digit(REMAINDERS.len())](&self.inodes[number]);
        }
        let mut medium = Self { inodes, names: after, ..Self::default() };
        medium.flush_all();
        medium
    }
}

#[test]
fn a_power_cut_may_lose_any_unflushed_operation() {
    let (old, new) = (Path::new("/etc/x"), Path::new("/etc/.x.new"));
    let mut medium = Medium::with(&["/etc"], &[("/etc/x", "old")]);
    medium.create(new, b"text").unwrap();
    medium.rename(new, old).unwrap();
    let texts = |medium: &Medium| -> std::collections::BTreeSet<Option<String>> {
        let outcomes = (0..medium.outcomes()).map(|outcome| medium.after_power_cut(outcome));
        outcomes
            .map(|of| of.read(old).ok().map(|bytes| String::from_utf8(bytes).unwrap()))
            .collect()
    };
    let set = |texts: &[&str]| texts.iter().map(|text| Some((*text).to_owned())).collect();
    assert_eq!(texts(&medium), set(&["", "old", "te", "text"]));
    medium.flush(old).unwrap();
    assert_eq!(texts(&medium), set(&["old", "text"]));
    medium.flush(Path::new("/etc")).unwrap();
    assert_eq!((medium.outcomes(), texts(&medium)), (1, set(&["text"])));
    medium.unlink(old).unwrap();
    assert!(texts(&medium).contains(&None) && texts(&medium).len() == 2);
    // An unflushed folder is lost with its files.
    let folder = Path::new("/etc/folder");
    medium.make_folder(folder).unwrap();
    medium.create(&folder.join("y"), b"y").unwrap();
    medium.flush(&folder.join("y")).unwrap();
    medium.flush(folder).unwrap();
    assert!(medium.after_power_cut(0).read(&folder.join("y")).is_err());
}
