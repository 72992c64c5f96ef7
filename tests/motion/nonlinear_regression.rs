//! Nonlinear regression problems with certified solutions.
//!
//! Data and certified values: NIST Statistical Reference Datasets, nonlinear regression,
//! <https://www.itl.nist.gov/div898/strd/nls/nls_main.shtml> (public domain). The certified
//! values have 11 digits.

use argmin::core::{Error, Executor, State};
use isobar::optimize::lbfgsb::Lbfgsb;
use isobar::optimize::least_squares::{LeastSquares, Residuals, residuals_and_jacobian};
use isobar::optimize::levenberg_marquardt::LevenbergMarquardt;
use isobar::optimize::parameters::{FitParameter, FitParameters};
use isobar::optimize::uncertainty::uncertainty;
use isobar::scalar::Scalar;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Model {
    Misra1a,
    Thurber,
    Mgh09,
    Mgh17,
    Eckerle4,
    Rat42,
    DanWood,
}

impl Model {
    fn evaluate<T: Scalar>(self, b: &[T], x: f64) -> T {
        let one = T::from(1.0);
        match self {
            Model::Misra1a => b[0] * (one - (-b[1] * x).exp()),
            Model::Thurber => {
                let numerator = b[0] + b[1] * x + b[2] * (x * x) + b[3] * (x * x * x);
                numerator / (one + b[4] * x + b[5] * (x * x) + b[6] * (x * x * x))
            }
            Model::Mgh09 => b[0] * (b[1] * x + x * x) / (b[2] * x + x * x + b[3]),
            Model::Mgh17 => b[0] + b[1] * (-b[3] * x).exp() + b[2] * (-b[4] * x).exp(),
            Model::Eckerle4 => {
                let z = (b[2] - x) / b[1];
                b[0] / b[1] * (z * z * -0.5).exp()
            }
            Model::Rat42 => b[0] / (one + (b[1] - b[2] * x).exp()),
            Model::DanWood => b[0] * (b[1] * x.ln()).exp(),
        }
    }
}

struct Dataset {
    model: Model,
    x: Vec<f64>,
    y: Vec<f64>,
    starts: Vec<Vec<f64>>,
    certified: Vec<f64>,
    standard_errors: Vec<f64>,
    residual_sum_of_squares: f64,
}

impl Residuals for Dataset {
    fn residuals<T: Scalar>(&self, b: &[T]) -> Result<Vec<T>, Error> {
        Ok(self.x.iter().zip(&self.y).map(|(&x, &y)| self.model.evaluate(b, x) - y).collect())
    }
}

