// SPDX-License-Identifier: GPL-2.0-or-later
//! Faults of a source in lines of rule files and in entries of archives, and reasons to omit a
//! rule, as codes with texts.

config::coded! {
    pub enum SourceFault {
        // Faults of lines of a rule file.
        NoOptions = "no-options", "is not a rule: '(' with options is missing";
        NoAction = "no-action",
            "is not a rule: it does not begin with an action such as alert";
        // Often a truncated line.
        NotClosed = "not-closed", "the options do not end with ';)'";
        Header = "header",
            "the part before '(' is not ACTION PROTOCOL ADDRESS PORT DIRECTION ADDRESS PORT, \
             or a second '(' follows";
        Control = "control", "has a control character";
        OptionName { name: String } = "option-name",
            "option '{name}' has other characters than letters, digits, '_', '.' and '-'";
        NoSid = "no-sid", "the rule has no sid";
        Twice { option: &'static str } = "twice", "the rule has {option} twice";
        Number { option: &'static str, value: String, first: u32, last: u32 } = "number",
            "{option} '{value}' is not a number from {first} to {last}";
        LongLine { limit: usize } = "long-line", "is longer than {limit} bytes";
        ManyRules { limit: usize } = "many-rules", "there are more than {limit} rules";
        // Faults of entries of an archive.
        LongHeader { limit: u64 } = "long-header", "is a header of more than {limit} bytes";
        NoLength = "no-length", "has a record without length";
        WrongLength = "wrong-length", "has a record of a wrong length";
        OtherSize = "other-size", "has a different size for its entry";
        NameNotText = "name-not-text", "has a name that is not UTF-8";
        NameLength = "name-length", "has a name that is empty or too long";
        NameControl = "name-control", "has control characters in its name";
        Absolute = "absolute", "has an absolute path";
        Outside = "outside", "leads out of the archive with '..'";
        SymbolicLink = "symbolic-link", "is a symbolic link, which a rule set does not have";
        HardLink = "hard-link", "is a hard link, which a rule set does not have";
        Device = "device", "is a device, which a rule set does not have";
        Pipe = "pipe", "is a pipe, which a rule set does not have";
        Kind = "kind", "is of an unusual kind, which a rule set does not have";
        // Reasons why a rule is left out.
        NotText { file: String, line: u32 } = "not-text",
            "{file} line {line}: left out, it is not UTF-8";
        NeedsFile { file: String, line: u32, sid: u32, keyword: &'static str } = "needs-file",
            "{file} line {line}: sid {sid} left out, its {keyword} needs a file that no source \
             provides";
        SetsMark { file: String, line: u32, sid: u32, keyword: &'static str } = "sets-mark",
            "{file} line {line}: sid {sid} left out, its {keyword} would set the router's own \
             packet marks";
        NotAllowed { file: String, line: u32, sid: u32, keyword: String } = "not-allowed",
            "{file} line {line}: sid {sid} left out, a source may not use {keyword}";
        Reserved { file: String, line: u32, sid: u32, keyword: &'static str } = "reserved",
            "{file} line {line}: sid {sid} left out, its {keyword} has a name of fastpath's own \
             rules";
        LongRule { file: String, line: u32, sid: u32 } = "long-rule",
            "{file} line {line}: sid {sid} left out, it is longer than Suricata reads";
        // Settings that match nothing.
        NoCategory { category: String } = "no-category", "category {category} is not in it";
        Unmatched { option: &'static str, selector: String } = "unmatched",
            "{option} {selector} matches no rule";
    }
}
