// SPDX-License-Identifier: GPL-2.0-or-later
//! The bpf(2) commands for map entries.
#![expect(unsafe_code, reason = "the bpf system call has no safe form")]

use std::io;
use std::os::fd::BorrowedFd;

use aya::Pod;

use crate::sys::{call, number};

const LOOKUP: libc::c_int = 1;
const UPDATE: libc::c_int = 2;
const DELETE: libc::c_int = 3;
const OBJ_GET_INFO_BY_FD: libc::c_int = 15;
const LOOKUP_AND_DELETE: libc::c_int = 21;
const LOOKUP_BATCH: libc::c_int = 24;

const BATCH: usize = 1024;

#[repr(C)]
#[derive(Default)]
struct Element {
    map: u32,
    pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct Batch {
    from: u64,
    next: u64,
    keys: u64,
    values: u64,
    count: u32,
    map: u32,
    element_flags: u64,
    flags: u64,
}

#[repr(C)]
struct Ask {
    object: u32,
    len: u32,
    info: u64,
}

/// Prefix of `struct bpf_map_info`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Info {
    kind: u32,
    pub(crate) id: u32,
    pub(crate) key_size: u32,
    pub(crate) value_size: u32,
    pub(crate) max_entries: u32,
    flags: u32,
}

pub(crate) fn info(map: BorrowedFd<'_>) -> io::Result<Info> {
    let mut info = Info::default();
    let len = u32::try_from(size_of::<Info>()).map_err(io::Error::other)?;
    let mut ask = Ask { object: number(map), len, info: std::ptr::from_mut(&mut info) as u64 };
    call(OBJ_GET_INFO_BY_FD, &mut ask)?;
    Ok(info)
}

pub(crate) fn bytes<K: Pod>(keys: &[K; 2]) -> &[u8] {
    // SAFETY: keys have no padding, so all of their bytes are initialised.
    unsafe { std::slice::from_raw_parts(keys.as_ptr().cast(), size_of::<[K; 2]>()) }
}

pub(crate) fn put<K: Pod, V: Pod>(map: BorrowedFd<'_>, key: &K, value: &V) -> io::Result<()> {
    let mut element = Element {
        map: number(map),
        key: std::ptr::from_ref(key) as u64,
        value: std::ptr::from_ref(value) as u64,
        ..Element::default()
    };
    call(UPDATE, &mut element).map(drop)
}

pub(crate) fn get<K: Pod, V: Pod + Default>(map: BorrowedFd<'_>, key: &K) -> io::Result<Option<V>> {
    found(LOOKUP, map, key)
}

pub(crate) fn remove<K: Pod, V: Pod + Default>(
    map: BorrowedFd<'_>,
    key: &K,
) -> io::Result<Option<V>> {
    found(LOOKUP_AND_DELETE, map, key)
}

fn found<K: Pod, V: Pod + Default>(
    command: libc::c_int,
    map: BorrowedFd<'_>,
    key: &K,
) -> io::Result<Option<V>> {
    let mut value = V::default();
    match one(command, map, key, std::ptr::from_mut(&mut value) as u64) {
        Ok(()) => Ok(Some(value)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes an element. A missing element is not an error.
pub(crate) fn delete<K: Pod>(map: BorrowedFd<'_>, key: &K) -> io::Result<()> {
    match one(DELETE, map, key, 0) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Returns the values of all CPUs for `key` in a per-CPU map.
pub(crate) fn each_cpu<V: Pod + Default>(
    map: BorrowedFd<'_>,
    key: u32,
    cpus: usize,
) -> io::Result<Vec<V>> {
    let mut values = vec![V::default(); cpus];
    one(LOOKUP, map, &key, values.as_mut_ptr() as u64)?;
    Ok(values)
}

/// Passes about `most` elements as bytes to `each`, and reduces `most` by their number. Begins at
/// hash bucket `at`, or with the first one. Returns the next bucket; `None` after the last element.
/// Concurrent changes of the map may skip or repeat elements. `sizes` are the sizes of keys and
/// values.
pub(crate) fn read_some(
    map: BorrowedFd<'_>,
    sizes: [usize; 2],
    at: Option<u32>,
    most: &mut usize,
    each: &mut dyn FnMut(&[u8], &[u8]),
) -> io::Result<Option<u32>> {
    let mut room = BATCH.min(*most).max(1);
    let mut buffers = sizes.map(|size| vec![0_u8; size * room]);
    let (mut from, mut next) = (at.unwrap_or_default(), 0_u32);
    let mut begun = at.is_some();
    while *most > 0 {
        let [keys, values] = &mut buffers;
        let mut batch = Batch {
            from: if begun { std::ptr::from_mut(&mut from) as u64 } else { 0 },
            next: std::ptr::from_mut(&mut next) as u64,
            keys: keys.as_mut_ptr() as u64,
            values: values.as_mut_ptr() as u64,
            count: u32::try_from(room).map_err(io::Error::other)?,
            map: number(map),
            ..Batch::default()
        };
        let result = call(LOOKUP_BATCH, &mut batch);
        let error = result.as_ref().err().and_then(io::Error::raw_os_error);
        if error == Some(libc::ENOSPC) {
            // The kernel returns whole buckets, and the next one does not fit.
            room *= 2;
            buffers = sizes.map(|size| vec![0; size * room]);
            continue;
        }
        let last = error == Some(libc::ENOENT);
        if !last {
            result?;
        }
        let count = usize::try_from(batch.count).map_err(io::Error::other)?;
        let values = values.chunks_exact(sizes[1]);
        for (key, value) in keys.chunks_exact(sizes[0]).zip(values).take(count) {
            each(key, value);
        }
        *most = most.saturating_sub(count);
        if last {
            return Ok(None);
        }
        (from, begun) = (next, true);
    }
    Ok(Some(from))
}

/// Converts bytes to a value; `None` if there are too few.
pub(crate) fn value<V: Pod>(bytes: &[u8]) -> Option<V> {
    // SAFETY: there are enough bytes, and any bytes are a valid value of a `Pod` type.
    (bytes.len() >= size_of::<V>()).then(|| unsafe { bytes.as_ptr().cast::<V>().read_unaligned() })
}

fn one<K: Pod>(command: libc::c_int, map: BorrowedFd<'_>, key: &K, value: u64) -> io::Result<()> {
    let key = std::ptr::from_ref(key) as u64;
    let mut element = Element { map: number(map), key, value, ..Element::default() };
    call(command, &mut element).map(drop)
}