fn datasets() -> Vec<Dataset> {
    vec![
        Dataset {
            model: Model::Misra1a,
            x: vec![
                77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1,
                760.0,
            ],
            y: vec![
                10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47,
                81.78,
            ],
            starts: vec![vec![500.0, 1e-4], vec![250.0, 5e-4]],
            certified: vec![2.3894212918E+02, 5.5015643181E-04],
            standard_errors: vec![2.7070075241E+00, 7.2668688436E-06],
            residual_sum_of_squares: 1.2455138894E-01,
        },
        Dataset {
            model: Model::Thurber,
            x: vec![
                -3.067, -2.981, -2.921, -2.912, -2.840, -2.797, -2.702, -2.699, -2.633, -2.481, -2.363,
                -2.322, -1.501, -1.460, -1.274, -1.212, -1.100, -1.046, -0.915, -0.714, -0.566, -0.545,
                -0.400, -0.309, -0.109, -0.103, 0.010, 0.119, 0.377, 0.790, 0.963, 1.006, 1.115, 1.572,
                1.841, 2.047, 2.200,
            ],
            y: vec![
                80.574, 84.248, 87.264, 87.195, 89.076, 89.608, 89.868, 90.101, 92.405, 95.854, 100.696,
                101.060, 401.672, 390.724, 567.534, 635.316, 733.054, 759.087, 894.206, 990.785, 1090.109,
                1080.914, 1122.643, 1178.351, 1260.531, 1273.514, 1288.339, 1327.543, 1353.863, 1414.509,
                1425.208, 1421.384, 1442.962, 1464.350, 1468.705, 1447.894, 1457.628,
            ],
            starts: vec![
                vec![1000.0, 1000.0, 400.0, 40.0, 0.7, 0.3, 0.03],
                vec![1300.0, 1500.0, 500.0, 75.0, 1.0, 0.4, 0.05],
            ],
            certified: vec![
                1.2881396800E+03,
                1.4910792535E+03,
                5.8323836877E+02,
                7.5416644291E+01,
                9.6629502864E-01,
                3.9797285797E-01,
                4.9727297349E-02,
            ],
            standard_errors: vec![
                4.6647963344E+00,
                3.9571156086E+01,
                2.8698696102E+01,
                5.5675370270E+00,
                3.1333340687E-02,
                1.4984928198E-02,
                6.5842344623E-03,
            ],
            residual_sum_of_squares: 5.6427082397E+03,
        },
        Dataset {
            model: Model::Mgh09,
            x: vec![4.0, 2.0, 1.0, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625],
            y: vec![0.1957, 0.1947, 0.1735, 0.16, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246],
            starts: vec![vec![25.0, 39.0, 41.5, 39.0], vec![0.25, 0.39, 0.415, 0.39]],
            certified: vec![1.9280693458E-01, 1.9128232873E-01, 1.2305650693E-01, 1.3606233068E-01],
            standard_errors: vec![1.1435312227E-02, 1.9633220911E-01, 8.0842031232E-02, 9.0025542308E-02],
            residual_sum_of_squares: 3.0750560385E-04,
        },
        Dataset {
            model: Model::Mgh17,
            x: (0..33).map(|i| 10.0 * i as f64).collect(),
            y: vec![
                0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.850, 0.818, 0.784, 0.751, 0.718, 0.685,
                0.658, 0.628, 0.603, 0.580, 0.558, 0.538, 0.522, 0.506, 0.490, 0.478, 0.467, 0.457, 0.448,
                0.438, 0.431, 0.424, 0.420, 0.414, 0.411, 0.406,
            ],
            starts: vec![vec![50.0, 150.0, -100.0, 1.0, 2.0], vec![0.5, 1.5, -1.0, 0.01, 0.02]],
            certified: vec![
                3.7541005211E-01,
                1.9358469127E+00,
                -1.4646871366E+00,
                1.2867534640E-02,
                2.2122699662E-02,
            ],
            standard_errors: vec![
                2.0723153551E-03,
                2.2031669222E-01,
                2.2175707739E-01,
                4.4861358114E-04,
                8.9471996575E-04,
            ],
            residual_sum_of_squares: 5.4648946975E-05,
        },
        Dataset {
            model: Model::Eckerle4,
            x: vec![
                400.0, 405.0, 410.0, 415.0, 420.0, 425.0, 430.0, 435.0, 436.5, 438.0, 439.5, 441.0, 442.5,
                444.0, 445.5, 447.0, 448.5, 450.0, 451.5, 453.0, 454.5, 456.0, 457.5, 459.0, 460.5, 462.0,
                463.5, 465.0, 470.0, 475.0, 480.0, 485.0, 490.0, 495.0, 500.0,
            ],
            y: vec![
                0.0001575, 0.0001699, 0.0002350, 0.0003102, 0.0004917, 0.0008710, 0.0017418, 0.0046400,
                0.0065895, 0.0097302, 0.0149002, 0.0237310, 0.0401683, 0.0712559, 0.1264458, 0.2073413,
                0.2902366, 0.3445623, 0.3698049, 0.3668534, 0.3106727, 0.2078154, 0.1164354, 0.0616764,
                0.0337200, 0.0194023, 0.0117831, 0.0074357, 0.0022732, 0.0008800, 0.0004579, 0.0002345,
                0.0001586, 0.0001143, 0.0000710,
            ],
            starts: vec![vec![1.0, 10.0, 500.0], vec![1.5, 5.0, 450.0]],
            certified: vec![1.5543827178E+00, 4.0888321754E+00, 4.5154121844E+02],
            standard_errors: vec![1.5408051163E-02, 4.6803020753E-02, 4.6800518816E-02],
            residual_sum_of_squares: 1.4635887487E-03,
        },
        Dataset {
            model: Model::Rat42,
            x: vec![9.0, 14.0, 21.0, 28.0, 42.0, 57.0, 63.0, 70.0, 79.0],
            y: vec![8.930, 10.800, 18.590, 22.330, 39.350, 56.110, 61.730, 64.620, 67.080],
            starts: vec![vec![100.0, 1.0, 0.1], vec![75.0, 2.5, 0.07]],
            certified: vec![7.2462237576E+01, 2.6180768402E+00, 6.7359200066E-02],
            standard_errors: vec![1.7340283401E+00, 8.8295217536E-02, 3.4465663377E-03],
            residual_sum_of_squares: 8.0565229338E+00,
        },
        Dataset {
            model: Model::DanWood,
            x: vec![1.309, 1.471, 1.490, 1.565, 1.611, 1.680],
            y: vec![2.138, 3.421, 3.597, 4.340, 4.882, 5.660],
            starts: vec![vec![1.0, 5.0], vec![0.7, 4.0]],
            certified: vec![7.6886226176E-01, 3.8604055871E+00],
            standard_errors: vec![1.8281973860E-02, 5.1726610913E-02],
            residual_sum_of_squares: 4.3173084083E-03,
        },
    ]
}

