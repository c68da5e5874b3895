//! Documents as head, pages and tail: their bytes, joined with nothing between, are one document of Eureka's API.
//! Called by cache-sync, which cuts a list of records into pages, and by http-facade for single instances.

use crate::{Form, form::Style, json_output, xml_output};
use registry_model::{AppName, Record, StatusCounts};

/// A document that is written in pages: what its head and tail say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    /// All applications, some of them, or their changes: root `applications`.
    Registry {
        /// `versions__delta`: `1` for full lists, `-1` for VIPs, a counter for deltas.
        version: i64,
        /// What `apps__hashcode` counts.
        hash: StatusCounts,
    },
    /// One application: root `application`.
    Application {
        /// Its name.
        name: AppName,
    },
}

impl Document {
    /// How the pages of this document nest.
    pub const fn nesting(&self) -> Nesting {
        match self {
            Self::Registry { .. } => Nesting::Registry,
            Self::Application { .. } => Nesting::Application,
        }
    }
}

/// Whose child an instance is in a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nesting {
    /// Of an application, which is a child of the registry: pages open and close applications.
    Registry,
    /// Of the one application of the document: pages are instances and nothing else.
    Application,
}

/// Where a page stands in its document; only separators depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// Right after the head.
    First,
    /// After another page.
    Later,
}

/// Which part of an application a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// All of it.
    Whole,
    /// Its beginning; more follows in the next page.
    Start,
    /// Neither its beginning nor its end: all of a page in the middle of a large application.
    Middle,
    /// Its end.
    End,
}

impl Extent {
    pub(crate) const fn starts(self) -> bool {
        match self {
            Self::Whole | Self::Start => true,
            Self::Middle | Self::End => false,
        }
    }

    pub(crate) const fn ends(self) -> bool {
        match self {
            Self::Whole | Self::End => true,
            Self::Start | Self::Middle => false,
        }
    }
}

/// Consecutive instances of one application within a page.
///
/// In a registry document the runs of an application are one [`Extent::Whole`], or a `Start`, any number of `Middle`s and an `End`;
/// a `Start` has at least one record, and a `Whole` without any is left out, since no document shows an empty application.
/// In an application document the extent says nothing and is [`Extent::Middle`] by convention.
#[derive(Clone, Debug)]
pub struct Run<'a, I> {
    /// The application.
    pub app: &'a AppName,
    /// Its records, in document order.
    pub records: I,
    /// Which part of the application they are.
    pub extent: Extent,
}

/// The document of one instance.
pub fn encode_instance(form: Form, record: &Record) -> Vec<u8> {
    let mut out = Vec::new();
    match form.style() {
        Style::Json(detail) => json_output::instance_document(&mut out, record, detail),
        Style::Xml(style) => xml_output::instance_document(&mut out, record, style),
    }
    out
}

/// What stands before the first page.
pub fn encode_head(form: Form, document: &Document) -> Vec<u8> {
    let mut out = Vec::new();
    match form.style() {
        Style::Json(detail) => json_output::head(&mut out, document, detail),
        Style::Xml(style) => xml_output::head(&mut out, document, style),
    }
    out
}

/// What stands after the last page. Version and hash stand here in compact documents, in the head of all others.
pub fn encode_tail(form: Form, document: &Document) -> Vec<u8> {
    let mut out = Vec::new();
    match form.style() {
        Style::Json(detail) => json_output::tail(&mut out, document, detail),
        Style::Xml(style) => xml_output::tail(&mut out, document, style),
    }
    out
}

/// One page: runs of instances.
pub fn encode_page<'a, R, I>(form: Form, nesting: Nesting, place: Place, runs: R) -> Vec<u8>
where
    R: IntoIterator<Item = Run<'a, I>>,
    I: IntoIterator<Item = &'a Record>,
{
    let mut out = Vec::new();
    let (style, mut place) = (form.style(), place);
    for run in runs {
        let Run { app, records, extent } = run;
        let mut records = records.into_iter();
        let opens = match nesting {
            Nesting::Registry => extent.starts(),
            Nesting::Application => false,
        };
        let closes = match nesting {
            Nesting::Registry => extent.ends(),
            Nesting::Application => false,
        };
        if opens {
            let Some(first) = records.next() else {
                debug_assert_eq!(extent, Extent::Whole, "an application's start has at least one record");
                continue;
            };
            match style {
                Style::Json(detail) => {
                    json_output::open_application(&mut out, place, app);
                    json_output::instance(&mut out, first, detail);
                }
                Style::Xml(style) => {
                    xml_output::open_application(&mut out, app, style);
                    xml_output::instance(&mut out, nesting, first, style);
                }
            }
            place = Place::Later;
        }
        for record in records {
            match style {
                Style::Json(detail) => {
                    json_output::separate(&mut out, place);
                    json_output::instance(&mut out, record, detail);
                }
                Style::Xml(style) => xml_output::instance(&mut out, nesting, record, style),
            }
            place = Place::Later;
        }
        if closes {
            match style {
                Style::Json(_) => json_output::close_application(&mut out),
                Style::Xml(style) => xml_output::close_application(&mut out, style),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests;
