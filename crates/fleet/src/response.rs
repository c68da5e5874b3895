//! The answer side of HTTP/1.1 without I/O: finds where an answer ends, counts its body and throws it away. Called by
//! `connection.rs`, which feeds it whatever a read returned.

/// Longest accepted head in bytes.
const HEAD_LIMIT: usize = 64 * 1024;
/// Most accepted header lines.
const HEADER_LIMIT: usize = 48;
/// How much of an error body is kept to show to a person.
const EXCERPT_BYTES: usize = 200;

/// What is known of one answer once it is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// Bytes of body received, without chunk framing and still compressed.
    pub(crate) body_bytes: u64,
    /// The declared length, which for HEAD is that of the body not sent.
    pub(crate) content_length: Option<u64>,
    pub(crate) reuse: Reuse,
}

/// Whether the connection may carry another request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reuse {
    KeepAlive,
    Close,
}

/// Whether the request was one that is answered with a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    Body,
    HeadOnly,
}

/// How far one call of [`ResponseReader::advance`] came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Bytes of the input that belonged to this answer.
    pub(crate) consumed: usize,
    pub(crate) finished: Option<Response>,
}

/// The peer does not speak HTTP/1.1 as it should.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Malformed {
    #[error("answer head is not HTTP/1.1")]
    Head,
    #[error("answer head is too long")]
    HeadTooLong,
    #[error("content length is not one number")]
    ContentLength,
    #[error("chunk framing is broken")]
    Chunk,
}

/// Reads answers one after another.
#[derive(Debug)]
pub(crate) struct ResponseReader {
    state: State,
    /// The beginning of a head that a read cut off.
    held: Vec<u8>,
    response: Response,
    excerpt: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Head,
    Length { left: u64 },
    Chunked(Chunk),
    UntilClose,
}

#[derive(Debug, Clone, Copy)]
enum Chunk {
    Size { value: u64, digits: u8 },
    Extension { value: u64 },
    Data { left: u64 },
    DataEnd,
    Trailer { line: Line },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Line {
    Empty,
    Filled,
}

impl ResponseReader {
    pub(crate) fn new() -> Self {
        Self { state: State::Head, held: Vec::new(), response: Response::starting(), excerpt: Vec::new() }
    }

    /// The first bytes of the latest answer's body if its status was not 2xx.
    pub(crate) fn excerpt(&self) -> String {
        String::from_utf8_lossy(&self.excerpt).into_owned()
    }

    /// Takes the next bytes of the stream; stops right behind the end of an answer.
    pub(crate) fn advance(&mut self, input: &[u8], expect: Expect) -> Result<Progress, Malformed> {
        let mut consumed = 0;
        loop {
            let rest = input.get(consumed..).unwrap_or_default();
            match self.state {
                State::Head => match self.read_head(rest, expect)? {
                    Some(used) => consumed += used,
                    None => return Ok(Progress { consumed: input.len(), finished: None }),
                },
                State::Length { left } => {
                    let used = self.count_body(rest, left);
                    consumed += used;
                    let left = left - used as u64;
                    if left == 0 {
                        return Ok(self.finish(consumed));
                    }
                    self.state = State::Length { left };
                    return Ok(Progress { consumed, finished: None });
                }
                State::Chunked(Chunk::Data { left }) => {
                    if rest.is_empty() {
                        return Ok(Progress { consumed, finished: None });
                    }
                    let used = self.count_body(rest, left);
                    consumed += used;
                    let left = left - used as u64;
                    self.state = State::Chunked(if left == 0 { Chunk::DataEnd } else { Chunk::Data { left } });
                }
                State::Chunked(chunk) => {
                    let Some(&byte) = rest.first() else {
                        return Ok(Progress { consumed, finished: None });
                    };
                    consumed += 1;
                    match chunk.framing(byte)? {
                        Some(next) => self.state = State::Chunked(next),
                        None => return Ok(self.finish(consumed)),
                    }
                }
                State::UntilClose => {
                    consumed += self.count_body(rest, u64::MAX);
                    return Ok(Progress { consumed, finished: None });
                }
            }
        }
    }

    /// The peer closed the stream: completes an answer that is delimited by that.
    pub(crate) fn end_of_stream(&mut self) -> Option<Response> {
        match self.state {
            State::UntilClose => self.finish(0).finished,
            State::Head | State::Length { .. } | State::Chunked(_) => None,
        }
    }

    /// Returns the number of input bytes that belong to the head once that is complete.
    fn read_head(&mut self, input: &[u8], expect: Expect) -> Result<Option<usize>, Malformed> {
        if self.held.is_empty() {
            // Nearly always the whole head is here, and nothing is copied.
            let Some(head) = parse_head(input, expect)? else {
                self.held.extend_from_slice(input);
                return Ok(None);
            };
            self.begin(head);
            return Ok(Some(head.length));
        }
        let before = self.held.len();
        self.held.extend_from_slice(input);
        let Some(head) = parse_head(&self.held, expect)? else { return Ok(None) };
        self.held.clear();
        self.begin(head);
        Ok(Some(head.length.saturating_sub(before)))
    }

