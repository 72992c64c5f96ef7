"""Finite elements beside Elandt et al. (2019), Figure 6: a rigid sinusoid pressed into an elastic layer.

The layer is in plane strain, one unit thick, with Poisson's ratio 0.3, held at its bottom and free of friction at its top.
Half a wavelength is meshed, with symmetry at both sides. The sinusoid's lowest point is at x = 0 and goes down by d. Elements
have nine nodes; contact is a stiff spring at each node of the top, along the normal of the sinusoid.

    python3 docs/gallery/layer_fem.py > docs/gallery/layer_fem.csv     # needs numpy and scipy, takes some minutes

Three elastic laws, as the paper does not name that of its "finite strain elasticity": small strains, Cauchy's stress linear in
logarithmic strain, and a compressible neo-Hookean one. Forces are per wavelength, over that of the same law at amplitude 0 and d = 0.4.
"""

import sys

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.linalg import spsolve

WAVELENGTH = 2 * np.pi / 3
NU = 0.3
AMPLITUDES = [0.0, 0.166, 0.333]
DEPTH, STEPS = 0.4, 40
# Lamé's constants for Young's modulus 1.
MU, LAMBDA = 0.5 / (1 + NU), NU / ((1 + NU) * (1 - 2 * NU))
# Stiffness of the contact springs, per length.
PENALTY = 1e4


def small_strain(f):
    e = 0.5 * (f + np.swapaxes(f, -1, -2)) - np.eye(2)
    return LAMBDA * np.trace(e, axis1=-2, axis2=-1)[..., None, None] * np.eye(2) + 2 * MU * e


def inverse_transposed(f):
    det = f[..., 0, 0] * f[..., 1, 1] - f[..., 0, 1] * f[..., 1, 0]
    cofactors = np.stack([f[..., 1, 1], -f[..., 1, 0], -f[..., 0, 1], f[..., 0, 0]], -1).reshape(f.shape)
    return cofactors / det[..., None, None], det


def logarithmic(f):
    b = f @ np.swapaxes(f, -1, -2)
    values, axes = np.linalg.eigh(b)
    e = 0.5 * np.log(values)
    stress = LAMBDA * e.sum(-1)[..., None] + 2 * MU * e
    g, det = inverse_transposed(f)
    return np.einsum("...ik,...k,...jk->...ij", axes, stress, axes) @ g * det[..., None, None]


def neo_hookean(f):
    g, det = inverse_transposed(f)
    return MU * (f - g) + LAMBDA * np.log(det)[..., None, None] * g


LAWS = {"small strain": small_strain, "logarithmic": logarithmic, "neo-Hookean": neo_hookean}


