//! The images of a folder: of a folder of classes, or all there are; what is not read is named.

use super::pictures::format_name;
use super::{Note, text};
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The last four are images that cannot be read, which is said of each instead of passing them over.
const EXTENSIONS: [&str; 17] = [
    "png", "jpg", "jpeg", "jfif", "jpe", "webp", "pnm", "pgm", "ppm", "pbm", "tif", "tiff", "bmp", "heic", "heif",
    "avif", "gif",
];
/// Names that a sentence lists.
const NAMED: usize = 5;
/// Bytes of a file that tell what it is.
const MARK: u64 = 64;

/// One image file of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFile {
    /// The sub-folder it lies in, bytes that are not UTF-8 written as `\xNN`; none where images lie in the folder itself.
    pub class: Option<String>,
    /// Path within the folder, with `/` on every system.
    pub name: String,
    /// Path to open.
    pub path: PathBuf,
}

/// The images of a folder and what else was seen there.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// All images: those of the folder itself, then those of its sub-folders, in the order of their names.
    pub images: Vec<ImageFile>,
    /// Sub-folders without any image.
    pub empty_classes: Vec<String>,
    /// What is not read.
    pub left_out: LeftOut,
}

/// What of a folder of images does not become a sample, by names within the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeftOut {
    /// Images that cannot be read.
    pub broken: Vec<Unreadable>,
    /// Images beside the folders of classes: they have no class.
    pub loose: Vec<String>,
    /// Folders within sub-folders: they are not entered.
    pub folders: Vec<String>,
    /// Files that are images neither by name nor by content.
    pub files: Vec<String>,
}

/// An image that cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unreadable {
    /// Its name within the folder.
    pub file: String,
    /// What is wrong with it.
    pub why: String,
}

impl LeftOut {
    /// True if everything was read.
    pub fn is_empty(&self) -> bool {
        self == &LeftOut::default()
    }

    /// What could not be read, in a sentence: how many images, and the first of them.
    pub fn broken_in_words(&self) -> Option<String> {
        let names = self.broken.iter().map(|broken| broken.file.as_str());
        counted(names, ["photo cannot be read and is left out", "photos cannot be read and are left out"])
    }

    /// What was not read in spite of being there, in sentences.
    pub fn notes(&self) -> Vec<Note> {
        let list = |of: &[String], words: [&str; 2]| counted(of.iter().map(String::as_str), words);
        let loose = list(
            &self.loose,
            [
                "photo lies beside the folders of classes and is not read, since it has no class",
                "photos lie beside the folders of classes and are not read, since they have no class",
            ],
        );
        let folders = list(
            &self.folders,
            [
                "folder lies within a sub-folder and is not read; move its photos one level up",
                "folders lie within sub-folders and are not read; move their photos one level up",
            ],
        );
        let files = list(
            &self.files,
            [
                "file is no image by its name or content and is not read",
                "files are no images by their names or content and are not read",
            ],
        );
        let warnings = loose.into_iter().chain(folders).map(Note::warning);
        warnings.chain(files.map(Note::plain)).collect()
    }
}

/// `2 photos are left out: a.jpg, b.jpg`; nothing of none.
fn counted<'a>(names: impl ExactSizeIterator<Item = &'a str>, [one, many]: [&str; 2]) -> Option<String> {
    let count = names.len();
    let shown: Vec<&str> = names.take(NAMED).collect();
    let more = if count > NAMED { format!(" and {} more", count - NAMED) } else { String::new() };
    let what = if count == 1 { one } else { many };
    (count > 0).then(|| format!("{count} {what}: {}{more}", shown.join(", ")))
}

impl Listing {
    /// What is odd about a folder of classes, for people.
    pub fn notes(&self) -> Vec<Note> {
        let empty =
            |class: &String| Note::warning(format!("the folder `{class}` holds no images, so there is no such class"));
        self.empty_classes.iter().map(empty).chain(self.left_out.notes()).collect()
    }

    /// Adds the images that lie in `folder` itself; `within` is what it is called.
    fn add(&mut self, folder: &Path, within: Option<&str>) -> Result<()> {
        for path in entries(folder)? {
            let file = file_name(&path);
            let name = within.map_or_else(|| file.clone(), |within| format!("{within}/{file}"));
            if path.is_file() && is_image(&path) {
                self.images.push(ImageFile { class: within.map(str::to_string), name, path });
            } else if path.is_file() {
                self.left_out.files.push(name);
            } else if path.is_dir() && within.is_some() {
                self.left_out.folders.push(name);
            }
        }
        Ok(())
    }

    /// Adds the images of all sub-folders.
    fn add_folders(&mut self, folder: &Path) -> Result<()> {
        let mut folders: HashMap<String, PathBuf> = HashMap::new();
        for class_path in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
            let class = file_name(&class_path);
            if let Some(other) = folders.insert(class.clone(), class_path.clone()) {
                let why = format!("the folders {other:?} and {class_path:?} would both be class `{class}`; rename one");
                return Err(Error::format(folder, why));
            }
            let before = self.images.len();
            self.add(&class_path, Some(&class))?;
            if self.images.len() == before {
                self.empty_classes.push(class);
            }
        }
        Ok(())
    }

    /// Where images may be instead, if there are none where they are looked for.
    fn hint(&self) -> String {
        match self.left_out.folders.first() {
            Some(deeper) => {
                format!("; `{deeper}` lies one level too deep: name the folder that holds the folders of classes")
            }
            None => String::new(),
        }
    }
}

