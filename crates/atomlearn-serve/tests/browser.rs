//! The page in a real browser: a digit is drawn with mouse and keyboard, and the decision is read.
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use atomlearn::io::pictures::{Picture, list_classes};
use atomlearn::{Dataset, Model, io, registry};
use atomlearn_browser::Browser;
use atomlearn_features::{FeatureSpec, FisherSpec, Handling, fit};
use atomlearn_serve::Subject;
use common::Running;
use serde_json::{Value, json};
use std::path::Path;

/// A three in one stroke of the mouse, in shares of the pad.
const THREE: [(f64, f64); 13] = [
    (0.30, 0.22),
    (0.42, 0.12),
    (0.58, 0.14),
    (0.66, 0.26),
    (0.60, 0.40),
    (0.46, 0.47),
    (0.60, 0.52),
    (0.69, 0.65),
    (0.65, 0.80),
    (0.52, 0.89),
    (0.38, 0.88),
    (0.28, 0.78),
    (0.28, 0.77),
];

/// Structure, names, width and contrast, asked of the page itself.
const QUESTIONS: &str = r##"(() => {
  const all = selector => [...document.querySelectorAll(selector)];
  const ids = all("[id]").map(element => element.id);
  const part = color => { const v = color / 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = css => { const [r, g, b] = css.match(/[\d.]+/g).map(Number); return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b); };
  const back = light(getComputedStyle(document.body).backgroundColor);
  const contrast = selector => { const l = light(getComputedStyle(document.querySelector(selector)).color); return (Math.max(l, back) + 0.05) / (Math.min(l, back) + 0.05); };
  const named = element => element.textContent.trim() || element.getAttribute("aria-label") || element.querySelector("[aria-label]") || element.labels?.length;
  return {
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    doubled: ids.length - new Set(ids).size,
    h1: all("h1").length,
    landmarks: ["header", "main", "footer"].every(name => all(`body > ${name}`).length === 1),
    unnamed: all("button, input, textarea, canvas").filter(element => element.checkVisibility() && !named(element) && !element.getAttribute("aria-labelledby")).length,
    contrast: Math.min(contrast("body"), contrast(".soft"), contrast("button")),
    dark: back < 0.2,
    rows: all("#bars tbody tr").length,
    unscoped: all("#bars th:not([scope])").length,
    atoms: all("#atoms > li").length,
    neighbours: all("#atoms ul li").length,
    label: document.querySelector("#label").textContent,
  };
})()"##;

const UNLIKE_HIDDEN: &str = "document.getElementById('unlike').hidden";

fn check(browser: &mut Browser, case: &str, dark: bool) -> Value {
    let seen = browser.eval(QUESTIONS).unwrap();
    let number = |key: &str| seen[key].as_f64().unwrap_or(-1.0);
    assert_eq!((number("wide"), number("doubled"), number("h1")), (0.0, 0.0, 1.0), "{case}: {seen}");
    assert_eq!((number("unnamed"), number("unscoped")), (0.0, 0.0), "{case}: {seen}");
    assert!(seen["landmarks"] == true && seen["dark"] == dark && number("contrast") >= 4.5, "{case}: {seen}");
    seen
}

/// No errors, no console messages, no requests elsewhere.
fn silent(browser: &Browser, origin: &str) {
    assert_eq!(browser.complaints(|url| url.starts_with(origin)), Vec::<String>::new());
}

fn open(browser: &mut Browser, url: &str) {
    browser.open_url(url).unwrap();
    browser.wait_for("document.documentElement.dataset.ready").unwrap();
    silent(browser, url);
}

fn draw_three(browser: &mut Browser) {
    browser.eval("document.getElementById('pad').scrollIntoView({block: 'center'})").unwrap();
    let pad = browser
        .eval("(({left, top, width}) => [left, top, width])(document.getElementById('pad').getBoundingClientRect())")
        .unwrap();
    let [left, top, width] = [0, 1, 2].map(|i| pad[i].as_f64().unwrap());
    let points: Vec<(f64, f64)> = THREE.iter().map(|(x, y)| (left + x * width, top + y * width)).collect();
    browser.drag(&points).unwrap();
}

