//! Request bytes, with the headers that the Spring Cloud client sends. Called by the subcommands to prepare what a
//! connection then writes as it is.

use clap::ValueEnum;

use crate::population::{Population, Version};

const AGENT: &str = concat!("fleet/", env!("CARGO_PKG_VERSION"));

/// The document format to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Json,
    Xml,
}

/// The content encoding to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encoding {
    Identity,
    Gzip,
}

/// A read with or without a body in the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Read {
    Get,
    Head,
}

/// Writes requests for one server.
#[derive(Debug, Clone)]
pub(crate) struct RequestWriter {
    host: String,
    prefix: String,
}

impl RequestWriter {
    /// `prefix` is what stands in front of `/apps`, for example `/eureka`.
    pub(crate) fn new(host: &str, prefix: &str) -> Self {
        Self { host: host.to_owned(), prefix: prefix.trim_end_matches('/').to_owned() }
    }

    /// Appends the registration of one instance.
    pub(crate) fn register(&self, population: &Population, instance: usize, version: Version, out: &mut Vec<u8>) {
        let Self { host, prefix } = self;
        let app = population.app(instance);
        let body = population.body(instance, version);
        let head = format!(
            "POST {prefix}/apps/{app} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {AGENT}\r\nAccept-Encoding: gzip\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(body.as_bytes());
    }

    /// Appends the renewal of one instance, with the stamp of its plain registration.
    pub(crate) fn renew(&self, population: &Population, instance: usize, out: &mut Vec<u8>) {
        let dirty = population.first_version(instance).dirty;
        let tail = format!("?status=UP&lastDirtyTimestamp={dirty}");
        self.without_body("PUT", population, instance, &tail, out);
    }

    /// Appends the cancellation of one instance.
    pub(crate) fn cancel(&self, population: &Population, instance: usize, out: &mut Vec<u8>) {
        self.without_body("DELETE", population, instance, "", out);
    }

    /// Appends a status override that takes one instance out of service.
    pub(crate) fn take_out_of_service(&self, population: &Population, instance: usize, out: &mut Vec<u8>) {
        self.without_body("PUT", population, instance, "/status?value=OUT_OF_SERVICE", out);
    }

    /// Appends the removal of that override, naming UP as the status to return to.
    pub(crate) fn return_to_service(&self, population: &Population, instance: usize, out: &mut Vec<u8>) {
        self.without_body("DELETE", population, instance, "/status?value=UP", out);
    }

    /// Makes a read of a path below the prefix, for example `/apps/`.
    pub(crate) fn read(&self, read: Read, path: &str, format: Format, encoding: Encoding) -> Vec<u8> {
        self.read_absolute(read, &format!("{}{path}", self.prefix), format, encoding)
    }

    /// Makes a read of a path as given.
    pub(crate) fn read_absolute(&self, read: Read, path: &str, format: Format, encoding: Encoding) -> Vec<u8> {
        let host = &self.host;
        let method = match read {
            Read::Get => "GET",
            Read::Head => "HEAD",
        };
        let accept = match format {
            Format::Json => "application/json",
            Format::Xml => "application/xml",
        };
        let encoding = match encoding {
            Encoding::Identity => "",
            Encoding::Gzip => "Accept-Encoding: gzip\r\n",
        };
        format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {AGENT}\r\nAccept: {accept}\r\n{encoding}\r\n")
            .into_bytes()
    }

    fn without_body(&self, method: &str, population: &Population, instance: usize, tail: &str, out: &mut Vec<u8>) {
        let Self { host, prefix } = self;
        let (app, id) = (population.app(instance), population.id(instance));
        let head = format!(
            "{method} {prefix}/apps/{app}/{id}{tail} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: {AGENT}\r\n\
             Accept: application/json\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n"
        );
        out.extend_from_slice(head.as_bytes());
    }
}
