// SPDX-License-Identifier: GPL-2.0-or-later
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use tar::{Builder, Header};

use super::*;

fn gz(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).expect("memory");
    encoder.finish().expect("memory")
}

fn tar_of(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (name, contents) in files {
        let mut header = Header::new_gnu();
        header.set_size(contents.len() as u64);
        header.set_mode(0o644);
        // The crate encodes long names in GNU format.
        builder.append_data(&mut header, name, contents.as_slice()).expect("memory");
    }
    builder.into_inner().expect("memory")
}

type Files = Vec<(String, Vec<u8>)>;

fn files(bytes: &[u8], limit: u64) -> Result<Files, ArchiveError> {
    let mut found = Vec::new();
    let mut visit = |name: &str, file: &mut dyn BufRead| {
        let mut contents = Vec::new();
        file.read_to_end(&mut contents).map_err(Refusal::Read)?;
        found.push((name.to_owned(), contents));
        Ok(())
    };
    read(bytes, "plain.rules", &ArchiveLimits::of_bytes(limit), &mut visit)?;
    Ok(found)
}

#[test]
fn reads_long_names() {
    let name = "rules/".to_owned() + &"n".repeat(150) + ".rules";
    let packed = tar_of(&[(name.clone(), b"x".to_vec())]);
    assert_eq!(files(&packed, 1 << 20).expect("good"), [(name, b"x".to_vec())]);
    let longer = "n".repeat(201);
    let refused = files(&tar_of(&[(longer, b"x".to_vec())]), 1 << 20);
    assert!(matches!(refused, Err(ArchiveError::Entry { .. })));
}

#[test]
fn a_pax_header_names_only_the_next_file() {
    let mut builder = Builder::new(Vec::new());
    let mut put = |name: &str, kind, contents: &[u8]| {
        let mut header = Header::new_ustar();
        header.set_path(name).expect("short");
        header.set_entry_type(kind);
        header.set_size(contents.len() as u64);
        header.set_cksum();
        builder.append(&header, contents).expect("memory");
    };
    put("g", EntryType::XGlobalHeader, b"19 path=global.rules\n");
    put("x", EntryType::XHeader, b"16 path=b.rules\n20 mtime=1234567890\n");
    put("a", EntryType::Regular, b"1");
    put("c.rules", EntryType::Regular, b"2");
    let packed = builder.into_inner().expect("memory");
    let names: Vec<_> = files(&packed, 1 << 20).expect("good").into_iter().map(|f| f.0).collect();
    assert_eq!(names, ["b.rules", "c.rules"]);
}

#[test]
fn the_limit_applies_to_all_unpacked_bytes() {
    let packed = tar_of(&[("a".into(), vec![b'x'; 3000]), ("b".into(), vec![b'x'; 3000])]);
    let whole = packed.len() as u64;
    assert_eq!(files(&gz(&packed), whole).expect("just fits").len(), 2);
    let refused = files(&gz(&packed), whole - 1);
    assert!(matches!(refused, Err(ArchiveError::TooLarge { limit }) if limit == whole - 1));
}

#[test]
fn a_truncated_tar_is_rejected() {
    let packed = tar_of(&[("a.rules".into(), vec![b'x'; 600])]);
    let refused = files(&packed[..512 + 300], 1 << 20);
    assert!(matches!(refused, Err(ArchiveError::Truncated { within }) if within == "a.rules"));
    // The visitor does not read the file.
    let limits = ArchiveLimits::of_bytes(1 << 20);
    assert!(read(&packed[..512 + 300], "", &limits, &mut |_, _| Ok(())).is_err());
}

#[test]
fn nested_archives_are_not_unpacked() {
    let inner = gz(&gz(b"alert\n"));
    assert!(matches!(files(&inner, 1 << 20), Err(ArchiveError::Format)));
}

proptest! {
    #[test]
    fn reads_or_rejects_any_bytes(
        bytes in proptest::collection::vec(any::<u8>(), 0..2000), packed: bool,
    ) {
        let bytes = if packed { gz(&bytes) } else { bytes };
        let _ = files(&bytes, 1000);
    }

    #[test]
    fn reads_or_rejects_a_tar_with_a_changed_byte(at in 0usize..2560, value: u8) {
        let mut packed = tar_of(&[("a.rules".into(), vec![b'x'; 600])]);
        packed[at] = value;
        let _ = files(&packed, 1 << 20);
    }

    #[test]
    fn a_truncated_archive_is_never_accepted(cut in 1usize..200) {
        let packed = gz(&tar_of(&[("a.rules".into(), (0..=255).cycle().take(900).collect())]));
        prop_assume!(cut < packed.len());
        prop_assert!(files(&packed[..packed.len() - cut], 1 << 20).is_err());
    }

    #[test]
    fn names_and_contents_are_preserved(
        wanted in proptest::collection::vec(("[a-z]{1,150}\\.rules", any::<Vec<u8>>()), 1..5),
    ) {
        prop_assert_eq!(files(&gz(&tar_of(&wanted)), 1 << 20).expect("good"), wanted.clone());
        prop_assert_eq!(files(&tar_of(&wanted), 1 << 20).expect("good"), wanted);
    }
}
