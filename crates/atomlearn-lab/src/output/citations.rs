//! BibTeX of methods and of the software, made from the paper that the registry names.

use atomlearn::registry::Method;

/// Venues whose papers stand in proceedings; the others are journals.
const CONFERENCES: [&str; 13] =
    ["AAAI", "ACCV", "BMVC", "COLT", "CVPR", "ECCV", "ICASSP", "ICCV", "ICIP", "ICML", "ICPR", "NIPS", "NeurIPS"];

/// Short names of venues, as the registry writes them, and their names in full.
const VENUES: [(&str, &str); 19] = [
    ("AAAI", "Proceedings of the AAAI Conference on Artificial Intelligence"),
    ("COLT", "Proceedings of the Annual Workshop on Computational Learning Theory (COLT)"),
    ("CVPR", "IEEE Conference on Computer Vision and Pattern Recognition (CVPR)"),
    ("ECCV", "European Conference on Computer Vision (ECCV)"),
    ("ICASSP", "IEEE International Conference on Acoustics, Speech and Signal Processing (ICASSP)"),
    ("ICCV", "IEEE International Conference on Computer Vision (ICCV)"),
    ("ICIP", "IEEE International Conference on Image Processing (ICIP)"),
    ("ICML", "International Conference on Machine Learning (ICML)"),
    ("ICPR", "International Conference on Pattern Recognition (ICPR)"),
    ("NIPS", "Advances in Neural Information Processing Systems (NIPS)"),
    ("NeurIPS", "Advances in Neural Information Processing Systems (NeurIPS)"),
    ("IEEE TIP", "IEEE Transactions on Image Processing"),
    ("IEEE TNNLS", "IEEE Transactions on Neural Networks and Learning Systems"),
    ("IEEE TPAMI", "IEEE Transactions on Pattern Analysis and Machine Intelligence"),
    ("PAMI", "IEEE Transactions on Pattern Analysis and Machine Intelligence"),
    ("IEEE TSP", "IEEE Transactions on Signal Processing"),
    ("IJCV", "International Journal of Computer Vision"),
    ("J. Multivariate Analysis", "Journal of Multivariate Analysis"),
    ("JMLR", "Journal of Machine Learning Research"),
];

/// The year of this version: that of the copyright, since it is not released yet.
const YEAR: &str = "2026";

/// A paper as the registry writes it: `Authors: Title. Venue YEAR (remark)`.
#[derive(Debug, PartialEq)]
struct Citation<'a> {
    authors: &'a str,
    title: &'a str,
    venue: &'a str,
    year: &'a str,
    remark: Option<&'a str>,
}

impl<'a> Citation<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        if text.starts_with("this project") {
            return None;
        }
        let (text, remark) = match text.rsplit_once(" (") {
            Some((text, remark)) => (text, remark.strip_suffix(')')),
            None => (text, None),
        };
        let (authors, rest) = text.split_once(": ")?;
        let end = [". ", "? "].iter().filter_map(|mark| rest.find(mark)).min()?;
        let title = rest[..=end].trim_end_matches('.');
        let (venue, year) = rest[end + 2..].rsplit_once(' ')?;
        let digits = year.len() == 4 && year.bytes().all(|byte| byte.is_ascii_digit());
        digits.then_some(Citation { authors, title, venue, year, remark })
    }

    fn bibtex(&self, key: &str) -> String {
        let authors = self.authors.replace(" et al.", ", others").replace(", ", " and ");
        let remark = self.remark.map_or(String::new(), |remark| format!("\n  note = {{{remark}}},"));
        let (kind, venue) = match CONFERENCES.contains(&self.venue) {
            true => ("inproceedings", "booktitle"),
            false => ("article", "journal"),
        };
        let name = VENUES.iter().find(|(short, _)| *short == self.venue).map_or(self.venue, |(_, name)| *name);
        // Titles are in their own spelling: braces keep BibTeX from changing capitals.
        format!(
            "@{kind}{{{key},\n  author = {{{authors}}},\n  title = {{{{{}}}}},\n  {venue} = {{{}}},\n  year = {{{}}},{remark}\n}}\n",
            self.title, name, self.year
        )
    }
}

/// The entry of the software itself.
pub fn software() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "@software{{atomlearn,\n  author = {{{{The atomlearn contributors}}}},\n  title = {{{{atomlearn: classification from few \
         labelled samples by representation and dictionary learning}}}},\n  version = {{{version}}},\n  year = {{{YEAR}}},\n  \
         url = {{{}}},\n}}\n",
        env!("CARGO_PKG_REPOSITORY")
    )
}

/// The entry of a method's paper; none for methods that are this project's own.
pub fn paper(method: &Method) -> Option<String> {
    Citation::parse(method.paper).map(|paper| paper.bibtex(method.key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use atomlearn::registry::METHODS;

    #[test]
    fn papers_are_taken_apart() {
        let found = Citation::parse("Doe, Roe: On x: which? J. Odd Things 1999 (the idea)").unwrap();
        assert_eq!(
            (found.authors, found.title, found.venue, found.year),
            ("Doe, Roe", "On x: which?", "J. Odd Things", "1999")
        );
        assert_eq!(found.remark, Some("the idea"));
        let entry = found.bibtex("odd");
        assert!(entry.starts_with("@article{odd,\n  author = {Doe and Roe},\n  title = {{On x: which?}},"), "{entry}");
        let entry = Citation::parse("Doe: On y. ICCV 2011").unwrap().bibtex("y");
        assert!(
            entry.starts_with("@inproceedings{y,")
                && entry.contains("booktitle = {IEEE International Conference on Computer Vision (ICCV)},"),
            "{entry}"
        );
        assert_eq!(Citation::parse("this project"), None);
    }

    #[test]
    fn the_software_has_year_and_address_and_no_venue_is_left_short() {
        let entry = software();
        assert!(entry.contains("  year = {2026},\n  url = {https://github.com/atomlearn/atomlearn},"), "{entry}");
        assert!(include_str!("../../../../CITATION.cff").contains("https://github.com/atomlearn/atomlearn"));
        assert!(include_str!("../../../../LICENSE-MIT").contains(YEAR));
        for paper in METHODS.iter().filter_map(|method| Citation::parse(method.paper)) {
            let short = !paper.venue.contains(' ') && paper.venue.bytes().all(|b| b.is_ascii_uppercase());
            assert!(!short || VENUES.iter().any(|(known, _)| *known == paper.venue), "{}", paper.venue);
        }
    }

    #[test]
    fn every_method_but_our_own_has_an_entry() {
        for method in METHODS {
            let entry = paper(method);
            assert_eq!(entry.is_none(), method.paper.starts_with("this project"), "{}: {entry:?}", method.key);
            let entry = entry.unwrap_or_else(software);
            assert_eq!(entry.matches('{').count(), entry.matches('}').count(), "{entry}");
        }
    }
}
