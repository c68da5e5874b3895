//! Application and id as one text inside the slot: comparing them follows no pointer.

/// What two cache lines leave; nearly every key fits.
const ROOM: usize = 69;

/// The application's name, then the id, in one run of bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum KeyText {
    /// In place.
    Short { app: u8, whole: u8, bytes: [u8; ROOM] },
    /// Too long for that.
    Long { app: usize, bytes: Box<[u8]> },
}

impl KeyText {
    pub(super) fn new(app: &str, id: &str) -> Self {
        let (app, id) = (app.as_bytes(), id.as_bytes());
        let whole = app.len() + id.len();
        let mut bytes = [0; ROOM];
        let places = bytes.get_mut(..whole).and_then(|place| place.split_at_mut_checked(app.len()));
        match (u8::try_from(app.len()), u8::try_from(whole), places) {
            (Ok(app_length), Ok(whole), Some((app_place, id_place))) => {
                app_place.copy_from_slice(app);
                id_place.copy_from_slice(id);
                Self::Short { app: app_length, whole, bytes }
            }
            _ => Self::Long { app: app.len(), bytes: [app, id].concat().into() },
        }
    }

    pub(super) fn is(&self, app: &str, id: &str) -> bool {
        self.split() == Some((app.as_bytes(), id.as_bytes()))
    }

    pub(super) fn has_id(&self, id: &str) -> bool {
        self.split().is_some_and(|(_, own)| own == id.as_bytes())
    }

    fn split(&self) -> Option<(&[u8], &[u8])> {
        let (app_length, bytes) = match self {
            Self::Short { app, whole, bytes } => (usize::from(*app), bytes.get(..usize::from(*whole))),
            Self::Long { app, bytes } => (*app, Some(&**bytes)),
        };
        bytes.and_then(|bytes| bytes.split_at_checked(app_length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_only_itself_whatever_its_length() {
        for length in [1, 10, 34, 35, 69, 70, 127, 128, 200, 300, 4096] {
            let (app, id) = ("A".repeat(length), "b".repeat(length));
            let text = KeyText::new(&app, &id);
            assert!(text.is(&app, &id));
            assert!(text.has_id(&id) && !text.has_id(&app));
            assert!(!text.is(&app, &format!("{id}b")));
            assert!(!text.is(&format!("{app}b"), id.strip_prefix('b').unwrap()));
            assert!(!text.is(&app, id.strip_prefix('b').unwrap()));
        }
    }
}
