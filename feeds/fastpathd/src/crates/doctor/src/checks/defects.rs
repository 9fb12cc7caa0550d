// SPDX-License-Identifier: GPL-2.0-or-later
//! Known kernel defects of flowtable, PPPoE, hardware offload and NFQUEUE, with the mainline commit
//! of each fix. Affected versions of a CVE are those of its record
//! (<https://github.com/CVEProject/cvelistV5>, as shown by <https://osv.dev>).

use crate::finding::Severity;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Affected {
    Flowtable,
    Pppoe,
    Hardware,
    Queue,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Defect {
    pub(super) name: &'static str,
    pub(super) commit: &'static str,
    pub(super) text: &'static str,
    pub(super) applies: Affected,
    pub(super) severity: Severity,
    /// Pairs of the first affected and the first fixed version.
    pub(super) in_versions: &'static [([u32; 3], [u32; 3])],
}

pub(super) const DEFECTS: &[Defect] = &[
    Defect {
        name: "dev_fill_forward_path",
        commit: "ddb94eafab8b (net: resolve forwarding path from virtual netdevice)",
        text: "flows through bridge, VLAN and PPPoE are not offloaded",
        applies: Affected::Flowtable,
        severity: Severity::Error,
        in_versions: &[([0, 0, 0], [5, 13, 0])],
    },
    Defect {
        name: "CVE-2024-27016",
        commit: "87b3593bed18 (netfilter: flowtable: validate pppoe header)",
        text: "a short PPPoE frame makes the kernel read beyond its end",
        applies: Affected::Pppoe,
        severity: Severity::Warning,
        in_versions: &[
            ([5, 13, 0], [5, 15, 157]),
            ([5, 16, 0], [6, 1, 88]),
            ([6, 2, 0], [6, 6, 29]),
            ([6, 7, 0], [6, 8, 8]),
        ],
    },
    Defect {
        name: "PPPoE + VLAN",
        commit: "245607493500 (netfilter: nft_flow_offload: fix offload with pppoe + vlan)",
        text: "flows over PPPoE in a VLAN are not offloaded, or lose packets",
        applies: Affected::Pppoe,
        severity: Severity::Warning,
        in_versions: &[([5, 13, 0], [5, 15, 42]), ([5, 16, 0], [5, 17, 10])],
    },
    Defect {
        name: "CVE-2026-45859",
        commit: "207b3ebacb61 (netfilter: nfnetlink_queue: do shared-unconfirmed check before \
                 segmentation)",
        text: "first packets of UDP connections that were joined on receiving are dropped \
                instead of inspected",
        applies: Affected::Queue,
        severity: Severity::Warning,
        in_versions: &[
            ([6, 11, 0], [6, 12, 75]),
            ([6, 13, 0], [6, 18, 14]),
            ([6, 19, 0], [6, 19, 4]),
        ],
    },
    Defect {
        name: "CVE-2026-43084",
        commit: "936206e3f6ff (netfilter: nfnetlink_queue: make hash table per queue)",
        text: "several queues share a table that is freed while in use: the kernel may crash",
        applies: Affected::Queue,
        severity: Severity::Warning,
        in_versions: &[
            ([6, 12, 75], [6, 12, 83]),
            ([6, 18, 14], [6, 18, 24]),
            ([6, 19, 4], [6, 19, 14]),
        ],
    },
    Defect {
        name: "CVE-2026-43329",
        commit: "76522fcdbc3a (netfilter: flowtable: strictly check for maximum number of actions)",
        text: "a connection over IPv6 with NAT and two VLANs writes behind the list that the \
                hardware gets",
        applies: Affected::Hardware,
        severity: Severity::Warning,
        in_versions: &[
            ([5, 5, 0], [5, 15, 203]),
            ([5, 16, 0], [6, 1, 168]),
            ([6, 2, 0], [6, 6, 134]),
            ([6, 7, 0], [6, 12, 81]),
            ([6, 13, 0], [6, 18, 22]),
            ([6, 19, 0], [6, 19, 12]),
        ],
    },
    Defect {
        name: "CVE-2022-50000",
        commit: "9afb4b27349a (netfilter: flowtable: fix stuck flows on cleanup due to pending \
                 work)",
        text: "a flowtable that is replaced while the hardware works for it is used after it is \
                freed",
        applies: Affected::Hardware,
        severity: Severity::Warning,
        in_versions: &[([5, 5, 0], [5, 15, 64]), ([5, 16, 0], [5, 19, 6])],
    },
    Defect {
        name: "CVE-2024-27403",
        commit: "9e0f0430389b (netfilter: nft_flow_offload: reset dst in route object after \
                 setting up flow)",
        text: "the route of a flow that cannot be offloaded is released twice",
        applies: Affected::Flowtable,
        severity: Severity::Advice,
        in_versions: &[
            ([4, 16, 0], [5, 15, 150]),
            ([5, 16, 0], [6, 1, 80]),
            ([6, 2, 0], [6, 6, 19]),
            ([6, 7, 0], [6, 7, 7]),
        ],
    },
    Defect {
        name: "CVE-2026-23392",
        commit: "d73f4b53aaae (netfilter: nf_tables: release flowtable after rcu grace period on \
                 error)",
        text: "packets may use a rejected flowtable after it is freed",
        applies: Affected::Flowtable,
        severity: Severity::Info,
        in_versions: &[
            ([4, 16, 0], [6, 1, 167]),
            ([6, 2, 0], [6, 6, 130]),
            ([6, 7, 0], [6, 12, 78]),
            ([6, 13, 0], [6, 18, 20]),
            ([6, 19, 0], [6, 19, 10]),
        ],
    },
];

/// Returns the defects of a kernel version, most severe first.
pub(super) fn of(version: [u32; 3]) -> impl Iterator<Item = &'static Defect> {
    let has = move |defect: &&Defect| {
        defect.in_versions.iter().any(|(first, fixed)| *first <= version && version < *fixed)
    };
    DEFECTS.iter().filter(has)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(version: [u32; 3]) -> Vec<&'static str> {
        of(version).map(|defect| defect.name).collect()
    }

    #[test]
    fn lists_defects_that_are_not_fixed_in_the_series() {
        assert!(names([5, 4, 200]).contains(&"dev_fill_forward_path"));
        assert!(names([5, 15, 156]).contains(&"CVE-2024-27016"));
        assert!(!names([5, 15, 157]).contains(&"CVE-2024-27016"));
        assert!(names([6, 6, 28]).contains(&"CVE-2024-27016"));
        assert_eq!(names([6, 12, 83]), [""; 0]);
        assert_eq!(names([6, 12, 80]), ["CVE-2026-43084", "CVE-2026-43329"]);
        assert_eq!(names([7, 0, 0]), [""; 0]);
    }

    #[test]
    fn version_ranges_are_sorted_and_disjoint() {
        for defect in DEFECTS {
            let all: Vec<_> = defect.in_versions.iter().flat_map(|(a, b)| [a, b]).collect();
            assert!(all.is_sorted(), "{}", defect.name);
        }
    }
}
