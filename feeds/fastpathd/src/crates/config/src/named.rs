// SPDX-License-Identifier: GPL-2.0-or-later
//! Macro `named!`: enums with a stable name for each variant, for the configuration or the API.

/// Defines an enum with a stable name for each variant. `from text` adds a parser, which reports an
/// unknown name as [`Fault::NotListed`](crate::Fault::NotListed).
///
/// ```
/// config::named! {
///     /// Effect of a rule.
///     pub enum Effect from text {
///         /// The packet passes.
///         Pass = "pass",
///         /// The packet is dropped.
///         Drop = "drop",
///     }
/// }
/// assert_eq!("drop".parse(), Ok(Effect::Drop));
/// assert_eq!("stop".parse::<Effect>(), Err(config::Fault::not_listed(&["pass", "drop"])));
/// assert_eq!(Effect::ALL.map(Effect::name), ["pass", "drop"]);
/// ```
#[macro_export]
macro_rules! named {
    (
        $(#[$attribute:meta])*
        pub enum $kind:ident $(from $text:ident)? {
            $($(#[$note:meta])* $variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $kind {
            $($(#[$note])* $variant,)+
        }

        impl $kind {
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|one| one.name() == name)
            }
        }

        impl ::std::fmt::Display for $kind {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }

        $(impl ::std::str::FromStr for $kind {
            type Err = $crate::Fault;

            fn from_str($text: &str) -> Result<Self, Self::Err> {
                Self::from_name($text)
                    .ok_or_else(|| $crate::Fault::not_listed(&Self::ALL.map(Self::name)))
            }
        })?
    };
}
