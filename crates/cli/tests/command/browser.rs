//! Pages in a browser. These tests need Chromium (`apt-get install chromium`, or its path in `CHROMIUM`) and
//! run on request: `cargo test --test command browser -- --ignored`.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::folder::Folder;
use crate::{isobar, text};

/// Width and height of the window.
const WINDOW: [usize; 2] = [1280, 900];

/// The browser.
fn chromium() -> PathBuf {
    if let Some(path) = std::env::var_os("CHROMIUM") {
        return path.into();
    }
    let path = std::env::var_os("PATH").expect("a path");
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut candidates = std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name)));
    candidates.find(|candidate| candidate.is_file()).expect("Chromium on the path, or its path in CHROMIUM")
}

/// Held while a browser runs: two of them draw so slowly by software that neither is done in its time.
static BROWSER: Mutex<()> = Mutex::new(());

/// What a browser makes of a page.
struct Opened {
    /// The document once it is drawn.
    document: String,
    /// Colours of a picture of it, row by row.
    picture: Vec<[u8; 3]>,
}

/// How long a page may take, ms of the browser's own time. That runs on while the browser has nothing to do
/// but wait for threads of its own, so that on a busy machine it may be over before the page is drawn. More
/// of it takes no longer where the page is drawn in time.
const PATIENCE: [u64; 3] = [120_000, 1_200_000, 12_000_000];

/// Opens a page at a time of its film.
fn open(folder: &Folder, page: &Path, time: f64) -> Opened {
    let one_at_a_time = BROWSER.lock().unwrap_or_else(PoisonError::into_inner);
    let mut attempts = PATIENCE.iter().map(|&patience| attempt(folder, page, time, patience));
    let opened = attempts.find(|opened| head(&opened.document).contains("data-ready=\"true\""));
    drop(one_at_a_time);
    let opened = opened.expect("a page that is drawn in the time that it has");
    assert!(!head(&opened.document).contains("data-error"), "{}", head(&opened.document));
    opened
}

/// The beginning of a document.
fn head(document: &str) -> String {
    document.chars().take(400).collect()
}

/// Opens a page and waits for some of the browser's time, ms.
fn attempt(folder: &Folder, page: &Path, time: f64, patience: u64) -> Opened {
    let file = folder.0.join("page.png");
    let output = Command::new(chromium())
        .args(["--headless", "--no-sandbox", "--hide-scrollbars", "--enable-logging=stderr", "--v=0"])
        // WebGL without a graphics card.
        .args(["--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"])
        .arg(format!("--window-size={},{}", WINDOW[0], WINDOW[1]))
        .arg(format!("--virtual-time-budget={patience}"))
        .arg(format!("--user-data-dir={}", text(&folder.0.join("profile"))))
        .arg("--dump-dom")
        .arg(format!("--screenshot={}", text(&file)))
        .arg(format!("file://{}#t={time}", text(page)))
        .output()
        .expect("Chromium runs");
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    let errors: Vec<&str> = log.lines().filter(|line| line.contains("CONSOLE")).collect();
    assert!(errors.is_empty(), "the browser's console: {errors:#?}");
    let document = String::from_utf8_lossy(&output.stdout).into_owned();
    Opened { document, picture: picture(&file) }
}

/// The colours of a picture, row by row.
fn picture(file: &Path) -> Vec<[u8; 3]> {
    let decoder = png::Decoder::new(BufReader::new(File::open(file).expect("a picture")));
    let mut reader = decoder.read_info().expect("a picture");
    let mut bytes = vec![0; reader.output_buffer_size().expect("its size")];
    let info = reader.next_frame(&mut bytes).expect("its points");
    assert_eq!([info.width as usize, info.height as usize], WINDOW);
    let width = info.color_type.samples();
    bytes.chunks(width).take(WINDOW[0] * WINDOW[1]).map(|point| [point[0], point[1], point[2]]).collect()
}

/// The part of a picture where the film is.
fn film(picture: &[[u8; 3]]) -> Vec<[u8; 3]> {
    let (columns, rows) = (40..620, 180..620);
    rows.flat_map(|row| picture[WINDOW[0] * row..][columns.clone()].to_vec()).collect()
}

#[test]
#[ignore = "needs Chromium"]
fn in_a_browser_a_grasp_is_drawn_and_scrubbing_changes_it() {
    let folder = Folder::new("browser");
    let page = folder.0.join("grasp.html");
    let scene = "examples/grasp_lift/gripper.toml";
    let output = isobar(&["simulate", scene, "--until", "1", "--record", text(&page)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let size = page.metadata().expect("the page").len();
    assert!(size < 30 << 20, "{size} bytes");
    let opened = [0.1, 0.9].map(|time| open(&folder, &page, time));
    for part in ["Contact forces", "gripper.toml", "t = 0.1"] {
        assert!(opened[0].document.contains(part), "{part}");
    }
    let pictures = opened.map(|opened| film(&opened.picture));
    for picture in &pictures {
        let mut colors = picture.clone();
        colors.sort_unstable();
        colors.dedup();
        assert!(colors.len() > 100, "bodies with light and shade: {} colours", colors.len());
    }
    let changed = pictures[0].iter().zip(&pictures[1]).filter(|(before, after)| before != after).count();
    assert!(changed > 500, "{changed} points of the film changed");
}

#[test]
#[ignore = "needs Chromium"]
fn in_a_browser_a_field_is_sliced() {
    let folder = Folder::new("browser_slice");
    let output = isobar(&["view", "examples/grasp_lift/gripper.toml", "--print"]);
    let page = String::from_utf8(output.stdout).expect("its name");
    let drawn = open(&folder, Path::new(page.trim()), 0.0).document;
    assert!(drawn.contains("pressure to 1 MPa of 1 MPa in the body"), "half of the ball");
    fs::remove_file(page.trim()).expect("it can be removed");
}

#[test]
#[ignore = "needs Chromium"]
fn in_a_browser_a_fit_and_a_gradient_check_are_drawn() {
    let folder = Folder::new("browser_tables");
    let [fit, check] = ["fit.html", "check.html"].map(|name| folder.0.join(name));
    let scene = "examples/fit_ball/scene.toml";
    for arguments in [
        ["fit", "examples/fit_ball/fit.toml", "--record", text(&fit)],
        ["gradient-check", scene, "--record", text(&check)],
    ] {
        let output = isobar(&arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let drawn = open(&folder, &fit, 0.0).document;
    assert!(drawn.contains("materials.foam.hydroelastic_modulus") && drawn.contains("force at depth"));
    let drawn = open(&folder, &check, 0.0).document;
    assert!(drawn.contains("with respect to") && drawn.matches("<tr").count() > 10);
}