fn unknowns(start: &[f64]) -> FitParameters {
    let list = start.iter().enumerate().map(|(i, &b)| FitParameter::new(format!("b{}", i + 1), b));
    FitParameters::new(list.collect()).unwrap()
}

/// Digits that agree: −log₁₀ of the largest relative error.
fn digits(found: &[f64], certified: &[f64]) -> f64 {
    let worst = found.iter().zip(certified).map(|(a, b)| ((a - b) / b).abs()).fold(1e-16, f64::max);
    -worst.log10()
}

#[test]
fn levenberg_marquardt_reaches_the_certified_values_from_both_starts() {
    for data in datasets() {
        // Updates and acceleration from the near start alone: from afar other steps may lead elsewhere, as those of Mgh17
        // do, where two of its exponentials vanish.
        let plain = data.starts.iter().map(|start| (start, false));
        for (start, updates) in plain.chain(data.starts.last().map(|near| (near, true))) {
            let parameters = unknowns(start);
            let problem = LeastSquares::new(&data, &parameters);
            let solver = LevenbergMarquardt::new().with_secant_updates(updates).with_acceleration(updates);
            let result = Executor::new(problem, solver)
                .configure(|state| {
                    let x = parameters.variables(start).unwrap();
                    state.param(x).max_iters(2000)
                })
                .run()
                .unwrap();
            let x = result.state.get_param().unwrap();
            let b: Vec<f64> = parameters.values(x).unwrap().iter().map(|v| v.0).collect();
            let found = digits(&b, &data.certified);
            println!(
                "{:?} from {start:?}: {found:.1} digits in {} iterations, {} Jacobians{}, {:?}",
                data.model,
                result.state.get_iter(),
                result.problem.counts["jacobian_count"],
                if updates { " with updates, and acceleration" } else { "" },
                result.solver.convergence()
            );
            assert!(found > 8.0, "{:?} from {start:?}: {b:?}", data.model);
            assert!(result.solver.convergence().is_some());

            let (residuals, jacobian) = residuals_and_jacobian(&data, &b).unwrap();
            let known = uncertainty(parameters.as_slice(), &b, &residuals, 0, &jacobian);
            let errors: Vec<f64> = known.estimates.iter().map(|e| e.standard_error.unwrap()).collect();
            assert!(digits(&errors, &data.standard_errors) > 6.0, "{:?}: {errors:?}", data.model);
            let sum = known.residual_variance.unwrap() * known.degrees_of_freedom as f64;
            assert!((sum / data.residual_sum_of_squares - 1.0).abs() < 1e-9, "{:?} {sum:e}", data.model);
        }
    }
}

#[test]
fn l_bfgs_reaches_the_certified_values_from_the_near_start() {
    for data in datasets() {
        let start = &data.starts[1];
        let parameters = unknowns(start);
        let problem = LeastSquares::new(&data, &parameters);
        let x = parameters.variables(start).unwrap();
        let solver = Lbfgsb::new().with_cost_tolerance(1e-14).unwrap();
        let executor = Executor::new(problem, solver).configure(|state| state.param(x).max_iters(20_000));
        let end = executor.run().unwrap();
        let x = end.state.get_param().unwrap();
        let b: Vec<f64> = parameters.values(x).unwrap().iter().map(|v| v.0).collect();
        let found = digits(&b, &data.certified);
        println!("{:?}: {found:.1} digits, {} iterations", data.model, end.state.get_iter());
        assert!(end.solver.convergence().is_some(), "{:?}: {b:?}", data.model);
        let part = 2.0 * end.state.get_cost() / data.residual_sum_of_squares;
        assert!((part - 1.0).abs() < 1e-6, "{:?}: {b:?}", data.model);
    }
}
