// SPDX-License-Identifier: GPL-2.0-or-later
//! Generic netlink: looks up a family by name and sends commands to it.

use crate::attribute::{attribute, attributes, number, push_attribute};
use crate::client::Client;
use crate::error::RequestError;
use crate::message::messages;
use crate::socket::Protocol;

/// `GENL_ID_CTRL`: the family that resolves family names.
const CONTROL: u16 = 16;
/// `CTRL_CMD_GETFAMILY`.
const GET_FAMILY: u8 = 3;
/// `CTRL_ATTR_FAMILY_ID`.
const FAMILY_ID: u16 = 1;
/// `CTRL_ATTR_FAMILY_NAME`.
const FAMILY_NAME: u16 = 2;

/// `CTRL_ATTR_MCAST_GROUPS`: a list of nested attributes.
const GROUPS: u16 = 7;
/// `CTRL_ATTR_MCAST_GRP_NAME`.
const GROUP_NAME: u16 = 1;
/// `CTRL_ATTR_MCAST_GRP_ID`.
const GROUP_ID: u16 = 2;

/// Size of `struct genlmsghdr`.
const HEADER: usize = 4;

/// Socket for requests to one family.
#[derive(Debug)]
pub struct Family {
    client: Client,
    number: u16,
    /// Contents of [`GROUPS`].
    groups: Vec<u8>,
}

impl Family {
    /// Opens a socket and looks up the family.
    ///
    /// # Errors
    /// Returns [`RequestError::NoFamily`] if the kernel lacks the family.
    pub fn open(name: &'static str) -> Result<Self, RequestError> {
        let client = Client::open(Protocol::Generic)?;
        let mut this = Self { client, number: CONTROL, groups: Vec::new() };
        let mut wanted = Vec::new();
        push_attribute(&mut wanted, FAMILY_NAME, &[name.as_bytes(), &[0]].concat());
        let answer = this.request(GET_FAMILY, &wanted).map_err(|error| match error.refused() {
            Some(libc::ENOENT) => RequestError::NoFamily(name),
            _ => error,
        })?;
        let number = contents(&answer)
            .find_map(|content| attribute(content, FAMILY_ID)?.try_into().ok())
            .ok_or(RequestError::Malformed)?;
        this.number = u16::from_ne_bytes(number);
        let groups = contents(&answer).find_map(|content| attribute(content, GROUPS));
        this.groups = groups.unwrap_or_default().to_vec();
        Ok(this)
    }

    /// Returns the type of the family's messages.
    #[must_use]
    pub const fn number(&self) -> u16 {
        self.number
    }

    /// Returns the id of a multicast group.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<u32> {
        let named = |group: &[u8]| {
            let text = attribute(group, GROUP_NAME)?.strip_suffix(&[0])?;
            (text == name.as_bytes()).then_some(())?;
            number(attribute(group, GROUP_ID)?, u32::from_ne_bytes)
        };
        attributes(&self.groups).find_map(|(_, group)| named(group))
    }

    /// Dumps objects and returns their messages.
    pub fn dump(&mut self, command: u8, attributes: &[u8]) -> Result<Vec<u8>, RequestError> {
        let header: [u8; HEADER] = [command, 1, 0, 0];
        self.client.dump(self.number, &[&header, attributes].concat())
    }

    /// Sends a command with attributes and returns the messages of the answer.
    pub fn request(&mut self, command: u8, attributes: &[u8]) -> Result<Vec<u8>, RequestError> {
        let header: [u8; HEADER] = [command, 1, 0, 0];
        self.client.request(self.number, &[&header, attributes].concat())
    }
}

/// Returns the attributes of each message of an answer.
pub fn contents(answer: &[u8]) -> impl Iterator<Item = &[u8]> {
    messages(answer).filter_map(|message| message.payload.get(HEADER..))
}
