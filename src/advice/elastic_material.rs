//! What bodies are made of, for linear elasticity.

use std::str::FromStr;

/// Bulk modulus of rubbers and silicones, Pa, from which their Poisson's ratio comes.
const RUBBER_BULK_MODULUS: f64 = 2e9;

/// Materials with Young's modulus in Pa and Poisson's ratio: the middle of what handbooks give. Wood is pressed across its
/// grain. Rubbers have their Shore hardness.
const MATERIALS: [(&str, f64, f64); 19] = [
    ("abs", 2.2e9, 0.37),
    ("acrylic", 3.1e9, 0.37),
    ("aluminium", 69e9, 0.33),
    ("brass", 100e9, 0.34),
    ("concrete", 30e9, 0.2),
    ("copper", 120e9, 0.34),
    ("cork", 2e7, 0.1),
    ("foam", 1e5, 0.1),
    ("glass", 70e9, 0.22),
    ("nylon", 2.5e9, 0.4),
    ("pla", 3.3e9, 0.36),
    ("polycarbonate", 2.3e9, 0.37),
    ("polyethylene", 9e8, 0.45),
    ("polypropylene", 1.4e9, 0.42),
    ("pom", 2.9e9, 0.37),
    ("ptfe", 5e8, 0.46),
    ("steel", 200e9, 0.3),
    ("titanium", 110e9, 0.34),
    ("wood", 8e8, 0.35),
];

/// The hardness of rubbers whose name says none, Shore A.
const RUBBERS: [(&str, f64); 2] = [("rubber", 60.0), ("silicone", 30.0)];

/// A linear elastic material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elastic {
    /// Young's modulus E, Pa.
    pub youngs_modulus: f64,
    /// Poisson's ratio ν, from 0 to below 0.5.
    pub poissons_ratio: f64,
}

impl Elastic {
    /// A rubber by its hardness on the scale Shore A (Gent 1958, "On the relation between indentation hardness and Young's
    /// modulus"). Good from 20 to 80.
    fn shore_a(hardness: f64) -> Self {
        Self::rubber(1e6 * 0.0981 * (56.0 + 7.623_36 * hardness) / (0.137_505 * (254.0 - 2.54 * hardness)))
    }

    /// A hard rubber or plastic by its hardness on the scale Shore D (Qi, Joyce and Boyce 2003, "Durometer hardness and the
    /// stress-strain behavior of elastomeric materials"). Good from 30 to 85.
    fn shore_d(hardness: f64) -> Self {
        Self::rubber(1e6 * 10.0_f64.powf(0.0235 * (hardness + 50.0) - 0.6403))
    }

    /// Rubbers are nearly incompressible: E = 3 K (1 − 2 ν).
    fn rubber(youngs_modulus: f64) -> Self {
        Self { youngs_modulus, poissons_ratio: 0.5 - youngs_modulus / (6.0 * RUBBER_BULK_MODULUS) }
    }

    /// (1 − ν²)/E, Pa⁻¹: how much a half-space of it gives way.
    pub(super) fn compliance(&self) -> f64 {
        (1.0 - self.poissons_ratio.powi(2)) / self.youngs_modulus
    }

    /// The stress of a layer by its strain, Pa, between plates to which it is fixed. Where it is thick against the plates it
    /// is E, where it can widen a little E (1 + 2 S²) (Gent and Lindley 1959), and where it cannot, E (1 − ν)/((1 + ν)(1 − 2 ν)).
    /// `shape_factor` S is the loaded area over that which is free to bulge.
    pub(super) fn layer_modulus(&self, shape_factor: f64) -> f64 {
        let Self { youngs_modulus: e, poissons_ratio: nu } = *self;
        let more = e * (1.0 - nu) / ((1.0 + nu) * (1.0 - 2.0 * nu)) - e;
        let bulging = 2.0 * shape_factor.powi(2) * e;
        if more > 0.0 { e + more * bulging / (more + bulging) } else { e }
    }
}

/// What can be written.
fn allowed() -> String {
    let names: Vec<&str> = MATERIALS.iter().map(|m| m.0).chain(RUBBERS.iter().map(|r| r.0)).collect();
    format!(
        "Young's modulus in Pa and Poisson's ratio, as in 3e6, 0.49; a hardness, as in 60 Shore A (20 to 80) or 50 Shore D \
         (30 to 85); or one of {}",
        names.join(", ")
    )
}

