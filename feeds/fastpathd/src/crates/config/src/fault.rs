// SPDX-License-Identifier: GPL-2.0-or-later
//! Codes and English texts of faults in values of `/etc/config/fastpath`.

crate::coded! {
    /// Fault of a value. Messages append the text to the value.
    pub enum Fault {
    ListGiven = "list-given", "is a list; a single value is expected";
    ListEntry = "list-entry", "has an entry that is not a string";
    NotList = "not-a-list", "is not a list";
    Missing = "missing", "is missing";
    Duplicate = "duplicate", "is there twice";
    NotNumber = "not-a-number", "is not a number";
    TooLarge = "too-large", "is too large";
    OutOfRange { first: u32, last: u32 } = "out-of-range",
        "is not a number from {first} to {last}";
    NotSwitch = "not-a-switch", "is neither 1 nor 0";
    NotListed { names: String } = "not-listed", "is not one of {names}";
    TooLong { longest: usize } = "too-long", "is longer than {longest} bytes";
    NameCharacter { character: String } = "name-character",
        "contains {character}, which is not allowed in a name";
    TooManyCharacters { longest: usize } = "too-many-characters",
        "has more than {longest} characters";
    NotTime = "not-a-time", "is not a time of day such as 21:00";
    NotFolder = "not-a-folder", "is not an absolute path of a folder";
    // The file and its sections. `why` is a message of the operating system, rpcd or UCI.
    Unreadable { why: String } = "unreadable", "{why}";
    NoSections = "no-sections", "there are no sections at all";
    TooManySections { most: usize } = "too-many-sections",
        "is one too many: there are at most {most}";
    NotSection = "not-a-section", "is not a section";
    NoType = "no-type", "has no type";
    UnknownType = "unknown-type", "has an unknown type, ignored";
    TypeTwice = "type-twice", "is a duplicate of its type, ignored";
    NotOption = "not-an-option", "is not an option of this section";
    UnknownOption = "unknown-option", "is an unknown option, ignored";
    // The network.
    NotAddress = "not-an-address", "is not an address of a host; names are not resolved";
    NotNetwork = "not-a-network", "is not an address or network such as 10.0.0.0/24";
    PrefixLength { longest: u8 } = "prefix-length",
        "has a prefix length that is not 0 to {longest}";
    HostBits { network: String } = "host-bits", "has host bits set; did you mean {network}?";
    NotMac = "not-a-mac", "is not the MAC address of a device, such as 02:00:00:00:00:01";
    DeviceName = "device-name", "is not a device name";
    UnknownDevice { device: String } = "unknown-device", "there is no such device";
    VlanRange = "vlan-range", "is not a VLAN (1 to 4094)";
    UnknownZone { zone: String, known: String } = "unknown-zone",
        "is not a firewall zone; known zones: {known}";
    NoZones = "no-zones", "is not a firewall zone; there are none";
    // Exports.
    RedisRemoved = "redis-removed",
        "is no kind of collector any more, so this section is not used; use kind 'syslog' with \
         rsyslog or Vector, which write to Redis";
    ReverseEnterprise = "reverse-enterprise",
        "is the enterprise number of reverse elements (RFC 5103)";
    // Exclusions.
    NotPorts = "not-a-port", "is not a port (1 to 65535) or port range such as 5000-5010";
    PortsDescend = "ports-descend", "is a range with the end before the start";
    Protocol = "protocol", "is neither tcp nor udp; other protocols are never offloaded";
    OtherFamily { src: String } = "other-family", "has another address family than src {src}";
    ExcludesAll = "excludes-all", "excludes every flow; to stop offloading, set engine to 'off'";
    // Marks.
    MaskWidth = "mask-width", "has more than 32 bits";
    MaskEmpty = "mask-empty", "has no usable bit";
    MaskInspection = "mask-inspection", "has one bit; inspection needs two";
    MaskEbpf { bits: u32 } = "mask-ebpf", "has {bits} bits; engine ebpf needs four";
    // Inspection.
    InlinePorts = "inline-ports", "mode inline bridges exactly two ports";
    InlineMtu { device: String, mtu: u32, other: String, other_mtu: u32 } = "inline-mtu",
        "mode inline needs the same MTU on both ports: \
         {device} has {mtu}, {other} has {other_mtu}";
    InlineBridge { bridge: String } = "inline-bridge",
        "is a port of {bridge}, which forwards its packets past Suricata; mode inline needs \
         a port of no bridge (mode nfq inspects what {bridge} routes)";
    InlineUsed { device: String } = "inline-used",
        "carries {device}, which ends in this router; mode inline needs a port that nothing \
         else uses (mode nfq inspects what {device} carries)";
    InlineAddress = "inline-address",
        "has an address of this router; mode inline needs a port without one";
    IdsPorts = "ids-ports", "mode ids needs a port to monitor";
    TooManyPorts { most: usize } = "too-many-ports", "are more than {most} ports";
    // CPUs.
    CpuList = "cpu-list", "is not a list of CPUs such as 0-3,8";
    CpuRange { range: String } = "cpu-range", "has the descending range {range}";
    CpuLargest { largest: u32 } = "cpu-largest", "names a CPU beyond {largest}";
    CpusOverlap { cpus: String } = "cpus-overlap", "overlaps with 'forwarding' in CPU {cpus}";
    CpusUnknown { cpus: String, present: String } = "cpus-unknown",
        "has CPUs that do not exist: {cpus}; there are {present}";
    CpusOffline { cpus: String } = "cpus-offline", "has offline CPUs: {cpus}";
    CpusUnpinned { cpus: String } = "cpus-unpinned",
        "has CPU {cpus}, which Suricata cannot pin a thread to while lower ones are offline";
    NoCpuForwards = "no-cpu-forwards", "leaves no CPU for forwarding";
    NoCpuInspects = "no-cpu-inspects", "leaves no CPU for inspection";
    // Notifications.
    UrlOrMail = "url-or-mail", "is needed, or else mail; a receiver has one of them";
    NotMail = "not-mail", "is not a mail address";
    NotFile = "not-a-file", "is not an absolute path of a file";
    // Rule sources.
    SourceTwice = "source-twice", "is a second source of this name";
    SourceName = "source-name", "is not made of letters, digits, '-' and '_'";
    SourceReserved = "source-reserved", "is reserved for the rules that come with fastpath";
    UrlScheme = "url-scheme", "does not begin with https:// or http://";
    UrlHost = "url-host", "has no host, or is too long";
    UrlCharacters = "url-characters", "has space or other characters that a URL does not have";
    CategoryName { name: String } = "category-name",
        "'{name}' is not a category name (letters, digits, '-', '_', '.')";
    Selector { selector: String } = "selector",
        "'{selector}' is neither a sid, gid:sid nor cat:NAME";
    PublicKey { why: String } = "public-key", "{why}";
    Checksum = "checksum", "is not 64 hexadecimal digits";
    ChecksumPlain = "checksum-plain",
        "is not https: an attacker who changes the archive changes this too";
    UnverifiedPlain = "unverified-plain",
        "is not enough for http: anyone on the path could inject rules";
    Unverified = "unverified", "is not set, and neither is sha256, sha256_url or signature_url";
    UpdateHour = "update-hour", "is not an hour from 0 to 23, nor -1 for manual updates";
    }
}

impl Fault {
    #[must_use]
    pub fn not_listed(names: &[&str]) -> Self {
        Self::NotListed { names: names.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn codes_are_unique() {
        let codes = std::collections::BTreeSet::from(Fault::CODES);
        assert_eq!(codes.len(), Fault::CODES.len());
    }

    #[test]
    fn the_schema_lists_all_codes() {
        let schema: Value =
            serde_json::from_str(include_str!("../../../schema/types.json")).unwrap();
        let listed = &schema["$defs"]["ConfigurationProblem"]["properties"]["code"]["enum"];
        assert_eq!(*listed, json!(Fault::CODES.as_slice()));
    }

    #[test]
    fn a_fault_has_code_parameters_and_text() {
        let fault = Fault::OutOfRange { first: 1, last: 5 };
        assert_eq!(fault.to_string(), "is not a number from 1 to 5");
        assert_eq!(fault.code(), "out-of-range");
        assert_eq!(Value::Object(fault.params()), json!({"first": "1", "last": "5"}));
        assert!(Fault::Missing.params().is_empty());
    }
}
