use super::*;
use approx::assert_relative_eq;

const LAW: BristleLaw = BristleLaw { length: 1e-6, stiction_velocity: 1e-3, dt: 1e-3 };

/// A plane patch of three faces around a centre.
fn plane<T: Scalar>(center: &Vector3<T>, n: &Vector3<T>, after: &SpatialVelocity<T>) -> PatchSums<T> {
    let mut sums = PatchSums::zero();
    let across = n.cross(&Vector3::new(T::from(0.3), T::from(-0.2), T::from(0.7)));
    let along = n.cross(&across);
    for (load, a, b) in [(2.0, 0.02, 0.01), (1.5, -0.03, 0.005), (3.0, 0.001, -0.02)] {
        let x = center + across * T::from(a) + along * T::from(b);
        sums.add_face(T::from(load), &x, n, after);
    }
    sums
}

fn center(sums: &PatchSums<f64>) -> Vector3<f64> {
    sums.position / sums.load
}

#[test]
fn what_sticks_keeps_its_deflection_to_the_bit() {
    let (n, still) = (Vector3::new(0.48, -0.6, 0.64), SpatialVelocity::zero());
    let sums = plane(&Vector3::new(0.1, 0.2, -0.3), &n, &still);
    let s = Deflection::from_numbers([1e-5, -2e-5, 3e-6, 1e-6, 2e-6, -3e-6]);
    assert_eq!(LAW.after(&s, &still, &sums), s);
    // And noise hardly relaxes it.
    let noise = SpatialVelocity::new(Vector3::zeros(), n.cross(&Vector3::x()) * 1e-12);
    let sums = plane(&Vector3::new(0.1, 0.2, -0.3), &n, &noise);
    let after = LAW.after(&s, &noise, &sums);
    assert_relative_eq!(after.rotation, s.rotation, max_relative = 1e-15);
}

#[test]
fn steady_sliding_stretches_them_to_ten_lengths() {
    let n = Vector3::new(0.48, -0.6, 0.64);
    let direction = n.cross(&Vector3::x()).normalize();
    for speed in [1e-2, 1.0] {
        let v = SpatialVelocity::new(Vector3::zeros(), direction * speed + n * 0.2);
        let sums = plane(&Vector3::new(0.1, 0.2, -0.3), &n, &v);
        let mut s = Deflection::zero();
        for _ in 0..2000 {
            s = LAW.after(&s, &v, &sums);
        }
        assert_relative_eq!(s.translation, direction * 1e-5, max_relative = 1e-2);
        assert_relative_eq!(s.rotation, Vector3::zeros(), epsilon = 1e-20);
    }
}

#[test]
fn rolling_stretches_none() {
    let n = Vector3::new(0.48, -0.6, 0.64);
    let still = SpatialVelocity::zero();
    let at = center(&plane(&Vector3::new(0.1, 0.2, -0.3), &n, &still));
    let spin = n.cross(&Vector3::x()) * 3.0;
    let rolling = SpatialVelocity::new(spin, -spin.cross(&at));
    let sums = plane(&Vector3::new(0.1, 0.2, -0.3), &n, &rolling);
    let after = LAW.after(&Deflection::zero(), &rolling, &sums);
    assert!(after.numbers().iter().all(|x| x.abs() < 1e-17), "{after:?}");
    // But a turn about the normal does.
    let turning = SpatialVelocity::new(n * 3.0, -(n * 3.0).cross(&at));
    let sums = plane(&Vector3::new(0.1, 0.2, -0.3), &n, &turning);
    assert!(LAW.after(&Deflection::zero(), &turning, &sums).rotation.norm() > 1e-6);
}

#[test]
fn a_patch_around_a_body_follows_every_turn() {
    // Faces that look in opposite directions: as the jaws of a grip that are one body.
    let still = SpatialVelocity::<f64>::zero();
    let of = |tilt: f64, v: &SpatialVelocity| {
        let mut sums = PatchSums::zero();
        for sign in [1.0, -1.0] {
            let n = Vector3::new(sign * tilt.sin(), 0.0, tilt.cos());
            sums.add_face(2.0, &(n * 0.01), &n, v);
        }
        sums
    };
    let mut last = 0.0;
    for tilt in [0.0, 0.3, 1.0, 0.5 * std::f64::consts::PI] {
        let sums = of(tilt, &still);
        let at = center(&sums);
        let spin = Vector3::new(0.0, 2e-3, 0.0);
        let rolling = SpatialVelocity::new(spin, -spin.cross(&at));
        let turned = LAW.after(&Deflection::zero(), &rolling, &of(tilt, &rolling)).rotation.y;
        let (share, whole) = (tilt.sin() * tilt.sin(), 2e-3 * LAW.dt);
        assert!(
            turned <= share * whole * (1.0 + 1e-12) && turned > 0.9 * share * whole - 1e-20,
            "{turned:e}"
        );
        assert!(tilt == 0.0 || turned > last);
        last = turned;
    }
}