const LABEL: &str = "document.getElementById('label').textContent";

#[test]
fn the_page_in_a_browser() {
    let Some(mut browser) = Browser::start_if_any().unwrap() else { return };
    let digits = Running::start(common::digits(), common::config());
    let table = Running::start(common::blobs("crc", "unit"), common::config());
    for (width, dark) in [(1280, false), (1280, true), (390, true), (390, false)] {
        let case = format!("{width} px, dark {dark}");
        browser.device(width, 900, dark).unwrap();
        open(&mut browser, &digits.url());
        draw_three(&mut browser);
        browser.wait_for(&format!("{LABEL} === '3'")).unwrap();
        let seen = check(&mut browser, &case, dark);
        assert_eq!((&seen["rows"], &seen["atoms"]), (&10.into(), &8.into()), "{case}");
        assert!(seen["neighbours"].as_f64().unwrap() >= 8.0, "{case}: {seen}");
        // On a phone the answer stands between the pad and everything else; a three is like those of training.
        let order = "['pad', 'label', 'examples'].map(id => document.getElementById(id).getBoundingClientRect().top)";
        let tops: Vec<f64> = serde_json::from_value(browser.eval(order).unwrap()).unwrap();
        assert_eq!(tops[0] < tops[1] && tops[1] < tops[2], width == 390, "{case}: {tops:?}");
        assert_eq!(browser.eval(UNLIKE_HIDDEN).unwrap(), true, "{case}");
        browser.screenshot(&format!("digits-{width}-{}", if dark { "dark" } else { "light" })).unwrap();
    }
    slider(&mut browser);
    keyboard(&mut browser);
    example_and_numbers(&mut browser);
    let folder = tempfile::tempdir().unwrap();
    files(&mut browser, folder.path());
    colors(&mut browser);
    silent(&browser, &digits.url());
    other_methods(&mut browser, &table);
    let mut model = common::blobs_model("crc", "unit");
    model.schema = Some(io::TableSchema::of_numbers(["a", "b", "c", "d", "e", "f"].map(String::from)));
    tables(&mut browser, &Running::start(Subject::new(model, "named", None, None), common::config()));
}

/// The slider changes the decision by what the page holds already, and the reset brings the model's own back.
fn slider(browser: &mut Browser) {
    let before = browser.eval("document.getElementById('sentence').textContent").unwrap();
    let set = |value: u32| {
        format!("(s => {{ s.value = {value}; s.dispatchEvent(new Event('input')); }})(document.getElementById('eta2'))")
    };
    browser.eval(&set(0)).unwrap();
    let text = browser.eval("document.getElementById('eta2-text').textContent").unwrap();
    assert!(text.as_str().unwrap().starts_with("η₂ = 0"), "{text}");
    // With no weight on the SVM, residual and fused columns choose the same class.
    let bold =
        "[...document.querySelectorAll('#bars tbody tr')].findIndex(row => row.cells[COLUMN].querySelector('b'))";
    let chosen = |browser: &mut Browser, column: &str| browser.eval(&bold.replace("COLUMN", column)).unwrap();
    assert_eq!(chosen(browser, "1"), chosen(browser, "3"));
    browser.eval(&set(120)).unwrap();
    assert_eq!(chosen(browser, "2"), chosen(browser, "3"));
    browser.eval("document.getElementById('eta2-reset').click()").unwrap();
    assert_eq!(browser.eval("document.getElementById('sentence').textContent").unwrap(), before);
}

/// A one: pen down, then straight down.
fn keyboard(browser: &mut Browser) {
    browser.eval("document.getElementById('pad').focus()").unwrap();
    browser.press("Delete").unwrap();
    assert_eq!(browser.eval("document.getElementById('result').hidden").unwrap(), true);
    browser.press("ArrowDown").unwrap();
    browser.press(" ").unwrap();
    (0..14).for_each(|_| browser.press("ArrowDown").unwrap());
    browser.press(" ").unwrap();
    browser.wait_for(&format!("!document.getElementById('result').hidden && {LABEL} === '1'")).unwrap();
}