/// True if the name ends like that of an image.
pub fn is_image_name(path: &Path) -> bool {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase()).unwrap_or_default();
    EXTENSIONS.contains(&extension.as_str())
}

/// True if the file is an image by its name or, whatever it is called, by its first bytes.
pub fn is_image(path: &Path) -> bool {
    is_image_name(path) || begins_like_image(path).unwrap_or(false)
}

/// Texts may begin with the two letters that mark PNM files. Raw files of cameras begin like TIFF files but hold a small preview
/// first, so that only files without an extension are believed to be TIFF.
fn begins_like_image(path: &Path) -> std::io::Result<bool> {
    let mut start = Vec::new();
    std::fs::File::open(path)?.take(MARK).read_to_end(&mut start)?;
    Ok(match format_name(&start) {
        None | Some("PNM") => false,
        Some("TIFF") => path.extension().is_none(),
        // After its two letters a BMP has its size, and then four zeros.
        Some("BMP") => start.get(6..10) == Some(&[0; 4]),
        Some(_) => true,
    })
}

/// The images in the sub-folders of `folder`, one sub-folder per class. Deeper folders are not entered, so links that
/// lead back cannot trap the search.
pub fn list_classes(folder: &Path) -> Result<Listing> {
    let mut listing = Listing::default();
    listing.add(folder, None)?;
    listing.left_out.loose = std::mem::take(&mut listing.images).into_iter().map(|image| image.name).collect();
    listing.add_folders(folder)?;
    if listing.images.is_empty() {
        let why = format!(
            "a folder is read as images, but it has no sub-folders with .png, .jpg, .webp, .pnm, .tiff or .bmp files; \
             make one sub-folder per class, or name a file{}",
            listing.hint()
        );
        return Err(Error::format(folder, why));
    }
    Ok(listing)
}

/// The images to classify: one file, or all images of a folder and of its sub-folders.
pub fn list_any(path: &Path) -> Result<Listing> {
    let mut listing = Listing::default();
    if !path.is_dir() {
        listing.images.push(ImageFile { class: None, name: file_name(path), path: path.into() });
        return Ok(listing);
    }
    listing.add(path, None)?;
    listing.add_folders(path)?;
    if listing.images.is_empty() {
        let why = format!(
            "neither the folder nor its sub-folders hold .png, .jpg, .webp, .pnm, .tiff or .bmp files{}",
            listing.hint()
        );
        return Err(Error::format(path, why));
    }
    Ok(listing)
}

/// The visible entries of a folder, sorted by name.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Error::io(folder))? {
        let path = entry.map_err(Error::io(folder))?.path();
        if !file_name(&path).starts_with('.') {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn file_name(path: &Path) -> String {
    path.file_name().map(text::from_name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_are_known_by_their_content_and_nothing_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        let jpeg = b"\xff\xd8\xff\xe0\0\x10JFIF";
        put("loose.jpg", jpeg);
        put("README.md", b"BMW cars");
        for name in ["a/1.jfif", "a/2", "a/3.JPG"] {
            put(name, jpeg);
        }
        put("a/4.gif", b"GIF89a");
        put("a/5", b"II*\0\x08\0\0\0");
        put("a/raw.nef", b"II*\0\x08\0\0\0");
        put("a/notes", b"P5 is no picture");
        put("a/deep/6.jpg", jpeg);
        put("b/.hidden.jpg", jpeg);
        let classes = list_classes(folder.path()).unwrap();
        let names = |listing: &Listing| listing.images.iter().map(|image| image.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&classes), ["a/1.jfif", "a/2", "a/3.JPG", "a/4.gif", "a/5"]);
        assert_eq!(classes.empty_classes, ["b"]);
        let left = &classes.left_out;
        assert_eq!((&left.loose[..], &left.folders[..]), (&["loose.jpg".into()][..], &["a/deep".into()][..]));
        assert_eq!(left.files, ["README.md", "a/notes", "a/raw.nef"]);
        let said: Vec<String> = classes.notes().into_iter().map(|note| note.text).collect();
        assert_eq!(said.len(), 4, "{said:?}");
        assert!(said[1].ends_with("no class: loose.jpg") && said[2].ends_with("up: a/deep"), "{said:?}");
        assert!(said[3].starts_with("3 files") && said[3].contains("a/raw.nef"), "{said:?}");
        // To classify, all that can be reached is there.
        let any = list_any(folder.path()).unwrap();
        assert_eq!((names(&any)[0].as_str(), any.images.len()), ("loose.jpg", 6));
        assert!(any.left_out.loose.is_empty() && any.left_out.folders == ["a/deep"]);
        let said = list_classes(&folder.path().join("a/deep")).unwrap_err().to_string();
        assert!(said.contains("one sub-folder per class"), "{said}");
    }

    #[test]
    fn sentences_name_the_first_and_count_the_rest() {
        let files = (0..8).map(|i| format!("{i}.txt")).collect();
        let left_out = LeftOut { files, ..LeftOut::default() };
        assert!(left_out.notes()[0].text.ends_with("0.txt, 1.txt, 2.txt, 3.txt, 4.txt and 3 more"));
        assert!(!left_out.is_empty() && LeftOut::default().is_empty());
    }
}
