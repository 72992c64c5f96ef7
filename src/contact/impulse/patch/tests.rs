use super::*;
use crate::contact::ContactModel;
use crate::contact::impulse::bristles::slip_shift;
use crate::contact::impulse::friction_direction::tests::patch;
use crate::contact::lanes::Narrow;
use approx::assert_relative_eq;
use proptest::prelude::*;

const MODELS: [ContactModel; 4] =
    [ContactModel::Sap, ContactModel::Lagged, ContactModel::Similar, ContactModel::Tamsi];

/// The patch with its contacts a second time, elsewhere.
fn six(model: ContactModel) -> (DiscretePatch, PointContacts, Vector6<f64>) {
    let (mut patch, mut contacts, v) = patch(model);
    for i in 0..3 {
        contacts.position.push(contacts.position[i] * -0.7);
        contacts.normal.push(contacts.normal[i]);
        contacts.constants.push(contacts.constants[i]);
        contacts.regularization.push(contacts.regularization[i]);
    }
    patch.contacts = 0..6;
    (patch, contacts, v)
}

#[test]
fn impulses_about_two_origins_are_the_same() {
    for model in MODELS {
        let (patch, contacts, v) = six(model);
        let (mut moved, mut moved_contacts) = (patch.clone(), contacts.clone());
        moved.origin = Vector3::new(0.3, -0.2, 0.7);
        moved_contacts.position.iter_mut().for_each(|x| *x -= moved.origin);
        let (impulse, matrix) = patch.impulse(&contacts, &v);
        let (same, same_matrix) = moved.about_f(&moved.impulse(&moved_contacts, &(moved.velocity_map() * v)));
        assert_relative_eq!(impulse, same, max_relative = 1e-12, epsilon = 1e-12 * impulse.norm());
        assert_relative_eq!(matrix, same_matrix, max_relative = 1e-12, epsilon = 1e-12 * matrix.norm());
        assert_eq!(moved.impulse_at_f(&moved_contacts, &v), same);
    }
}

proptest! {
    #[test]
    fn the_tangential_part_has_no_normal_part(
        direction in prop::array::uniform3(-1.0..1.0f64), slip in prop::array::uniform3(-1.0..1.0f64), speed in -1.0..1.0f64
    ) {
        // Hardly any slip beside a normal velocity, as where friction sticks.
        let direction = Vector3::from(direction);
        prop_assume!(direction.norm() > 0.1);
        let n = direction.normalize();
        let v = n * speed + Vector3::from(slip) * 1e-9;
        let (v_n, v_t) = split(&v, &n);
        prop_assert!(v_t.dot(&n).abs() < 4.0 * f64::EPSILON * v_t.norm(), "{}", v_t.dot(&n));
        assert_relative_eq!(v_t + n * v_n, v, epsilon = 4.0 * f64::EPSILON);
        // That of the lanes is the same.
        let mut contacts = PointContacts::default();
        (contacts.position, contacts.normal) = (vec![Vector3::zeros()], vec![n]);
        let velocity = Vector6::new(0.0, 0.0, 0.0, v.x, v.y, v.z);
        let group = Group { indices: [0; 4], count: 1 };
        let (one, tangential) = Points::new(Narrow::ANY, &contacts, &group).velocity(Narrow::ANY, &velocity);
        let tangential = Vector3::from(tangential.0.map(|x| x.numbers()[0]));
        assert_relative_eq!(one.numbers()[0], v_n, max_relative = 4.0 * f64::EPSILON);
        prop_assert!(tangential.dot(&n).abs() < 4.0 * f64::EPSILON * v_t.norm(), "{}", tangential.dot(&n));
    }
}

#[test]
fn matrix_is_the_derivative_of_the_impulse() {
    for model in MODELS {
        let (patch, contacts, v) = six(model);
        let (impulse, matrix) = patch.impulse(&contacts, &v);
        assert!(impulse.norm() > 0.0);
        let h = 1e-7;
        for k in 0..6 {
            let mut by = Vector6::zeros();
            by[k] = h;
            let (plus, minus) = (v + by, v - by);
            let change = patch.impulse(&contacts, &minus).0 - patch.impulse(&contacts, &plus).0;
            let tolerance = 1e-6 * matrix.norm();
            assert_relative_eq!(change / (2.0 * h), matrix.column(k).into_owned(), epsilon = tolerance);
        }
    }
}