fn example_and_numbers(browser: &mut Browser) {
    // Noise is unlike all digits, an example is not.
    let noise = "Array.from({ length: 64 }, (_, i) => i * 31 % 17).join(' ')";
    browser.eval("document.getElementById('own').open = true").unwrap();
    browser.eval(&format!("document.getElementById('numbers').value = {noise}")).unwrap();
    browser.eval("document.getElementById('use-numbers').click()").unwrap();
    browser.wait_for("document.getElementById('unlike').textContent.startsWith('Unlike anything seen')").unwrap();
    browser.wait_for(&format!("!({UNLIKE_HIDDEN})")).unwrap();
    browser.eval("document.querySelectorAll('#examples-list button')[12].click()").unwrap();
    browser.wait_for(&format!("{LABEL} === '4' && {UNLIKE_HIDDEN}")).unwrap();
    browser.eval("document.getElementById('own').open = true").unwrap();
    browser.eval("document.getElementById('numbers').value = '1 2 3'").unwrap();
    browser.eval("document.getElementById('use-numbers').click()").unwrap();
    browser.wait_for("document.getElementById('error').textContent.includes('one sample has 64')").unwrap();
    // Two samples, with a header and class names: the second is reached by the step button.
    let digits = io::digits();
    let line =
        |i: usize| digits.x.col(i).iter().map(f64::to_string).chain(["digit".into()]).collect::<Vec<_>>().join(",");
    let head = (0..64).map(|i| format!("pixel{i}")).chain(["class".into()]).collect::<Vec<_>>().join(",");
    let text = format!("{head}\n{}\n{}", line(0), line(7));
    browser.eval(&format!("document.getElementById('numbers').value = {}", json!(text))).unwrap();
    browser.eval("document.getElementById('use-numbers').click()").unwrap();
    browser.wait_for(&format!("{LABEL} === '0' && document.getElementById('error').hidden")).unwrap();
    browser.eval("document.getElementById('next').click()").unwrap();
    browser.wait_for(&format!("{LABEL} === '7'")).unwrap();
}

/// Files come through the input: an array of two samples, and a picture that the page makes grey and small.
fn files(browser: &mut Browser, folder: &Path) {
    let digits = io::digits();
    let array = folder.join("two.npy");
    std::fs::write(&array, common::npy(digits.x.subcols(2, 2))).unwrap();
    browser.choose("#file", &array).unwrap();
    browser.wait_for(&format!("{LABEL} === '2' && document.getElementById('rows').textContent === 'of 2'")).unwrap();
    browser.eval("document.getElementById('next').click()").unwrap();
    browser.wait_for(&format!("{LABEL} === '3'")).unwrap();
    let picture = folder.join("six.png");
    common::write_png(&picture, digits.x.subcols(6, 1), 20);
    browser.choose("#file", &picture).unwrap();
    browser.wait_for(&format!("{LABEL} === '6' && document.getElementById('which').hidden")).unwrap();
    std::fs::write(folder.join("bad.png"), "no picture").unwrap();
    browser.choose("#file", &folder.join("bad.png")).unwrap();
    browser.wait_for("document.getElementById('error').textContent.includes('not a picture')").unwrap();
}

/// A colour picture has the same grey values in the page as in training, every pixel of them.
fn colors(browser: &mut Browser) {
    let pixels = (0..8 * 8 * 3).map(|i| (i * 37 % 256) as u8).collect();
    let picture = Picture { width: 8, height: 8, channels: 3, pixels };
    let script = format!(
        "import('/input.js').then(async input => {{ \
           const file = new File([Uint8Array.from({})], 'colours.png', {{ type: 'image/png' }}); \
           window.shares = await input.pictureShares(file, {{ rows: 8, cols: 8 }}, false); \
         }}); 0",
        json!(picture.to_png().unwrap())
    );
    browser.eval(&script).unwrap();
    browser.wait_for("window.shares").unwrap();
    let seen = browser.eval("window.shares.map(share => Math.round(255 * share))").unwrap();
    assert_eq!(seen, json!(picture.grey().pixels));
}

