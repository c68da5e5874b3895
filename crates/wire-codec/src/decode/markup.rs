//! XML as a bounded sequence of tags and texts: no document types, hence no entities beyond XML's five, and no deep nesting.
//! Called by `elements`; the tokens come from quick-xml.

use super::{DecodeError, MAX_DEPTH, MAX_ENTRIES};
use crate::xml_names::{is_character, is_name};
use quick_xml::{
    Reader,
    escape::resolve_predefined_entity,
    events::{BytesRef, BytesStart, Event},
};
use std::borrow::Cow;

/// How many attributes an element may have. Real ones have one; the check for repeated ones compares each with each.
const MAX_ATTRIBUTES: usize = 64;

/// A document that is being read.
pub(super) struct Markup<'a> {
    reader: Reader<&'a [u8]>,
    depth: usize,
    /// Elements so far.
    elements: usize,
}

/// What comes next.
pub(super) enum Token<'a> {
    /// An element begins.
    Open(Element<'a>),
    /// Some text; a text may come in pieces.
    Text(Cow<'a, str>),
    /// The innermost element ends; an empty element ends as well.
    Close,
    /// The document ends.
    End,
}

/// The beginning of an element.
pub(super) struct Element<'a> {
    /// Its name as it is written.
    pub(super) name: Box<str>,
    tag: BytesStart<'a>,
}

impl Element<'_> {
    /// An attribute's value.
    pub(super) fn attribute(&self, name: &str) -> Result<Option<String>, DecodeError> {
        let found = self.tag.try_get_attribute(name).map_err(DecodeError::from_attribute)?;
        found.map(|found| found.unescape_value().map(Cow::into_owned).map_err(DecodeError::Markup)).transpose()
    }
}

impl<'a> Markup<'a> {
    /// Reads a document, which has to have none but XML's characters.
    pub(super) fn of(document: &'a str) -> Result<Self, DecodeError> {
        // Nearly every document is ASCII, where bytes tell.
        let plain = document.bytes().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=0x7F));
        if !plain && !document.chars().all(is_character) {
            return Err(DecodeError::NotWellFormed("a character that XML forbids"));
        }
        let mut reader = Reader::from_str(document);
        reader.config_mut().expand_empty_elements = true;
        Ok(Self { reader, depth: 0, elements: 0 })
    }

    /// The next token.
    pub(super) fn next(&mut self) -> Result<Token<'a>, DecodeError> {
        loop {
            return Ok(match self.reader.read_event().map_err(DecodeError::Markup)? {
                Event::Start(tag) | Event::Empty(tag) => {
                    self.depth += 1;
                    if self.depth > MAX_DEPTH {
                        return Err(DecodeError::TooDeep);
                    }
                    self.elements += 1;
                    if self.elements > MAX_ENTRIES {
                        return Err(DecodeError::TooManyEntries);
                    }
                    Token::Open(element(tag)?)
                }
                Event::End(_) => {
                    self.depth = self.depth.saturating_sub(1);
                    Token::Close
                }
                Event::Text(text) => Token::Text(text.xml10_content().map_err(DecodeError::from_encoding)?),
                Event::CData(text) => Token::Text(text.xml10_content().map_err(DecodeError::from_encoding)?),
                Event::GeneralRef(reference) => Token::Text(resolve(&reference)?),
                Event::DocType(_) => return Err(DecodeError::DocumentType),
                Event::Decl(_) | Event::Comment(_) | Event::PI(_) => continue,
                Event::Eof if self.depth > 0 => return Err(DecodeError::NotWellFormed("an element has no end")),
                Event::Eof => Token::End,
            });
        }
    }

    /// The text of the innermost element, up to its end; an element with children has no text, as in Eureka.
    pub(super) fn text(&mut self) -> Result<String, DecodeError> {
        let mut text = String::new();
        let mut is_leaf = true;
        loop {
            match self.next()? {
                Token::Text(piece) => text.push_str(&piece),
                Token::Open(_) => {
                    is_leaf = false;
                    self.skip()?;
                }
                Token::Close | Token::End => break,
            }
        }
        Ok(if is_leaf { text } else { String::new() })
    }

    /// Everything up to the end of the innermost element.
    pub(super) fn skip(&mut self) -> Result<(), DecodeError> {
        let outside = self.depth.saturating_sub(1);
        while self.depth > outside {
            self.next()?;
        }
        Ok(())
    }

    /// The next child of the innermost element; `None` at its end. Text between children says nothing.
    pub(super) fn child(&mut self) -> Result<Option<Element<'a>>, DecodeError> {
        loop {
            match self.next()? {
                Token::Open(element) => return Ok(Some(element)),
                Token::Text(_) => {}
                Token::Close | Token::End => return Ok(None),
            }
        }
    }
}

/// Checks a tag; quick-xml leaves names and attributes unread.
fn element(tag: BytesStart<'_>) -> Result<Element<'_>, DecodeError> {
    let name = std::str::from_utf8(tag.name().0).map_err(|_| DecodeError::NotUnicode)?;
    if !is_name(name) {
        return Err(DecodeError::NotWellFormed("an element's name is no name"));
    }
    for (at, attribute) in tag.attributes().enumerate() {
        if at >= MAX_ATTRIBUTES {
            return Err(DecodeError::NotWellFormed("too many attributes"));
        }
        let attribute = attribute.map_err(DecodeError::from_attribute)?;
        attribute.unescape_value().map_err(DecodeError::Markup)?;
        if attribute.value.contains(&b'<') {
            return Err(DecodeError::NotWellFormed("a tag within an attribute"));
        }
    }
    Ok(Element { name: name.into(), tag })
}

/// A reference to a character, by its number or by one of XML's five names.
fn resolve(reference: &BytesRef<'_>) -> Result<Cow<'static, str>, DecodeError> {
    if let Some(character) = reference.resolve_char_ref().map_err(DecodeError::Markup)? {
        if !is_character(character) {
            return Err(DecodeError::NotWellFormed("a character that XML forbids"));
        }
        return Ok(Cow::Owned(character.into()));
    }
    let name = reference.decode().map_err(DecodeError::from_encoding)?;
    let known = resolve_predefined_entity(&name).ok_or(DecodeError::NotWellFormed("an entity that nobody declared"))?;
    Ok(Cow::Borrowed(known))
}

impl DecodeError {
    fn from_attribute(error: quick_xml::events::attributes::AttrError) -> Self {
        Self::Markup(error.into())
    }

    fn from_encoding(error: quick_xml::encoding::EncodingError) -> Self {
        Self::Markup(error.into())
    }
}