/// With bristles the law takes the slip velocity with the shift of their deflection, and the impulse is still
/// the gradient of a cost.
#[test]
fn deflected_bristles_shift_the_slip_alone() {
    let (patch, mut contacts, v) = six(ContactModel::Lagged);
    let rate =
        crate::spatial::SpatialVelocity::new(Vector3::new(0.02, -0.01, 0.3), Vector3::new(4e-3, -7e-3, 2e-3));
    let shifts = (0..6).map(|i| slip_shift(&rate, &contacts.position[i], &contacts.normal[i]));
    contacts.slip_shift = shifts.collect();
    let (impulse, matrix) = patch.impulse(&contacts, &v);
    // One by one, from the law itself.
    let mut expected = Vector6::zeros();
    for i in 0..6 {
        let (v_n, v_t) = contacts.slip(i, &v);
        assert!(contacts.slip_shift[i].dot(&contacts.normal[i]).abs() < 1e-17);
        let law = patch.law.impulse(&contacts.constants[i], v_n, v_t.norm_squared());
        let gamma = contacts.normal[i] * law.normal - v_t * law.slip;
        let torque = contacts.position[i].cross(&gamma);
        expected += Vector6::new(torque.x, torque.y, torque.z, gamma.x, gamma.y, gamma.z);
    }
    assert_relative_eq!(impulse, expected, epsilon = 1e-14 * impulse.norm());
    let dv = Vector6::new(0.2, -0.1, 0.3, 0.05, -0.02, 0.04);
    let (power, curvature) = patch.along(&contacts, &v, &dv);
    assert_relative_eq!(power, impulse.dot(&dv), max_relative = 1e-12);
    assert_relative_eq!(curvature, dv.dot(&(matrix * dv)), max_relative = 1e-12);
    let h = 1e-6;
    for k in 0..6 {
        let mut by = Vector6::zeros();
        by[k] = h;
        let (plus, minus) = (v + by, v - by);
        let change = patch.impulse(&contacts, &minus).0 - patch.impulse(&contacts, &plus).0;
        let tolerance = 1e-6 * matrix.norm();
        assert_relative_eq!(change / (2.0 * h), matrix.column(k).into_owned(), epsilon = tolerance);
        let cost = |v| patch.cost(&contacts, v).expect("convex");
        let slope = (cost(&minus) - cost(&plus)) / (2.0 * h);
        assert_relative_eq!(slope, impulse[k], epsilon = 1e-6 * impulse.norm());
    }
    // Directions of friction that have followed give the same matrix.
    let mut directions = vec![Vector3::zeros(); 6];
    patch.turn_friction(&contacts, &v, &Vector6::zeros(), &mut directions);
    contacts.friction_direction = directions;
    let (same, held) = patch.impulse(&contacts, &v);
    assert_eq!(impulse, same);
    assert_relative_eq!(matrix, held, epsilon = 1e-12 * matrix.norm());
    // And where nothing slips the deflection alone is held against.
    contacts.friction_direction.clear();
    let (still, _) = patch.impulse(&contacts, &Vector6::zeros());
    contacts.slip_shift.clear();
    assert_ne!(still, patch.impulse(&contacts, &Vector6::zeros()).0);
}

#[test]
fn power_is_that_of_the_impulse() {
    for model in MODELS {
        let (patch, contacts, v) = six(model);
        let dv = Vector6::new(0.2, -0.1, 0.3, 0.05, -0.02, 0.04);
        let (impulse, matrix) = patch.impulse(&contacts, &v);
        let (power, curvature) = patch.along(&contacts, &v, &dv);
        assert_relative_eq!(power, impulse.dot(&dv), max_relative = 1e-12);
        assert_relative_eq!(curvature, dv.dot(&(matrix * dv)), max_relative = 1e-12);
    }
}

#[test]
fn least_of_slips_is_among_the_contacts_that_bear_load() {
    for model in MODELS {
        let (patch, mut contacts, v) = six(model);
        contacts.constants[4].load = 0.0;
        contacts.constants[4].stiffness = 0.0;
        let dv = Vector6::new(0.2, -0.1, 0.3, 0.05, -0.02, 0.04);
        let slip = |i: usize, v: &Vector6<f64>| {
            let (angular, linear) = parts(v);
            split(&(linear + angular.cross(&contacts.position[i])), &contacts.normal[i]).1
        };
        // What makes the contacts differ: each number of a change in its turn.
        let limits: [fn(&SlipChange) -> f64; 4] = [|s| s.before, |s| s.along, |s| s.change, |s| s.after];
        for (k, limit) in limits.into_iter().enumerate() {
            let expected = [0, 1, 2, 3, 5].map(|i| {
                let (t, d) = (slip(i, &v), slip(i, &dv));
                [t.dot(&t), t.dot(&d), d.dot(&d), (t + d).norm_squared()][k]
            });
            let expected = expected.into_iter().fold(f64::INFINITY, f64::min);
            let least = patch.least_of_slips(&contacts, &v, &dv, f64::INFINITY, limit);
            assert_relative_eq!(least, expected, max_relative = 1e-12);
            assert_eq!(patch.least_of_slips(&contacts, &v, &dv, -1.0, limit), -1.0);
        }
    }
}

#[test]
fn groups_and_registers_change_nothing() {
    for model in MODELS {
        let (mut patch, contacts, v) = six(model);
        let (impulse, matrix) = patch.impulse(&contacts, &v);
        let narrow = Impulse(&patch, &contacts, &v).run(Narrow::ANY);
        let bits = |w: &Vector6<f64>, m: &Matrix6<f64>| -> Vec<u64> {
            w.iter().chain(m).map(|x| x.to_bits()).collect()
        };
        assert_eq!(bits(&impulse, &matrix), bits(&narrow.0, &narrow.1));
        let (mut one_by_one, mut matrices) = (Vector6::zeros(), Matrix6::zeros());
        for i in 0..6 {
            patch.contacts = i..i + 1;
            let (w, m) = patch.impulse(&contacts, &v);
            one_by_one += w;
            matrices += m;
        }
        assert_relative_eq!(impulse, one_by_one, epsilon = 1e-14 * impulse.norm());
        assert_relative_eq!(matrix, matrices, epsilon = 1e-14 * matrix.norm());
    }
}