/// Methods without residual and SVM parts show their scores, and samples that are no images are lines.
fn other_methods(browser: &mut Browser, table: &Running) {
    browser.device(390, 900, false).unwrap();
    open(browser, &table.url());
    assert_eq!(
        browser.eval("document.getElementById('draw').hidden && document.getElementById('examples').hidden").unwrap(),
        true
    );
    browser.eval("document.getElementById('numbers').value = '1 2 3 4 5 6'").unwrap();
    browser.eval("document.getElementById('use-numbers').click()").unwrap();
    browser.wait_for("!document.getElementById('result').hidden").unwrap();
    let seen = check(browser, "table", false);
    assert_eq!((&seen["rows"], &seen["neighbours"]), (&3.into(), &0.into()), "{seen}");
    assert!(seen["atoms"].as_f64().unwrap() > 0.0, "{seen}");
    assert_eq!(
        browser
            .eval("document.getElementById('weigh').hidden && document.querySelectorAll('#seen svg').length")
            .unwrap(),
        1
    );
    browser.screenshot("table-390-light").unwrap();
    silent(browser, &table.url());
}

/// Where the model knows its columns by name, so does the page: their order does not matter.
fn tables(browser: &mut Browser, named: &Running) {
    browser.device(390, 900, false).unwrap();
    open(browser, &named.url());
    assert!(browser.eval("document.getElementById('file-help').textContent").unwrap().to_string().contains("a, b, c"));
    let mut shown = |text: &str, until: &str| {
        browser.eval(&format!("document.getElementById('numbers').value = {}", json!(text))).unwrap();
        browser.eval("document.getElementById('use-numbers').click()").unwrap();
        browser.wait_for(until).unwrap();
        browser.eval("document.getElementById('bars').textContent").unwrap()
    };
    let answered = |rows: usize| {
        let which = format!("document.getElementById('rows').textContent === 'of {rows}'");
        format!("{which} && !document.getElementById('result').hidden && document.getElementById('error').hidden")
    };
    let straight = shown("1 2 3 4 5 7", &answered(1));
    let table = shown("a,b,c,d,e,f\n1,2,3,4,5,7\n0,0,0,0,0,1\n", &answered(2));
    let turned = shown("f;e;more;d;c;b;a\n7;5;x;4;3;2;1\n1;0;x;0;0;0;0\n0;1;x;0;0;0;0\n", &answered(3));
    assert_eq!((&table, &turned), (&straight, &straight));
    shown("a,b\n1,2\n", "document.getElementById('error').textContent.includes('`c`')");
    // What is said of the table stands beside the decision.
    shown("f,e,more,d,c,b,a\n7,5,x,4,3,2,1\n", &answered(1));
    assert!(browser.eval("document.getElementById('notes').textContent").unwrap().to_string().contains("more"));
    check(browser, "named", false);
}

/// Stripes across or down, with a little noise.
fn stripes(down: bool, index: usize) -> Picture {
    let (width, height) = (64 + 8 * (index % 2), 56);
    let value = |r: usize, c: usize| ((if down { c } else { r }) + index) / 4 % 2 * 160 + (r * 7 + c * 5 + index) % 50;
    let pixels = (0..height).flat_map(|r| (0..width).map(move |c| value(r, c) as u8)).collect();
    Picture { width, height, channels: 1, pixels }
}

/// A model of photos, and one photo that it has not seen.
fn photo_model(folder: &Path) -> (Subject, Vec<u8>) {
    for (class, down) in [("across", false), ("down", true)] {
        std::fs::create_dir(folder.join(class)).unwrap();
        for index in 0..8 {
            let file = folder.join(class).join(format!("{index}.png"));
            std::fs::write(file, stripes(down, index).to_png().unwrap()).unwrap();
        }
    }
    let images = list_classes(folder).unwrap().images;
    let spec = FisherSpec { components: 4, descriptor_dim: 8, descriptors: 800, ..FisherSpec::default() };
    let all = vec![true; images.len()];
    let (map, found) = fit(&FeatureSpec::Fisher(spec), None, &images, &all, Handling::default(), &()).unwrap();
    let labels: Vec<String> = images.iter().map(|image| image.class.clone().unwrap()).collect();
    let data = Dataset::new(found.x.as_ref(), &labels).unwrap();
    let method = registry::method("auto").unwrap();
    let model = Model::train(method, &Default::default(), &"none".parse().unwrap(), &data, &mut ()).unwrap();
    (Subject::new(model, "stripes", None, None).with_photos(map), stripes(true, 9).to_png().unwrap())
}

