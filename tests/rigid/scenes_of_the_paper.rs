//! Xie and Chakraborty, §5.2 and §5.3: which modes follow each other, and how flat what is flat stays.

use isobar::step::{ComplementarityMethod, PatchKind};

use crate::scenes::{self, Motion, STEP, TEE};

/// The kinds of patches, each once until it changes.
fn modes(motion: &Motion) -> Vec<Option<PatchKind>> {
    let mut modes: Vec<Option<PatchKind>> = Vec::new();
    for contacts in &motion.contacts[1..] {
        let kind = contacts.first().map(|contact| contact.kind);
        if modes.last() != Some(&kind) {
            modes.push(kind);
        }
    }
    modes
}

#[test]
fn the_t_bar_wobbles_and_comes_to_lie_flat() {
    let scene = scenes::tee();
    let motion = scene.simulate(ComplementarityMethod::Ecp).expect("steps that converge");
    let modes = modes(&motion);
    println!("{modes:?}");
    let outline = scenes::tee_outline();
    for (i, contacts) in motion.contacts.iter().enumerate().skip(1) {
        assert_eq!(contacts.len(), 1, "at {} s it does not leave the plane", i as f64 * STEP);
        let point = contacts[0].point;
        assert!(point.z.abs() <= 1e-12, "at {} s: {}", i as f64 * STEP, point.z);
        if contacts[0].kind == PatchKind::Surface {
            assert!((motion.states[i].position.z - 0.5 * TEE[4]).abs() < 1e-11);
        }
        // In the hull of the T: on the inner side of every edge of its rectangle around the shape.
        let pose = motion.states[i].pose();
        let inside = pose.inverse() * point;
        let (low, high) =
            outline.iter().fold(([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]), |(low, high), p| {
                (std::array::from_fn(|k| low[k].min(p[k])), std::array::from_fn(|k| high[k].max(p[k])))
            });
        for k in 0..2 {
            assert!(inside[k] > low[k] - 1e-9 && inside[k] < high[k] + 1e-9);
        }
    }
    // Flat, on a point, on two points, flat; to one side, and to the other.
    let half = motion.contacts.len() * 3 / 10;
    for part in [&motion.contacts[1..half], &motion.contacts[half..2 * half]] {
        let kinds: Vec<PatchKind> = part.iter().map(|contacts| contacts[0].kind).collect();
        assert!(kinds.contains(&PatchKind::Point) && kinds.contains(&PatchKind::Line), "{kinds:?}");
        assert_eq!(kinds.last(), Some(&PatchKind::Surface));
    }
    // Then it slides, flat.
    assert!(motion.contacts[2 * half + 2..].iter().all(|contacts| contacts[0].kind == PatchKind::Surface));
    let last = motion.states.last().expect("states");
    assert!(last.position.xy().norm() > 0.1);
}

#[test]
fn the_dumbbell_topples_and_rolls_at_constant_height() {
    let scene = scenes::dumbbell();
    let motion = scene.simulate(ComplementarityMethod::Ecp).expect("steps that converge");
    let modes = modes(&motion);
    println!("{modes:?}");
    let [length, bar, radius, ..] = scenes::DUMBBELL;
    assert_eq!(modes, [PatchKind::Surface, PatchKind::Point, PatchKind::Line].map(Some));
    let lying = motion.contacts.iter().rposition(|c| c.first().map(|c| c.kind) != Some(PatchKind::Line));
    let lying = lying.map_or(0, |last| last + 2);
    assert!((lying as f64) * STEP < 0.7);
    let mut outside = 0;
    for (state, contacts) in motion.states.iter().zip(&motion.contacts).skip(lying) {
        let contact = contacts[0];
        assert!((state.position.z - radius).abs() < 1e-12, "{}", state.position.z - radius);
        assert!(contact.point.z.abs() <= 1e-12);
        // On the line between the ends, along the axis.
        let along = (state.pose().inverse() * contact.point).z;
        assert!(along.abs() < 0.5 * length);
        outside += usize::from(along.abs() < 0.5 * bar);
    }
    // The point is between the two segments that touch, in the hull alone.
    assert!(outside > 100, "{outside}");
    let (first, last) = (motion.states[lying], motion.states.last().expect("states"));
    assert!((last.position - first.position).norm() > 0.2, "it rolls");
    assert!(last.velocity.rotational.norm() > 1.0);
}
