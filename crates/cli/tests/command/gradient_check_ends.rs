//! `isobar gradient-check` where numbers end: at what is allowed of a parameter, and at what a number can hold.

use crate::folder::Folder;
use crate::{run, text};

#[test]
fn differences_that_are_not_finite_say_nothing() {
    let folder = Folder::new("not-finite");
    let scene = folder.file(
        "scene.toml",
        r#"gravity = [0, 0, 0]
[solver]
kind = "rk4"
[[bodies]]
name = "ball"
linear_velocity = [1e300, 0, 0]
mass = 1
[[bodies.geometries]]
shape = { sphere = { radius = 0.05 } }
rigid = true
"#,
    );
    let (code, out, err) =
        run(&["gradient-check", text(&scene), "--steps", "1", "--only", "ball.v", "--all"]);
    let rows: Vec<&str> = out.lines().filter(|line| line.contains("NaN") || line.contains("inf")).collect();
    assert!(
        !rows.is_empty() && rows.iter().all(|row| !row.contains(" zero") && !row.contains(" ok")),
        "{out}"
    );
    assert!(code == Some(1) && err.contains("undecided"), "{code:?}: {err}");
}

/// Of a parameter at the end of what it may be the difference is one-sided.
#[test]
fn a_parameter_at_the_end_of_its_range_is_checked_from_the_inside() {
    let folder = Folder::new("check-ends");
    folder.file(
        "scene.toml",
        r#"[materials.m]
hydroelastic_modulus = 1e6
dissipation = 2.0
[materials.g]
[solver]
kind = "lagged"
[[bodies]]
name = "block"
translation = [0, 0, 0.0249]
linear_velocity = [1, 0, 0]
mass = 0.5
[[bodies.geometries]]
shape = { box = { size = [0.1, 0.1, 0.05] } }
material = "m"
[[bodies]]
name = "floor"
fixed = true
[[bodies.geometries]]
shape = { half_space = {} }
material = "g"
rigid = true
"#,
    );
    let rows = (0..6).map(|i| {
        let t = 0.01 * f64::from(i);
        format!("{t},{t},0,0.0249,1,0,0,0,1,0,0,0,0,0\n")
    });
    let header = "t_s,px_m,py_m,pz_m,qw,qx,qy,qz,vx_m_s,vy_m_s,vz_m_s,wx_rad_s,wy_rad_s,wz_rad_s\n";
    folder.file("slide.csv", header.to_owned() + &rows.collect::<String>());
    let fit = |initial: &str| {
        let text = format!(
            "scene = \"scene.toml\"\n[[parameters]]\nname = \"pairs.block.floor.friction\"\ninitial = {initial}\n\
             [[trajectories]]\nbody = \"block\"\nfiles = [\"slide.csv\"]\nposition_sigma = 1e-3\norientation_sigma = 1e-2\n\
             starts = \"recorded\"\n"
        );
        folder.file("fit.toml", text)
    };
    let (code, out, err) = run(&["gradient-check", text(&fit("0"))]);
    assert!(
        code == Some(0) && out.contains("pairs.block.floor.friction") && out.contains(" ok"),
        "{out}{err}"
    );
    for arguments in [&["gradient-check"][..], &["fit"]] {
        let (code, _, err) = run(&[arguments, &[text(&fit("-1"))]].concat());
        assert!(code != Some(0) && err.contains("pairs.block.floor.friction is -1; it must be"), "{err}");
    }
}
