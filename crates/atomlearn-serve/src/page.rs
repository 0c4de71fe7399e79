//! The page, embedded in the program.

use crate::reply::{self, Reply};
use hyper::StatusCode;

/// A file of the page.
#[derive(Debug, PartialEq, Eq)]
pub struct File {
    /// Where it is found.
    pub path: &'static str,
    content_type: &'static str,
    content: &'static str,
}

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

const fn file(path: &'static str, content_type: &'static str, content: &'static str) -> File {
    File { path, content_type, content }
}

/// All files.
pub static FILES: [File; 10] = [
    file("/", "text/html; charset=utf-8", include_str!("../page/index.html")),
    file("/style.css", "text/css; charset=utf-8", include_str!("../page/style.css")),
    file("/main.js", JAVASCRIPT, include_str!("../page/main.js")),
    file("/input.js", JAVASCRIPT, include_str!("../page/input.js")),
    file("/files.js", JAVASCRIPT, include_str!("../page/files.js")),
    file("/pad.js", JAVASCRIPT, include_str!("../page/pad.js")),
    file("/show.js", JAVASCRIPT, include_str!("../page/show.js")),
    file("/photo.js", JAVASCRIPT, include_str!("../page/photo.js")),
    file("/regions.js", JAVASCRIPT, include_str!("../page/regions.js")),
    file("/picture.js", JAVASCRIPT, include_str!("../page/picture.js")),
];

impl File {
    /// As an answer.
    pub fn reply(&self) -> Reply {
        reply::bytes(StatusCode::OK, self.content_type, self.content)
    }
}

#[cfg(test)]
mod tests {
    use atomlearn::io::pictures::GREY_WEIGHTS;

    #[test]
    fn the_page_makes_colours_grey_as_the_library_does() {
        let [red, green, blue] = GREY_WEIGHTS;
        let formula = format!("grey = (r, g, b) => ({red} * r + {green} * g + {blue} * b + 32768) >> 16;");
        assert!(include_str!("../page/input.js").contains(&formula), "input.js has another formula than {formula}");
    }
}