#[test]
fn nothing_that_bears_has_no_deflection() {
    let s = Deflection::from_numbers([1e-5, -2e-5, 3e-6, 1e-6, 2e-6, -3e-6]);
    let v = SpatialVelocity::new(Vector3::x(), Vector3::y());
    assert_eq!(LAW.after(&s, &v, &PatchSums::zero()), Deflection::zero());
    let jacobian = LAW.jacobian(&s, &v, &PatchSums::zero(), &Vector6::zeros());
    assert_eq!(jacobian.by_deflection, Matrix6::zeros());
    assert_eq!(jacobian.by_velocity, Matrix6::zeros());
}

/// A state in which the patch slides, turns and separates, scaled.
fn moving(scale: f64) -> (Deflection, SpatialVelocity, Vector3<f64>, Vector3<f64>) {
    let s = Deflection::from_numbers([1e-5, -2e-5, 3e-6, 1e-6, 2e-6, -3e-6]);
    let v = SpatialVelocity::new(Vector3::new(0.3, -0.4, 0.2), Vector3::new(0.02, 0.05, -0.01));
    let v = SpatialVelocity::new(v.rotational * scale, v.translational * scale);
    (s, v, Vector3::new(0.1, 0.2, -0.3), Vector3::new(0.48, -0.6, 0.64))
}

#[test]
fn derivatives_are_those_of_differences() {
    for scale in [0.0, 1e-4, 1.0] {
        let (s, v, x, n) = moving(scale);
        // The geometry: direction 0 shifts the patch, direction 1 turns its normal.
        let shift = Vector3::new(0.3, 0.2, -0.5);
        let turn = Vector3::new(0.8, 0.0, -0.6);
        let seeded = |v: &Vector3<f64>, by: &Vector3<f64>, k: usize| {
            Vector3::from_fn(|i, _| Dual::from(v[i]) + Dual::variable(0.0, k) * by[i])
        };
        let (x_dual, n_dual) = (seeded(&x, &shift, 0), seeded(&n, &turn, 1));
        let sums = plane(&x_dual, &n_dual, &SpatialVelocity::lift(&v));
        let mut slip_by_velocity = Vector6::zeros();
        let with = |parts: [f64; 6]| {
            let of = |a: &Vector3<f64>, k: usize| a + Vector3::new(parts[k], parts[k + 1], parts[k + 2]);
            SpatialVelocity::new(of(&v.rotational, 0), of(&v.translational, 3))
        };
        let unit = |k: usize, h: f64| std::array::from_fn(|i| if i == k { h } else { 0.0 });
        let h = 1e-6 * scale.max(1e-4);
        for k in 0..6 {
            let slip = |h: f64| plane(&x, &n, &with(unit(k, h))).slip;
            slip_by_velocity[k] = (slip(h) - slip(-h)) / (2.0 * h);
        }
        let got = LAW.jacobian(&s, &v, &sums, &slip_by_velocity);
        let close = |a: Vector6<f64>, b: Vector6<f64>| {
            assert_relative_eq!(a, b, epsilon = 2e-6 * a.norm().max(1e-9));
        };
        let numbers = |s: Deflection| Vector6::from(s.numbers());
        for k in 0..6 {
            let at = |h: f64| {
                let v = with(unit(k, h));
                numbers(LAW.after(&s, &v, &plane(&x, &n, &v)))
            };
            close(got.by_velocity.column(k).into_owned(), (at(h) - at(-h)) / (2.0 * h));
            let at = |h: f64| {
                let moved =
                    Deflection::from_numbers((Vector6::from(s.numbers()) + Vector6::from(unit(k, h))).into());
                numbers(LAW.after(&moved, &v, &plane(&x, &n, &v)))
            };
            close(got.by_deflection.column(k).into_owned(), (at(1e-6) - at(-1e-6)) / 2e-6);
        }
        let by_geometry = |k: usize, at: &dyn Fn(f64) -> Vector6<f64>| {
            let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
            close(got.by_geometry.column(k).into_owned(), difference);
        };
        by_geometry(0, &|h| numbers(LAW.after(&s, &v, &plane(&(x + shift * h), &n, &v))));
        by_geometry(1, &|h| numbers(LAW.after(&s, &v, &plane(&x, &(n + turn * h), &v))));
    }
}

#[test]
fn the_product_with_the_sums_is_that_of_differences() {
    let (s, v, x, n) = moving(1.0);
    let sums = plane(&x, &n, &v);
    let by_after = Vector6::new(0.3, -0.7, 0.2, 1.1, -0.4, 0.6);
    let got = LAW.sums_vjp(&s, &v, &sums, &by_after);
    let got = [
        got.load,
        got.position.x,
        got.position.y,
        got.position.z,
        got.normal.x,
        got.normal.y,
        got.normal.z,
        got.slip,
    ];
    for (k, got) in got.into_iter().enumerate() {
        let at = |h: f64| {
            let mut moved = sums;
            match k {
                0 => moved.load += h,
                1..4 => moved.position[k - 1] += h,
                4..7 => moved.normal[k - 4] += h,
                _ => moved.slip += h,
            }
            by_after.dot(&Vector6::from(LAW.after(&s, &v, &moved).numbers()))
        };
        let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
        assert_relative_eq!(got, difference, max_relative = 1e-6, epsilon = 1e-12);
        assert!(got != 0.0);
    }
}
