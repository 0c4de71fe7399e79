//! The page, embedded in the program.

use crate::reply::{self, Reply};
use hyper::StatusCode;

/// Path, content type and content of every file.
const FILES: &[(&str, &str, &str)] = &[
    ("/", "text/html; charset=utf-8", include_str!("../page/index.html")),
    ("/style.css", "text/css; charset=utf-8", include_str!("../page/style.css")),
    ("/main.js", JAVASCRIPT, include_str!("../page/main.js")),
    ("/input.js", JAVASCRIPT, include_str!("../page/input.js")),
    ("/pad.js", JAVASCRIPT, include_str!("../page/pad.js")),
    ("/show.js", JAVASCRIPT, include_str!("../page/show.js")),
    ("/picture.js", JAVASCRIPT, include_str!("../page/picture.js")),
];
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// The file at a path, if it is one of the page's.
pub fn file(path: &str) -> Option<(&'static str, Reply)> {
    let (path, kind, content) = FILES.iter().find(|(held, ..)| *held == path)?;
    Some((path, reply::bytes(StatusCode::OK, kind, *content)))
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
