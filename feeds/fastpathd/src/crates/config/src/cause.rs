// SPDX-License-Identifier: GPL-2.0-or-later
//! Reasons for users: a stable code with parameters, and an English text. Macro `coded!` defines an
//! enum of reasons.

use std::fmt;

use serde::Serialize;

/// Values for the placeholders of a text.
pub type Params = serde_json::Map<String, serde_json::Value>;

/// A reason. The page translates `code` and `params` into its own texts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Cause {
    /// Stable name. Empty if the reason has only a text.
    pub code: &'static str,
    pub params: Params,
    #[serde(skip)]
    pub text: String,
}

impl Cause {
    /// Returns a reason that another fastpath program has reported. Discards the code and
    /// parameters of a report whose code is not in `codes`.
    #[must_use]
    pub fn reported(codes: &[&'static str], report: &serde_json::Value, text: String) -> Self {
        let known = codes.iter().find(|code| report["code"].as_str() == Some(**code));
        let Some(code) = known else { return Self { text, ..Self::default() } };
        let params = report["params"].as_object().cloned().unwrap_or_default();
        Self { code, params, text }
    }

    /// Returns the code, followed by the codes of inner reasons.
    #[must_use]
    pub fn codes(&self) -> String {
        let inner = self.params.get("inner").and_then(serde_json::Value::as_str);
        inner.map_or_else(|| self.code.to_owned(), |inner| format!("{} {inner}", self.code))
    }

    /// Adds the codes and parameters of `inner`, whose text this reason's text includes. Removes
    /// the parameter that contains the text of `inner`.
    #[must_use]
    pub fn around(mut self, inner: Self) -> Self {
        let codes = inner.codes();
        self.params.retain(|_, value| *value != inner.text);
        self.params.extend(inner.params);
        self.params.insert("inner".to_owned(), codes.into());
        self
    }

    /// Appends the text and code of a `consequence`.
    #[must_use]
    pub fn followed(mut self, consequence: &Self) -> Self {
        self.params.insert("consequence".to_owned(), consequence.code.into());
        self.text = format!("{} {}", self.text, consequence.text);
        self
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Defines an enum with a stable code, parameters and an English text for each variant.
///
/// ```
/// config::coded! {
///     /// Why a port is down.
///     pub enum Down {
///         Disabled = "disabled", "is disabled";
///         Loop { port: u8 } = "loop", "is in a loop with port {port}";
///     }
/// }
/// let cause = Down::Loop { port: 8 }.cause();
/// assert_eq!((cause.code, cause.text.as_str()), ("loop", "is in a loop with port 8"));
/// assert_eq!(cause.params["port"], "8");
/// assert_eq!(Down::CODES, ["disabled", "loop"]);
/// ```
#[macro_export]
macro_rules! coded {
    (
        $(#[$attribute:meta])*
        $vis:vis enum $kind:ident {
            $($variant:ident $({ $($field:ident: $type:ty),+ })? = $code:literal, $text:literal;)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        $vis enum $kind {
            $($variant $({ $($field: $type),+ })?,)+
        }

        #[allow(dead_code, reason = "not every enum uses all methods")]
        impl $kind {
            $vis const CODES: [&'static str; [$($code),+].len()] = [$($code),+];

            #[must_use]
            $vis const fn code(&self) -> &'static str {
                match self {
                    $(Self::$variant $({ $($field: _),+ })? => $code,)+
                }
            }

            /// Returns the values for the placeholders of the text.
            #[must_use]
            $vis fn params(&self) -> $crate::Params {
                let mut params = $crate::Params::new();
                match self {
                    $(Self::$variant $({ $($field),+ })? => {
                        $($(params.insert(stringify!($field).into(), $field.to_string().into());)+)?
                    })+
                }
                params
            }

            #[must_use]
            $vis fn cause(&self) -> $crate::Cause {
                let (code, params, text) = (self.code(), self.params(), self.to_string());
                $crate::Cause { code, params, text }
            }
        }

        impl ::std::error::Error for $kind {}

        impl From<$kind> for $crate::Cause {
            fn from(reason: $kind) -> Self {
                reason.cause()
            }
        }

        impl ::std::fmt::Display for $kind {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                match self {
                    $(Self::$variant $({ $($field),+ })? => {
                        $($(let _ = $field;)+)?
                        write!(f, $text)
                    })+
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    crate::coded! {
        /// Why a lamp is dark.
        enum Dark {
            Off = "off", "is off";
            Fuse { number: u8 } = "fuse", "fuse {number} is open";
            Lamp { why: String } = "lamp", "the lamp: {why}";
            Room { name: String, why: String } = "room", "{name}: {why}";
        }
    }

    #[test]
    fn a_reported_reason_keeps_code_and_parameters() {
        let report = serde_json::to_value(Dark::Fuse { number: 8 }.cause()).unwrap_or_default();
        let text = "fuse 8 is open".to_owned();
        let read = Cause::reported(&Dark::CODES, &report, text);
        assert_eq!(read, Dark::Fuse { number: 8 }.cause());
        let newer = Cause::reported(&Dark::CODES, &json!({"code": "newer"}), "newer".to_owned());
        assert_eq!((newer.code, newer.text.as_str()), ("", "newer"));
    }

    #[test]
    fn a_nested_reason_lists_all_inner_codes() {
        let lamp = |inner: Cause| Dark::Lamp { why: inner.text.clone() }.cause().around(inner);
        let cause = lamp(lamp(Dark::Fuse { number: 8 }.cause()));
        assert_eq!(cause.text, "the lamp: the lamp: fuse 8 is open");
        assert_eq!(cause.codes(), "lamp lamp fuse");
        assert_eq!(json!(cause.params), json!({"inner": "lamp fuse", "number": "8"}));
        assert_eq!(Dark::Off.cause().codes(), "off");
        let (name, fuse) = ("hall".to_owned(), Dark::Fuse { number: 8 }.cause());
        let room = Cause::from(Dark::Room { name, why: fuse.text.clone() }).around(fuse);
        let params = json!({"inner": "fuse", "name": "hall", "number": "8"});
        assert_eq!((room.text.as_str(), json!(room.params)), ("hall: fuse 8 is open", params));
    }
}