    fn begin(&mut self, head: Head) {
        self.response = head.response;
        self.state = head.body;
        self.excerpt.clear();
    }

    fn count_body(&mut self, input: &[u8], left: u64) -> usize {
        let used = usize::try_from(left).unwrap_or(usize::MAX).min(input.len());
        self.response.body_bytes += used as u64;
        if !self.response.is_success() {
            let room = EXCERPT_BYTES.saturating_sub(self.excerpt.len());
            self.excerpt.extend(input.iter().take(used.min(room)));
        }
        used
    }

    fn finish(&mut self, consumed: usize) -> Progress {
        self.state = State::Head;
        Progress { consumed, finished: Some(self.response) }
    }
}

impl Response {
    /// Whether the status is 2xx.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    fn starting() -> Self {
        Self { status: 0, body_bytes: 0, content_length: None, reuse: Reuse::KeepAlive }
    }
}

impl Chunk {
    /// The state after one byte of framing; nothing when the answer is complete.
    fn framing(self, byte: u8) -> Result<Option<Self>, Malformed> {
        let next = match (self, byte) {
            (Self::Size { value, digits: 1.. }, b'\n') | (Self::Extension { value }, b'\n') => match value {
                0 => Self::Trailer { line: Line::Empty },
                left => Self::Data { left },
            },
            (Self::Size { value, digits: digits @ 1.. }, b'\r') => Self::Size { value, digits },
            (Self::Size { value, digits: 1.. }, b';' | b' ' | b'\t') => Self::Extension { value },
            (Self::Size { value, digits }, _) => {
                let digit = char::from(byte).to_digit(16).ok_or(Malformed::Chunk)?;
                let value = value.checked_mul(16).ok_or(Malformed::Chunk)? + u64::from(digit);
                Self::Size { value, digits: digits.saturating_add(1) }
            }
            (Self::DataEnd, b'\n') => Self::Size { value: 0, digits: 0 },
            (Self::DataEnd, b'\r') => Self::DataEnd,
            (Self::DataEnd | Self::Data { .. }, _) => return Err(Malformed::Chunk),
            (Self::Extension { value }, _) => Self::Extension { value },
            (Self::Trailer { line: Line::Empty }, b'\n') => return Ok(None),
            (Self::Trailer { line: Line::Filled }, b'\n') => Self::Trailer { line: Line::Empty },
            (Self::Trailer { line }, b'\r') => Self::Trailer { line },
            (Self::Trailer { .. }, _) => Self::Trailer { line: Line::Filled },
        };
        Ok(Some(next))
    }
}

#[derive(Debug, Clone, Copy)]
struct Head {
    length: usize,
    response: Response,
    body: State,
}

fn parse_head(input: &[u8], expect: Expect) -> Result<Option<Head>, Malformed> {
    let mut headers = [httparse::EMPTY_HEADER; HEADER_LIMIT];
    let mut parsed = httparse::Response::new(&mut headers);
    let length = match parsed.parse(input) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if input.len() > HEAD_LIMIT => return Err(Malformed::HeadTooLong),
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(_) => return Err(Malformed::Head),
    };
    let status = parsed.code.ok_or(Malformed::Head)?;
    let mut reuse = if parsed.version == Some(0) { Reuse::Close } else { Reuse::KeepAlive };
    let mut content_length = None;
    let mut chunked = false;
    for header in parsed.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let value = decimal(header.value).ok_or(Malformed::ContentLength)?;
            if content_length.is_some_and(|known| known != value) {
                return Err(Malformed::ContentLength);
            }
            content_length = Some(value);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            chunked = header.value.to_ascii_lowercase().ends_with(b"chunked");
        } else if header.name.eq_ignore_ascii_case("connection") {
            if header.value.eq_ignore_ascii_case(b"close") {
                reuse = Reuse::Close;
            } else if header.value.eq_ignore_ascii_case(b"keep-alive") {
                reuse = Reuse::KeepAlive;
            }
        }
    }
    let bodiless = expect == Expect::HeadOnly || status == 204 || status == 304;
    let body = if (100..200).contains(&status) {
        // An interim answer: the real one follows.
        State::Head
    } else if bodiless {
        State::Length { left: 0 }
    } else if chunked {
        State::Chunked(Chunk::Size { value: 0, digits: 0 })
    } else if let Some(left) = content_length {
        State::Length { left }
    } else {
        reuse = Reuse::Close;
        State::UntilClose
    };
    Ok(Some(Head { length, response: Response { status, body_bytes: 0, content_length, reuse }, body }))
}

fn decimal(text: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?.trim();
    // `parse` alone would accept a sign.
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests;
