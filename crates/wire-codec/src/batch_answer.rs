//! The answer to `POST peerreplication/batch`, written item by item. Called by http-facade.

use crate::{
    Detail,
    document::Place,
    json_output::{instance, raw, separate},
    writer::push_number,
};
use registry_model::Record;

/// An answer longer than this names no more instances, so that no batch can ask for an endless one. The other server then learns
/// that an instance here is newer, but not what it is.
const LONGEST_WITH_INSTANCES: usize = 32 << 20;

/// One result per item, in the order of the items.
#[derive(Debug)]
pub struct BatchAnswer {
    document: Vec<u8>,
    place: Place,
}

impl Default for BatchAnswer {
    fn default() -> Self {
        Self { document: br#"{"responseList":["#.to_vec(), place: Place::First }
    }
}

impl BatchAnswer {
    /// Adds the result of the next item: what the status of a single request would have been, and the instance that its body would
    /// have held.
    pub fn push(&mut self, status: u16, stored: Option<&Record>) {
        let out = &mut self.document;
        separate(out, self.place);
        self.place = Place::Later;
        raw(out, r#"{"statusCode":"#);
        push_number(out, status);
        if let Some(stored) = stored.filter(|_| out.len() <= LONGEST_WITH_INSTANCES) {
            raw(out, r#","responseEntity":"#);
            instance(out, stored, Detail::Full);
        }
        out.push(b'}');
    }

    /// The whole document.
    pub fn finish(self) -> Vec<u8> {
        let mut document = self.document;
        raw(&mut document, "]}");
        document
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Form, encode_instance, samples};

    #[test]
    fn rest_131_136_138_results_stand_in_order_with_bare_instances() {
        assert_eq!(BatchAnswer::default().finish(), br#"{"responseList":[]}"#);
        let record = samples::rich();
        let mut answer = BatchAnswer::default();
        answer.push(200, None);
        answer.push(409, Some(&record));
        answer.push(404, None);
        let wrapped = String::from_utf8(encode_instance(Form::Json, &record)).unwrap();
        let bare = wrapped.strip_prefix(r#"{"instance":"#).and_then(|rest| rest.strip_suffix('}')).unwrap();
        let expected = format!(
            r#"{{"responseList":[{{"statusCode":200}},{{"statusCode":409,"responseEntity":{bare}}},{{"statusCode":404}}]}}"#
        );
        assert_eq!(String::from_utf8(answer.finish()).unwrap(), expected);
    }

    #[test]
    fn an_answer_that_would_be_endless_withholds_its_instances() {
        let record = samples::rich();
        let mut answer = BatchAnswer::default();
        let most = 2 * LONGEST_WITH_INSTANCES / encode_instance(Form::Json, &record).len();
        (0..most).for_each(|_| answer.push(409, Some(&record)));
        let document = answer.finish();
        assert!(document.len() < LONGEST_WITH_INSTANCES + (1 << 20));
        assert!(document.ends_with(br#"{"statusCode":409},{"statusCode":409}]}"#));
    }
}
