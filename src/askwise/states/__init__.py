"""Every state of a problem as one integer: the lattice, its layout, its prices."""

from askwise.states.lattice import Lattice

__all__ = ["Lattice"]
