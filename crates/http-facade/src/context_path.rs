//! What stands before every path of the REST API where a server lives under a path of its own. Part of `config`; asked by `router`.

use service_runtime::operations;

/// A path in front of `/eureka`, mostly none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextPath {
    segments: Box<[Box<str>]>,
}

impl ContextPath {
    /// From `/reg`, `reg/` or `/a/b`; nothing and a lone slash are no path.
    ///
    /// # Errors
    /// What no path of a request consists of as it stands.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_plain = |char: char| char.is_ascii_alphanumeric() || "/-._~".contains(char);
        match text.chars().all(is_plain) {
            true => Ok(Self { segments: text.split('/').filter(|part| !part.is_empty()).map(Into::into).collect() }),
            false => Err("may have letters, digits, `-`, `.`, `_`, `~` and slashes".to_owned()),
        }
    }

    /// What of a request's path is behind this one; `None` outside. Probes and metrics stand where they always do.
    pub(crate) fn within<'a>(&self, path: &'a str) -> Option<&'a str> {
        if self.segments.is_empty() || operations::PATHS.contains(&path) {
            return Some(path);
        }
        self.segments.iter().try_fold(path, |rest, segment| {
            let rest = rest.trim_start_matches('/').strip_prefix(&**segment)?;
            (rest.is_empty() || rest.starts_with('/')).then_some(rest)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b27_only_what_is_behind_the_context_path_is_served() {
        let table = [
            ("", "/eureka/apps", Some("/eureka/apps")),
            ("/", "//eureka/apps", Some("//eureka/apps")),
            ("/reg", "/reg/eureka/v2/apps", Some("/eureka/v2/apps")),
            ("reg/", "//reg//eureka/apps/", Some("//eureka/apps/")),
            ("/reg", "/reg", Some("")),
            ("/reg", "/eureka/apps", None),
            ("/reg", "/registry/eureka/apps", None),
            ("/reg", "/Reg/eureka/apps", None),
            ("/a/b", "/a/b/eureka/apps", Some("/eureka/apps")),
            ("/a/b", "/a/eureka/apps", None),
            ("/eureka", "/eureka/eureka/apps", Some("/eureka/apps")),
            ("/reg", "/metrics", Some("/metrics")),
        ];
        for (context, path, within) in table {
            assert_eq!(ContextPath::parse(context).unwrap().within(path), within, "{context} {path}");
        }
        for bad in ["/a b", "/a?b", "/a%20b", "/a;b", "/ü"] {
            assert!(ContextPath::parse(bad).is_err(), "{bad}");
        }
    }
}
