//! Sliding and drilling friction of a coin stop together (Masterjohn §V-A).

#[path = "../../examples/coin/coin.rs"]
#[allow(dead_code, reason = "the example uses more of it")]
mod coin;

use coin::{Division, FAN, limit, model, points, set_off, slide};
use isobar::contact::{ContactModel, SurfaceRepresentation};
use isobar::step::{ControlledMethod, ErrorControlled, Integrator};

const POLYGONS: SurfaceRepresentation = SurfaceRepresentation::Polygons;

#[test]
fn limits_of_point_sets_are_those_of_their_quadrature() {
    assert!((limit(&points(FAN, POLYGONS)) - 0.644_15).abs() < 1e-4);
    assert!((limit(&points(FAN, SurfaceRepresentation::Triangles)) - 0.563_5).abs() < 1e-4);
    // Finer meshes come to the disk's.
    let fine = limit(&points(Division { segments: 360, rings: 60 }, POLYGONS));
    assert!((fine - 0.6530).abs() < 1e-3, "{fine}");
}

/// From wherever it starts, the coin ends at the limit of the points that friction acts at.
#[test]
fn the_coin_ends_at_the_discrete_limit() {
    let expected = limit(&points(FAN, POLYGONS));
    for kind in [ContactModel::Tamsi, ContactModel::Lagged] {
        for ratio in [0.1, 0.3, 0.653, 1.0, 3.0, 10.0] {
            let (model, mut state) = model(FAN, POLYGONS, 1e-5);
            set_off(&mut state, ratio, 5.0);
            let slide = slide(&model, &state, Integrator::velocity_level(kind), 1e-3, 8.0).unwrap();
            let end = slide.ratio_above(2e-3).unwrap();
            println!("{kind:?} from {ratio}: {end:.5}, {:+.2} %", 100.0 * (end / expected - 1.0));
            assert!((end / expected - 1.0).abs() < 5e-3, "{kind:?} from {ratio}: {end}");
        }
    }
}

/// The continuous model has that limit itself: 0.64426 by Masterjohn §V-A, integrated to 10⁻⁴.
#[test]
fn an_accurate_integration_ends_at_the_discrete_limit() {
    let (model, mut state) = model(FAN, POLYGONS, 1e-5);
    set_off(&mut state, 1.0, 0.5);
    let method = ControlledMethod::Radau;
    let radau = Integrator::ErrorControlled(ErrorControlled { method, accuracy: 1e-8 });
    let end = slide(&model, &state, radau, 1e-3, 1.0).unwrap().ratio_above(2e-3).unwrap();
    let exact = limit(&points(FAN, POLYGONS));
    println!("{end:.6}, of the points {exact:.6}");
    assert!((end - exact).abs() < 1e-4 && (end - 0.64426).abs() < 2e-4, "{end}");
}

/// First order in the step.
#[test]
fn the_path_converges_with_the_step() {
    for kind in [ContactModel::Tamsi, ContactModel::Lagged] {
        let end = |dt: f64| {
            let (model, mut state) = model(FAN, POLYGONS, 1e-5);
            set_off(&mut state, 1.0, 0.5);
            let place = *slide(&model, &state, Integrator::velocity_level(kind), dt, 0.2)
                .unwrap()
                .places
                .last()
                .unwrap();
            nalgebra::Vector3::from(place)
        };
        let exact = end(5e-5);
        let errors = [4e-3, 1e-3].map(|dt| (end(dt) - exact).norm());
        let order = (errors[0] / errors[1]).log(4.0);
        println!("{kind:?}: {:.2e} and {:.2e} m, order {order:.2}", errors[0], errors[1]);
        assert!((0.9..1.2).contains(&order), "{kind:?}: order {order}");
    }
}