fn drop_photo(browser: &mut Browser, photo: &[u8]) {
    drop_files(browser, &[("new.png", "image/png", photo)]);
}

/// Drops files of these names, types and contents on the page.
fn drop_files(browser: &mut Browser, files: &[(&str, &str, &[u8])]) {
    let file = |(name, kind, bytes): &(&str, &str, &[u8])| {
        format!("data.items.add(new File([new Uint8Array({bytes:?})], '{name}', {{type: '{kind}'}}));")
    };
    let files: String = files.iter().map(file).collect();
    let drop = format!(
        "(() => {{ const data = new DataTransfer(); {files}
        document.body.dispatchEvent(new DragEvent('drop', {{dataTransfer: data, bubbles: true, cancelable: true}})); }})()"
    );
    browser.eval(&drop).unwrap();
}

/// A photo with stripes on its left, and nothing on its right, is dropped: the heat map says that the stripes spoke.
fn heat_map(browser: &mut Browser) {
    let mut half = stripes(true, 9);
    let (width, middle) = (half.width, half.width / 2);
    half.pixels.iter_mut().enumerate().filter(|(k, _)| k % width >= middle).for_each(|(_, pixel)| *pixel = 120);
    // The heat map of the photo before is taken away, so that only the new one can be read.
    browser.wait_for("!document.getElementById('heat').hidden").unwrap();
    browser.eval("document.getElementById('heat').replaceChildren()").unwrap();
    drop_photo(browser, &half.to_png().unwrap());
    browser.wait_for("!document.getElementById('heat').hidden && document.querySelector('#heat i') !== null").unwrap();
    assert_eq!(browser.eval(LABEL).unwrap(), "down");
    let read = "(heat => ({ \
        gives: [...heat.querySelectorAll('i')].map(cell => Number(cell.dataset.gives)), \
        columns: getComputedStyle(heat).gridTemplateColumns.split(' ').length, \
        strongest: [...heat.children].findIndex(cell => cell.classList.contains('strongest')), \
        covers: JSON.stringify(heat.getBoundingClientRect()) === JSON.stringify(document.querySelector('#seen canvas').getBoundingClientRect()), \
        note: document.getElementById('regions-note').textContent, \
    }))(document.getElementById('heat'))";
    let seen = browser.eval(read).unwrap();
    let gives: Vec<f64> = serde_json::from_value(seen["gives"].clone()).unwrap();
    let columns = seen["columns"].as_u64().unwrap() as usize;
    assert!(gives.len().is_multiple_of(columns) && gives.len() > 20 && seen["covers"] == true, "{seen}");
    // The middle column sees where the stripes end; beyond it there is nothing to see.
    let part = |left: bool| -> f64 {
        gives.iter().enumerate().filter(|(k, _)| (k % columns <= columns / 2) == left).map(|(_, give)| give.abs()).sum()
    };
    assert!(part(true) > 100.0 * part(false), "{seen}");
    let strongest = seen["strongest"].as_u64().unwrap() as usize;
    assert!(strongest % columns <= columns / 2 && gives[strongest] > 0.0, "{seen}");
    assert!(seen["note"].as_str().unwrap().contains("Without the outlined region"), "{seen}");
    browser.eval("document.getElementById('regions-toggle').click()").unwrap();
    assert_eq!(browser.eval("document.getElementById('heat').hidden").unwrap(), true);
    browser.eval("document.getElementById('regions-toggle').click()").unwrap();
    assert_eq!(browser.eval("document.getElementById('heat').hidden").unwrap(), false);
}