class Layer:
    """Rectangular elements of nine nodes, with the gradients of their shape functions at 3 x 3 Gauss points."""

    def __init__(self, nx, nz):
        self.columns, self.rows = 2 * nx + 1, 2 * nz + 1
        x, z = np.meshgrid(np.linspace(0, WAVELENGTH / 2, self.columns), np.linspace(0, 1, self.rows), indexing="ij")
        self.nodes = np.stack([x.ravel(), z.ravel()], -1)
        number = np.arange(self.columns * self.rows).reshape(self.columns, self.rows)
        corner = [(i, j) for i in range(0, 2 * nx, 2) for j in range(0, 2 * nz, 2)]
        self.elements = np.array([number[i : i + 3, j : j + 3].ravel() for i, j in corner])
        point, weight = np.polynomial.legendre.leggauss(3)
        values = lambda t: np.array([t * (t - 1) / 2, 1 - t * t, t * (t + 1) / 2])
        slopes = lambda t: np.array([t - 0.5, -2 * t, t + 0.5])
        hx, hz = WAVELENGTH / 4 / nx, 0.5 / nz
        self.gradients, self.weights = [], []
        for s, ws in zip(point, weight):
            for t, wt in zip(point, weight):
                by_x = np.outer(slopes(s), values(t)).ravel() / hx
                by_z = np.outer(values(s), slopes(t)).ravel() / hz
                self.gradients.append(np.stack([by_x, by_z], -1))
                self.weights.append(ws * wt * hx * hz)
        self.gradients, self.weights = np.array(self.gradients), np.array(self.weights)
        self.top, self.bottom = number[:, -1], number[:, 0]
        # Simpson's rule along the top.
        simpson = np.full(self.columns, 2 / 3)
        simpson[1::2] = 4 / 3
        simpson[[0, -1]] = 1 / 3
        self.tributary = simpson * WAVELENGTH / 4 / nx
        fixed = np.zeros((len(self.nodes), 2), bool)
        fixed[self.bottom] = True
        fixed[number[[0, -1]].ravel(), 0] = True
        self.free = np.flatnonzero(~fixed.ravel())
        dofs = (2 * self.elements[:, :, None] + np.arange(2)).reshape(len(self.elements), 18)
        self.dofs = dofs
        self.row = np.repeat(dofs, 18, axis=1).ravel()
        self.column = np.tile(dofs, (1, 18)).ravel()

    def contact(self, u, amplitude, depth):
        """What the sinusoid z = 1 - d + a (1 - cos kx) overlaps with at the top, by how much, and its slope and curvature."""
        k = 2 * np.pi / WAVELENGTH
        x, z = (self.nodes[self.top] + u[self.top]).T
        over = z - (1 - depth + amplitude * (1 - np.cos(k * x)))
        slope, curvature = amplitude * k * np.sin(k * x), amplitude * k * k * np.cos(k * x)
        return PENALTY * self.tributary * (over > 0), over, slope, curvature

    def forces(self, u, law, amplitude, depth):
        """Forces that are not in balance, and that on the bottom."""
        f = np.eye(2) + np.einsum("eni,qnj->eqij", u[self.elements], self.gradients)
        forces = np.einsum("q,eqij,qnj->eni", self.weights, law(f), self.gradients, optimize=True)
        total = np.bincount(self.dofs.ravel(), forces.ravel(), u.size)
        bottom = total.reshape(-1, 2)[self.bottom, 1].sum()
        stiffness, over, slope, _ = self.contact(u, amplitude, depth)
        total[2 * self.top] -= stiffness * over * slope
        total[2 * self.top + 1] += stiffness * over
        return total, bottom

    def matrix(self, u, law, amplitude, depth):
        """Derivatives of the forces."""
        f = np.eye(2) + np.einsum("eni,qnj->eqij", u[self.elements], self.gradients)
        tangent, h = np.empty(f.shape + (2, 2)), 1e-6
        for i in range(2):
            for j in range(2):
                change = np.zeros((2, 2))
                change[i, j] = h
                tangent[..., i, j] = (law(f + change) - law(f - change)) / (2 * h)
        w, g = self.weights, self.gradients
        blocks = np.einsum("q,eqijkl,qnj,qml->enimk", w, tangent, g, g, optimize=True)
        stiffness, over, slope, curvature = self.contact(u, amplitude, depth)
        i = 2 * self.top
        parts = [
            (self.row, self.column, blocks.ravel()),
            (i, i, stiffness * (slope**2 - over * curvature)),
            (i, i + 1, -stiffness * slope),
            (i + 1, i, -stiffness * slope),
            (i + 1, i + 1, stiffness),
        ]
        row, column, value = (np.concatenate(part) for part in zip(*parts))
        return coo_matrix((value, (row, column)), (u.size, u.size)).tocsr()

    def step(self, u, change, law, amplitude, depth):
        """The part of Newton's step to take: where nodes come into contact the whole one may overshoot, and the slope of the
        energy along it changes its sign."""
        slope = lambda part: self.forces(u - part * change, law, amplitude, depth)[0] @ change.ravel()
        start, low, high = slope(0.0), 0.0, 1.0
        part = min(1.0, 0.05 / np.abs(change).max())
        for _ in range(12):
            now = slope(part)
            if now > -0.3 * start:
                break
            high = part
            part = 0.5 * (low + high)
        return part

    def equilibrium(self, u, law, amplitude, depth):
        """Displacements and the force on the bottom in balance at a depth, from those at another; None if there are none."""
        for iteration in range(60):
            total, bottom = self.forces(u, law, amplitude, depth)
            if np.abs(total[self.free]).max() < 1e-9:
                return u, bottom
            matrix = self.matrix(u, law, amplitude, depth)
            change = np.zeros(u.size)
            change[self.free] = spsolve(matrix[self.free][:, self.free].tocsc(), total[self.free])
            change = change.reshape(u.shape)
            # A shorter step now and then leaves a circle of contacts that open and close in turn.
            part = self.step(u, change, law, amplitude, depth) * (0.37 if iteration % 8 == 7 else 1.0)
            u = u - part * change
        return None

    def press(self, law, amplitude):
        """The force over the depth, per length."""
        u, at, out = np.zeros_like(self.nodes), 0.0, [(0.0, 0.0)]
        for step in range(1, STEPS + 1):
            depth, go = DEPTH * step / STEPS, DEPTH / STEPS
            while at < depth - 1e-12:
                found = self.equilibrium(u, law, amplitude, min(at + go, depth))
                if found is None:
                    go /= 2
                    if go < 1e-6:
                        raise RuntimeError(f"no equilibrium at amplitude {amplitude}, depth {at + go}")
                else:
                    (u, bottom), at = found, min(at + go, depth)
            out.append((depth, -bottom / (WAVELENGTH / 2)))
        return out


def main():
    print("law,elements,amplitude,depth,force")
    for name, law in LAWS.items():
        for n in [int(a) for a in sys.argv[1:]] or [8, 16]:
            layer = Layer(n, n)
            curves = {a: layer.press(law, a) for a in AMPLITUDES}
            unit = curves[0.0][-1][1]
            for amplitude, curve in curves.items():
                for depth, force in curve:
                    print(f"{name},{n * n},{amplitude},{depth:.2f},{force / unit + 0.0:.5f}")
                print(name, n, amplitude, curve[-1][1] / unit, file=sys.stderr)


main()
