// SPDX-License-Identifier: GPL-2.0-or-later
//! A stand-in for the bus. The test answers each call.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};

use plugin::Map;
use ubus::{Attribute, Blobmsg, Decoder, Frame, Kind, Status};

/// Function of object, method and arguments that answers a call.
pub(crate) type Objects = dyn FnMut(&str, &str, &Map) -> Result<Map, Status> + Send;

/// Serves the bus at a socket until the test process ends.
pub(crate) fn serve(socket: &Path, objects: Box<Objects>) {
    let listener = UnixListener::bind(socket).expect("a socket for the test");
    let objects = Arc::new(Mutex::new(objects));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let client = Client { stream, objects: objects.clone(), known: Vec::new() };
            std::thread::spawn(move || client.serve());
        }
    });
}

struct Client {
    stream: UnixStream,
    objects: Arc<Mutex<Box<Objects>>>,
    /// Paths of the client's look-ups. An object's id is its position, from 1.
    known: Vec<String>,
}

impl Client {
    fn serve(mut self) {
        self.send(Kind::Hello, (0, 0), vec![]);
        let mut decoder = Decoder::default();
        let mut bytes = [0; 4096];
        loop {
            match self.stream.read(&mut bytes) {
                Ok(count) if count > 0 => decoder.extend(&bytes[..count]),
                _ => return,
            }
            while let Some(frame) = decoder.next_frame().expect("a frame") {
                let to = (frame.seq, frame.peer);
                let status = match self.answer(&frame) {
                    Ok(data) => {
                        self.send(Kind::Data, to, data);
                        Status::Ok
                    }
                    Err(status) => status,
                };
                self.send(Kind::Status, to, vec![Attribute::Status(status.code())]);
            }
        }
    }

    fn answer(&mut self, frame: &Frame) -> Result<Vec<Attribute>, Status> {
        if frame.kind == Kind::Lookup {
            let path = frame.object_path().ok_or(Status::InvalidArgument)?.to_owned();
            self.known.push(path.clone());
            let number = u32::try_from(self.known.len()).unwrap_or(0);
            return Ok(vec![Attribute::ObjectPath(path), Attribute::ObjectId(number)]);
        }
        let place =
            frame.object_id().and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
        let object = place.and_then(|place| self.known.get(place)).ok_or(Status::NotFound)?;
        let method = frame.method().ok_or(Status::InvalidCommand)?;
        let args = frame.data().map(|data| data.decode().expect("arguments")).unwrap_or_default();
        let mut objects = self.objects.lock().expect("no answer has panicked");
        let answer = objects(object, method, &args)?;
        Ok(vec![Attribute::Data(Blobmsg::encode(&answer).expect("an answer"))])
    }

    /// Sends a frame. Ignores errors, because the client may have disconnected.
    fn send(&mut self, kind: Kind, (seq, peer): (u16, u32), attributes: Vec<Attribute>) {
        let frame = Frame { kind, seq, peer, attributes };
        let _ = self.stream.write_all(&frame.encode().expect("a frame"));
    }
}