/// Several files are listed by name with their labels; one that cannot be read shows no decision, least of all that of another.
fn several_files(browser: &mut Browser, case: &str, dark: bool) {
    let (down, across) = (stripes(true, 9).to_png().unwrap(), stripes(false, 9).to_png().unwrap());
    let files = [
        ("down.png", "image/png", &down[..]),
        ("notes", "", &b"no photo"[..]),
        ("across with a long name that has to fit on a phone", "", &across[..]),
    ];
    drop_files(browser, &files);
    let said = "[...document.querySelectorAll('#files .said')].map(said => said.textContent)";
    browser.wait_for(&format!("{said}.length === 3 && {said}.every(said => said !== '…')")).unwrap();
    browser.wait_for(&format!("{LABEL} === 'down' && !document.getElementById('result').hidden")).unwrap();
    let said: Vec<String> = serde_json::from_value(browser.eval(said).unwrap()).unwrap();
    assert!(said[0].starts_with("down, ") && said[0].ends_with(" %") && said[2].starts_with("across, "), "{said:?}");
    assert_eq!(said[1], "cannot be read");
    let names = "[...document.querySelectorAll('#files .file')].map(file => file.textContent)";
    assert_eq!(browser.eval(names).unwrap(), json!(files.map(|(name, ..)| name)));
    let open = |row: usize| format!("document.querySelectorAll('#files button')[{row}].click()");
    browser.eval(&open(1)).unwrap();
    browser.wait_for("document.getElementById('error').textContent.includes('notes: ')").unwrap();
    assert_eq!(browser.eval("document.getElementById('result').hidden").unwrap(), true);
    let current = "[...document.querySelectorAll('#files button')].findIndex(b => b.ariaCurrent === 'true')";
    assert_eq!(browser.eval(current).unwrap(), 1);
    browser.eval(&open(2)).unwrap();
    browser.wait_for(&format!("{LABEL} === 'across' && !document.getElementById('result').hidden")).unwrap();
    assert_eq!(browser.eval("document.getElementById('error').hidden").unwrap(), true);
    let caption = browser.eval("document.getElementById('seen-caption').textContent").unwrap();
    assert_eq!(caption, files[2].0);
    check(browser, case, dark);
}

#[test]
fn a_photo_is_dropped_on_the_page() {
    let Some(mut browser) = Browser::start_if_any().unwrap() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (subject, photo) = photo_model(folder.path());
    let server = Running::start(subject, common::config());
    for (width, dark) in [(1280, false), (390, true)] {
        browser.device(width, 900, dark).unwrap();
        open(&mut browser, &server.url());
        drop_photo(&mut browser, &photo);
        browser.wait_for(&format!("{LABEL} === 'down'")).unwrap();
        let shown = browser.eval("document.querySelector('#seen canvas').getAttribute('aria-label')").unwrap();
        assert_eq!(shown, "the photo new.png");
        check(&mut browser, &format!("photo, {width} px"), dark);
        heat_map(&mut browser);
        check(&mut browser, &format!("heat map, {width} px"), dark);
        browser.screenshot(&format!("photo-{width}")).unwrap();
        silent(&browser, &server.url());
    }
    // The browser notes refused requests as complaints, so that nothing is asked about those here.
    for (width, dark) in [(1280, false), (390, true)] {
        browser.device(width, 900, dark).unwrap();
        browser.open_url(&server.url()).unwrap();
        browser.wait_for("document.documentElement.dataset.ready").unwrap();
        several_files(&mut browser, &format!("several photos, {width} px"), dark);
        browser.screenshot(&format!("photos-{width}")).unwrap();
    }
    // The same photo by the file input, and a file that is none.
    let file = folder.path().join("across.png");
    std::fs::write(&file, stripes(false, 9).to_png().unwrap()).unwrap();
    browser.choose("#photo-file", &file).unwrap();
    browser.wait_for(&format!("{LABEL} === 'across'")).unwrap();
    let broken = folder.path().join("broken.jpg");
    std::fs::write(&broken, "no photo").unwrap();
    browser.choose("#photo-file", &broken).unwrap();
    browser.wait_for("document.getElementById('error').textContent.includes('not a readable image')").unwrap();
    assert_eq!(browser.eval("document.getElementById('result').hidden").unwrap(), true);
    // There is no camera here, and the page says what to do.
    browser.eval("document.getElementById('camera').click()").unwrap();
    browser.wait_for("document.getElementById('error').textContent.includes('choose a file')").unwrap();
}
