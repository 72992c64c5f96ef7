//! The mass matrix, its factors, and energy and momentum.

use nalgebra::{DMatrix, Vector3};

use super::mechanism::Mechanism;
use super::workspace::Workspace;
use crate::scalar::Scalar;
use crate::spatial::SpatialForce;

impl<T: Scalar> Workspace<T> {
    /// Sums inertias from the leaves up, and multiplies each column by the inertia that its joint
    /// carries.
    pub(super) fn update_composites(&mut self, mechanism: &Mechanism<T>) {
        for (composite, m) in self.composites.iter_mut().zip(&self.motions) {
            *composite = m.inertia;
        }
        for (index, joint) in mechanism.joints.iter().enumerate().rev() {
            let composite = self.composites[index];
            for c in joint.columns.clone() {
                self.momenta[c] = composite.times(&self.columns[c]);
            }
            if let Some(parent) = joint.parent {
                self.composites[parent] += composite;
            }
        }
    }
}

impl<T: Scalar> Mechanism<T> {
    /// The mass matrix M(q), nv×nv and symmetric, written into `matrix`, by the composite rigid body
    /// algorithm (Featherstone 2008, table 6.2) at the configuration of the last
    /// [`Mechanism::update_kinematics`]. Rotor inertias are on the diagonal. Elements
    /// of coordinates neither of which carries the other are zero, unless joints follow them.
    ///
    /// # Panics
    /// When `matrix` is not nv×nv.
    pub fn mass_matrix(&self, workspace: &mut Workspace<T>, matrix: &mut DMatrix<T>) {
        self.check_lengths(&[], &[matrix.nrows(), matrix.ncols()]);
        workspace.update_composites(self);
        matrix.fill(T::from(0.0));
        for joint in &self.joints {
            for c in joint.columns.clone() {
                let (momentum, k) = (&workspace.momenta[c], self.coordinate[c]);
                let mut row = Some(c);
                while let Some(r) = row {
                    let (element, i) = (workspace.columns[r].dot(momentum), self.coordinate[r]);
                    matrix[(i, k)] += element;
                    if r != c {
                        matrix[(k, i)] += element;
                    }
                    row = self.column_parent[r];
                }
            }
            for k in joint.v.clone() {
                matrix[(k, k)] += joint.rotor_inertia;
            }
        }
    }

    /// Replaces a matrix with the zeros of the mass matrix by its factors, M = Lᵀ D L with L unit
    /// lower triangular (below the diagonal) and D diagonal; L has the zeros of M (Featherstone
    /// 2008, table 6.3). The mass matrix may have been added to on the diagonal.
    ///
    /// # Panics
    /// When `matrix` is not nv×nv.
    pub fn factorize(&self, matrix: &mut DMatrix<T>) {
        self.check_lengths(&[], &[matrix.nrows(), matrix.ncols()]);
        for k in (0..self.nv).rev() {
            let inverse = matrix[(k, k)].recip();
            let mut row = self.v_parent[k];
            while let Some(i) = row {
                let factor = matrix[(k, i)] * inverse;
                let mut column = Some(i);
                while let Some(j) = column {
                    let update = factor * matrix[(k, j)];
                    matrix[(i, j)] -= update;
                    column = self.v_parent[j];
                }
                matrix[(k, i)] = factor;
                row = self.v_parent[i];
            }
        }
    }

    /// Solves M x = b in place by the factors of [`Mechanism::factorize`] (Featherstone 2008, §6.5).
    ///
    /// # Panics
    /// When the factors are not nv×nv or `x` does not have nv numbers.
    pub fn solve(&self, factors: &DMatrix<T>, x: &mut [T]) {
        self.check_lengths(&[], &[factors.nrows(), factors.ncols(), x.len()]);
        for k in (0..self.nv).rev() {
            // x_i −= L_ki x_k for all i that carry k, which come before k.
            let pivot = x[k];
            let mut row = self.v_parent[k];
            while let Some(i) = row {
                x[i] -= factors[(k, i)] * pivot;
                row = self.v_parent[i];
            }
            x[k] *= factors[(k, k)].recip();
        }
        for k in 0..self.nv {
            let mut column = self.v_parent[k];
            while let Some(i) = column {
                let above = x[i];
                x[k] -= factors[(k, i)] * above;
                column = self.v_parent[i];
            }
        }
    }
}

impl<T: Scalar> Mechanism<T> {
    /// Kinetic energy of the bodies and rotors at the state of the last
    /// [`Mechanism::update_kinematics`] with the velocity `v`, J.
    pub fn kinetic_energy(&self, workspace: &Workspace<T>, v: &[T]) -> T {
        let mut double = T::from(0.0);
        for (joint, m) in self.joints.iter().zip(&workspace.motions) {
            double += m.velocity.dot(&m.inertia.times(&m.velocity));
            for k in joint.v.clone() {
                double += joint.rotor_inertia * v[k] * v[k];
            }
        }
        double * 0.5
    }

    /// Potential energy of gravity (zero at W's origin, and of trees whose drives carry their weight) and of the joints' springs
    /// (zero of trees under computed torque), J.
    pub fn potential_energy(&self, workspace: &Workspace<T>, q: &[T], gravity: &Vector3<T>) -> T {
        let mut energy = T::from(0.0);
        for (index, motion) in workspace.motions.iter().enumerate().take(self.joints.len()) {
            let inertia = &motion.inertia;
            let origin = workspace.origins[workspace.tree[index]];
            if !self.trees[workspace.tree[index]].is_weightless {
                energy -= gravity.dot(&(inertia.first_moment + origin * inertia.mass));
            }
        }
        for (_, joint) in self.passive_joints().filter(|(_, joint)| joint.q.len() == 1) {
            let stretch = q[joint.q.start] - joint.spring.rest;
            energy += joint.spring.stiffness * stretch * stretch * 0.5;
        }
        energy
    }

    /// Momentum of all moving bodies in W's axes: angular momentum about W's origin, kg m²/s, and
    /// linear momentum, kg m/s. Rotors have none.
    pub fn momentum(&self, workspace: &Workspace<T>) -> SpatialForce<T> {
        let mut sum = SpatialForce::zero();
        for (index, m) in workspace.motions.iter().enumerate().take(self.joints.len()) {
            let origin = workspace.origins[workspace.tree[index]];
            sum += m.inertia.times(&m.velocity).shifted(&-origin);
        }
        sum
    }
}
