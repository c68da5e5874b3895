use super::*;

/// Feeds `stream` in pieces of `piece` bytes, as a connection would, and collects every answer.
fn read_all(stream: &[u8], piece: usize, expect: Expect) -> Result<Vec<Response>, Malformed> {
    let mut reader = ResponseReader::new();
    let mut answers = Vec::new();
    for mut input in stream.chunks(piece) {
        while !input.is_empty() {
            let progress = reader.advance(input, expect)?;
            assert!(progress.consumed > 0 && progress.consumed <= input.len());
            input = &input[progress.consumed..];
            answers.extend(progress.finished);
        }
    }
    answers.extend(reader.end_of_stream());
    Ok(answers)
}

fn answer(status: u16, body_bytes: u64, content_length: Option<u64>, reuse: Reuse) -> Response {
    Response { status, body_bytes, content_length, reuse }
}

#[test]
fn answers_are_found_however_the_stream_is_cut() {
    use Reuse::{Close, KeepAlive};
    let long = format!("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n{}", "x".repeat(5000));
    let cases: Vec<(&str, &str, Expect, Vec<Response>)> = vec![
        ("no body", "HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n", Expect::Body, vec![answer(204, 0, None, KeepAlive)]),
        (
            "length zero",
            "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            Expect::Body,
            vec![answer(200, 0, Some(0), KeepAlive)],
        ),
        ("length", &long, Expect::Body, vec![answer(200, 5000, Some(5000), KeepAlive)]),
        (
            "pipelined",
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 404 \r\nContent-Length: 2\r\n\r\nxy\
             HTTP/1.1 204 No Content\r\n\r\n",
            Expect::Body,
            vec![
                answer(200, 3, Some(3), KeepAlive),
                answer(404, 2, Some(2), KeepAlive),
                answer(204, 0, None, KeepAlive),
            ],
        ),
        (
            "chunked",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nWiki\r\n00A;x=\"y\"\r\n0123456789\r\n0\r\n\r\n",
            Expect::Body,
            vec![answer(200, 14, None, KeepAlive)],
        ),
        (
            "chunked with trailers, then another",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, Chunked\r\n\r\n1 \r\n\n\r\n0\r\nA: b\r\nC: d\r\n\r\n\
             HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nz",
            Expect::Body,
            vec![answer(200, 1, None, KeepAlive), answer(200, 1, Some(1), KeepAlive)],
        ),
        (
            "interim answer is skipped",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nz",
            Expect::Body,
            vec![answer(200, 1, Some(1), KeepAlive)],
        ),
        (
            "head only",
            "HTTP/1.1 200 OK\r\nContent-Length: 77\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            Expect::HeadOnly,
            vec![answer(200, 0, Some(77), KeepAlive), answer(200, 0, None, KeepAlive)],
        ),
        (
            "close announced",
            "HTTP/1.1 500 Oops\r\nConnection: Close\r\nContent-Length: 4\r\n\r\noops",
            Expect::Body,
            vec![answer(500, 4, Some(4), Close)],
        ),
        ("until close", "HTTP/1.1 200 OK\r\n\r\nto the end", Expect::Body, vec![answer(200, 10, None, Close)]),
        (
            "old version",
            "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nz",
            Expect::Body,
            vec![answer(200, 1, Some(1), Close)],
        ),
    ];
    for (name, stream, expect, answers) in cases {
        for piece in [1, 2, 3, 7, 16, stream.len()] {
            let read = read_all(stream.as_bytes(), piece, expect);
            assert_eq!(read, Ok(answers.clone()), "{name} in pieces of {piece}");
        }
    }
}

#[test]
fn broken_answers_are_refused() {
    let endless = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(HEAD_LIMIT));
    for (stream, error) in [
        ("SSH-2.0-x\r\n\r\n", Malformed::Head),
        ("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nz", Malformed::ContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nz", Malformed::ContentLength),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", Malformed::Chunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", Malformed::Chunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nzz\r\n", Malformed::Chunk),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", Malformed::Chunk),
        (&endless, Malformed::HeadTooLong),
    ] {
        assert_eq!(read_all(stream.as_bytes(), stream.len(), Expect::Body), Err(error), "{stream:.60}");
    }
}

#[test]
fn an_answer_cut_off_by_the_peer_is_not_an_answer() {
    for stream in ["HTTP/1.1 200", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc"] {
        assert_eq!(read_all(stream.as_bytes(), 4, Expect::Body), Ok(vec![]), "{stream}");
    }
}

#[test]
fn the_beginning_of_an_error_body_is_kept() {
    let mut reader = ResponseReader::new();
    let stream = "HTTP/1.1 400 Bad Request\r\nContent-Length: 16\r\n\r\nMissing hostname";
    reader.advance(stream.as_bytes(), Expect::Body).unwrap();
    assert_eq!(reader.excerpt(), "Missing hostname");
    reader.advance(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", Expect::Body).unwrap();
    assert_eq!(reader.excerpt(), "");
}