impl FromStr for Elastic {
    type Err = String;

    /// A material by its name, by a Shore hardness, or by its two numbers.
    ///
    /// # Errors
    /// When it is none of these, or a number is out of its range: what was found, and what is allowed.
    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.trim().to_lowercase();
        let refused = || format!("found {text:?}; allowed: {}", allowed());
        if let Some((e, nu)) = lower.split_once(',') {
            let [Ok(e), Ok(nu)] = [e, nu].map(|number| number.trim().parse::<f64>()) else {
                return Err(refused());
            };
            let is_good = e > 0.0 && e.is_finite() && (0.0..0.5).contains(&nu);
            return match is_good {
                true => Ok(Self { youngs_modulus: e, poissons_ratio: nu }),
                false => Err(format!(
                    "{}, where the first is above 0 and the second from 0 to below 0.5",
                    refused()
                )),
            };
        }
        let words: Vec<&str> = lower.split_whitespace().collect();
        let hardness = match words[..] {
            [number, "shore", scale] => Some((number, scale)),
            [name, number, "shore", scale] if RUBBERS.iter().any(|r| r.0 == name) => Some((number, scale)),
            _ => None,
        };
        if let Some((number, scale)) = hardness {
            let number: f64 = number.parse().map_err(|_| refused())?;
            return match scale {
                "a" if (20.0..=80.0).contains(&number) => Ok(Self::shore_a(number)),
                "d" if (30.0..=85.0).contains(&number) => Ok(Self::shore_d(number)),
                _ => Err(refused()),
            };
        }
        if let Some((_, hardness)) = RUBBERS.iter().find(|rubber| rubber.0 == lower) {
            return Ok(Self::shore_a(*hardness));
        }
        let found = MATERIALS.iter().find(|material| material.0 == lower);
        found
            .map(|&(_, youngs_modulus, poissons_ratio)| Self { youngs_modulus, poissons_ratio })
            .ok_or_else(refused)
    }
}

#[cfg(test)]
mod tests {
    use approx::assert_relative_eq;

    use super::*;

    #[test]
    fn materials_are_read_by_name_hardness_and_numbers() {
        let read = |text: &str| text.parse::<Elastic>();
        assert_eq!(read(" Steel ").unwrap(), Elastic { youngs_modulus: 200e9, poissons_ratio: 0.3 });
        assert_eq!(read("3e6, 0.49").unwrap(), Elastic { youngs_modulus: 3e6, poissons_ratio: 0.49 });
        assert_eq!(read("rubber").unwrap(), read("rubber 60 Shore A").unwrap());
        assert_eq!(read("silicone").unwrap(), read("30 shore a").unwrap());
        // Gent's curve: 1.1 MPa at 30, 3.6 MPa at 60.
        assert_relative_eq!(read("60 Shore A").unwrap().youngs_modulus, 3.6e6, max_relative = 0.01);
        assert_relative_eq!(read("30 Shore A").unwrap().youngs_modulus, 1.14e6, max_relative = 0.01);
        // The two scales overlap: 80 A is 30 D, about 10 to 20 MPa.
        assert_relative_eq!(read("30 Shore D").unwrap().youngs_modulus, 17e6, max_relative = 0.05);
        for bad in [
            "",
            "stele",
            "0, 0.3",
            "1e6",
            "1e6, 0.5",
            "1e6, -1",
            "nan, 0.3",
            "90 Shore A",
            "steel 60 Shore A",
            "5 shore b",
        ] {
            let message = read(bad).unwrap_err();
            assert!(message.contains("found") && message.contains("steel"), "{bad}: {message}");
        }
    }

    #[test]
    fn a_layer_is_a_bar_where_it_is_high_and_cannot_widen_where_it_is_flat() {
        let rubber: Elastic = "1e6, 0.4".parse().unwrap();
        assert_relative_eq!(rubber.layer_modulus(0.0), 1e6);
        assert_relative_eq!(rubber.layer_modulus(0.1), 1.02e6, max_relative = 1e-3);
        assert_relative_eq!(rubber.layer_modulus(1e4), 1e6 * 0.6 / (1.4 * 0.2), max_relative = 1e-6);
        let foam: Elastic = "1e6, 0".parse().unwrap();
        assert_relative_eq!(foam.layer_modulus(3.0), 1e6);
    }
}
