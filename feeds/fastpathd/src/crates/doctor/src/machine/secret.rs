// SPDX-License-Identifier: GPL-2.0-or-later
//! Hashes of passwords with `crypt(3)` of the system's library. The list of common passwords is in
//! `facts/system.rs`.
#![expect(unsafe_code, reason = "crypt is a function of the C library")]

use std::ffi::{CStr, CString, c_char};

// musl's is empty: there the function is in libc itself.
#[link(name = "crypt")]
unsafe extern "C" {
    #[link_name = "crypt"]
    fn raw(key: *const c_char, salt: *const c_char) -> *mut c_char;
}

/// The hash of `word` made as `setting` was; none if the library cannot.
pub(super) fn crypt(word: &str, setting: &str) -> Option<String> {
    let (word, setting) = (CString::new(word).ok()?, CString::new(setting).ok()?);
    // SAFETY: both are strings that live until it returns. The answer is null or a string in the
    // library's own memory, which only the next call changes; only one thread of this program runs
    // checks.
    let hash = unsafe {
        let hash = raw(word.as_ptr(), setting.as_ptr());
        if hash.is_null() { None } else { CStr::from_ptr(hash).to_str().ok().map(str::to_owned) }
    };
    // A failure begins with a star.
    hash.filter(|hash| !hash.starts_with('*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_password_of_this_hash_is_found() {
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
