// SPDX-License-Identifier: GPL-2.0-or-later
//! Hashes passwords with the system's `crypt(3)`.
#![expect(unsafe_code, reason = "crypt is a function of the C library")]

use std::ffi::{CStr, CString, c_char};

// musl's libcrypt is empty, and its libc has the function.
#[link(name = "crypt")]
unsafe extern "C" {
    #[link_name = "crypt"]
    fn raw(key: *const c_char, salt: *const c_char) -> *mut c_char;
}

/// Hashes `word` with the method and salt of `setting`. `None` if the library does not support
/// them.
pub(super) fn crypt(word: &str, setting: &str) -> Option<String> {
    let (word, setting) = (CString::new(word).ok()?, CString::new(setting).ok()?);
    // SAFETY: both strings live until the call returns. The result is null or a string in static
    // memory of the library, which only the next call changes; only one thread runs checks.
    let hash = unsafe {
        let hash = raw(word.as_ptr(), setting.as_ptr());
        if hash.is_null() { None } else { CStr::from_ptr(hash).to_str().ok().map(str::to_owned) }
    };
    // The library reports an error as a hash that starts with `*`.
    hash.filter(|hash| !hash.starts_with('*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_like_openssl() {
        // openssl passwd -6 -salt fastpathlab look
        let hash = concat!(
            "$6$fastpathlab$yg9R10XApLWM4zsCZzhd8RJLR3n5gpTheunj5xV9",
            "SdqchnepJNMWKQt0fexN1IiZuJuTrTG1gquivo7e0eiHf/"
        );
        assert_eq!(crypt("look", hash).as_deref(), Some(hash));
        assert_ne!(crypt("Look", hash).as_deref(), Some(hash));
        assert_eq!(crypt("look", "%"), None);
    }
}
