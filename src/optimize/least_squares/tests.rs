use super::*;
use crate::optimize::parameters::FitParameter;

/// Six parameters, so that the last chunk is a part of one.
struct Generic;

impl Residuals for Generic {
    fn residuals<T: Scalar>(&self, p: &[T]) -> Result<Vec<T>, Error> {
        Ok((0..8)
            .map(|k| {
                let t = 0.3 * k as f64;
                p[0] * (-p[1] * t).exp() + (p[2] * t + p[3]).sin() * p[4] + p[5] * p[5] * p[2] - t
            })
            .collect())
    }
}

#[test]
fn jacobian_and_gradient_agree_with_differences() {
    let p = |name: &str, v: f64| FitParameter::new(name, v);
    let parameters = FitParameters::new(vec![
        p("a", 1.3),
        p("b", 0.7).logarithmic(),
        p("c", -0.4).bounded(-2.0, 3.0).known(0.1, 0.2),
        p("d", 0.2).bounded(0.0, f64::INFINITY),
        p("e", 2.0).bounded(0.1, 10.0).logarithmic().known(3.0, 0.5),
        p("f", 0.9).bounded(f64::NEG_INFINITY, 4.0),
    ])
    .unwrap();
    let problem = LeastSquares::new(&Generic, &parameters);
    let x = parameters.variables(&parameters.initial()).unwrap();
    let jacobian = problem.jacobian(&x).unwrap();
    let gradient = problem.gradient(&x).unwrap();
    let h = 1e-5;
    for i in 0..x.len() {
        let moved = |s: f64| {
            let mut y = x.clone();
            y[i] += s;
            y
        };
        let (plus, minus) = (moved(h), moved(-h));
        let (rp, rm) = (problem.apply(&plus).unwrap(), problem.apply(&minus).unwrap());
        // Two of them are those of priors.
        assert_eq!(rp.len(), 10);
        for k in 0..10 {
            let difference = (rp[k] - rm[k]) / (2.0 * h);
            assert!((difference - jacobian[(k, i)]).abs() < 1e-8, "{k} {i}");
        }
        let difference = (problem.cost(&plus).unwrap() - problem.cost(&minus).unwrap()) / (2.0 * h);
        assert!((difference - gradient[i]).abs() < 1e-7 * (1.0 + gradient[i].abs()));
    }
}
