// SPDX-License-Identifier: GPL-2.0-or-later
//! Codes and texts of the refusals of `fastpath.change`.

use plugin::CallReason;

use crate::draft::DraftError;
use crate::edit::EditError;
use crate::record::State;
use crate::store::StoreError;
use crate::undo::ChangedSince;

config::coded! {
    /// Reason for a refusal. `said` is a message of another program or of the operating system.
    pub enum ChangeReason {
        // The caller.
        SessionEnded = "session-ended", "the session has ended; log in again";
        NoRight { config: String, user: String } = "no-right",
            "changing {config}: '{user}' has no right to write it";
        NotApplicant { id: u64, user: String } = "not-applicant",
            "confirming change {id}: only '{user}', who applied it, can";
        // The edits.
        Edits { number: usize, field: String, said: String } = "edits", "{said}";
        Draft { fault: String } = "draft", "{fault}; it may have changed: load the page again";
        OtherEdits { id: u64 } = "other-edits",
            "these are not the edits that undo change {id}; request them again";
        Invalid { problem: String } = "invalid", "the change cannot be applied: {problem}";
        Unchanged = "unchanged", "the configuration is like that already";
        Cuts { cut: String } = "cuts", "{cut}; to apply it all the same, set cut_ok";
        Exposes { opening: String, zone: String } = "exposes",
            "{opening}; to apply it all the same, name the zone '{zone}' (accept_exposure)";
        // Devices.
        NoGroup { group: String } = "no-group", "no device is in the group '{group}'";
        DevicesFull = "devices-full",
            "/etc/config/fastpath has as many devices as it can have; forget one first";
        // The pending change.
        Busy = "busy",
            "another call is changing the configuration; try again in a moment";
        Pending { user: String, left_s: u64 } = "pending",
            "a change of '{user}' waits to be confirmed, {left_s} s at most; try again then";
        PendingElsewhere = "pending-elsewhere",
            "a change made elsewhere (LuCI, uci) waits to be confirmed; try again when it is over";
        NotInForce { id: u64 } = "not-in-force",
            "confirming change {id}: fastpathd does not use the new configuration yet";
        Refused { id: u64, problem: String } = "configuration-refused",
            "confirming change {id}: fastpathd refuses the new configuration: {problem}";
        // Ended changes.
        NoChange { id: u64 } = "no-change", "change {id} does not exist (any more)";
        Confirmed { id: u64 } = "confirmed", "change {id} is confirmed already";
        Expired { id: u64 } = "expired",
            "change {id} was not confirmed in time and was rolled back";
        RolledBack { id: u64 } = "rolled-back",
            "change {id} was rolled back; the old configuration is in force";
        NothingToUndo { id: u64 } = "nothing-to-undo",
            "change {id} cannot be undone: it was rolled back";
        Changed { id: u64, config: String, section: String } = "changed",
            "change {id} cannot be undone: {config}, section '{section}': \
             it was changed again since";
        ChangedOption { id: u64, config: String, section: String, option: String } =
            "changed-option",
            "change {id} cannot be undone: {config}, section '{section}', option '{option}': \
             it was changed again since";
        // rpcd.
        Broken { config: String, said: String } = "broken",
            "/etc/config/{config} cannot be read, {said}";
        Read { config: String, said: String } = "read", "reading {config}: {said}";
        Stage { config: String, said: String } = "stage", "staging a change of {config}: {said}";
        Staged { config: String } = "staged",
            "staging the change of {config}: it became something else, so nothing was applied; \
             load the page again";
        Apply { said: String } = "apply", "applying the change: {said}";
        Unknown { said: String, seconds: u64 } = "unknown",
            "applying the change: {said}; whether it is in force is not known, and it is \
             reverted in {seconds} s unless it is confirmed";
    }
}

impl ChangeReason {
    /// Returns all codes, including codes of inner reasons.
    #[must_use]
    pub fn all_codes() -> Vec<&'static str> {
        let files = config::UciFault::ALL.map(config::UciFault::code);
        [&Self::CODES[..], &DraftError::CODES, &files].concat()
    }

    /// Returns the reason why an ended change cannot be confirmed or rolled back.
    pub(crate) fn ended(id: u64, state: State) -> Self {
        match state {
            State::Confirmed => Self::Confirmed { id },
            State::Expired => Self::Expired { id },
            State::Reverted | State::PowerCut => Self::RolledBack { id },
        }
    }

    /// Returns the reason why change `id` cannot be undone.
    pub(crate) fn changed(id: u64, since: &ChangedSince) -> Self {
        let ChangedSince { config, section, option } = since.clone();
        if option.is_empty() {
            Self::Changed { id, config, section }
        } else {
            Self::ChangedOption { id, config, section, option }
        }
    }
}

impl From<&EditError> for ChangeReason {
    fn from(error: &EditError) -> Self {
        let field = error.field.escape_debug().to_string();
        Self::Edits { number: error.number, field, said: error.to_string() }
    }
}

impl From<&StoreError> for CallReason {
    fn from(error: &StoreError) -> Self {
        let (path, said) = (error.path.display().to_string(), error.source.to_string());
        Self::File { what: error.what, path, said }
    }
}
