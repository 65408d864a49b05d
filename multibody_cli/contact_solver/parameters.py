"""Parameters of the contact step that depend on the method and on the features of a system.

Systems without a feature leave out its optional parameters.
"""

from __future__ import annotations

from typing import Any

from multibody_cli.kernel import kernel_parameter, optional_kernel_parameter


@kernel_parameter
def update_rates(system: Any, t: float, q: Any, v: Any, a: Any, work: Any) -> None:
    """Update the kinematics at the same t and q for other v: of bodies alone, or with markers, loop frames and rows.

    Prescribed rates are those of v, at the end of the step, not those at t.
    """


@optional_kernel_parameter
def find_near_geoms(system: Any, work: Any, detection: Any, h: float) -> int:
    """List the pairs of geoms that may meet in the step; return their number."""
    return 0


@optional_kernel_parameter
def find_contacts(system: Any, work: Any, detection: Any, h: float) -> int:
    """Detect contacts of these pairs from the poses and the velocities v* of the bodies; return their number."""
    return 0


@kernel_parameter
def solve_island(problem: Any, options: Any, x: Any, scratch: Any) -> Any:
    """Solve for the impulses x of one island, with the `IslandWorkspace` as scratch; return a `Report`."""


@optional_kernel_parameter
def add_implicit_impulses(system: Any, work: Any) -> None:
    """Add the impulses of implicit forces that a change `dw`, `dv` of the motion of the bodies causes within the step.

    Impulses on bodies go to `work.wrenches`, those on coordinates of loop joints to `work.impulse` (nv,).  For a change
    of the acceleration they are forces.
    """


@optional_kernel_parameter
def update_joint_reactions(system: Any, work: Any, joint_friction: Any) -> None:
    """Store the reactions of joints with friction patches, unless they are stored already."""


@optional_kernel_parameter
def update_friction_limits(system: Any, work: Any, joint_friction: Any, groups: Any, step: Any, reports: Any) -> bool:
    """Compare the friction limits of all patches with those due to the impulses; return whether to solve again."""
    return False


@optional_kernel_parameter
def start_coupled_impulses(system: Any, work: Any, step: Any, groups: Any, sleep: Any) -> None:
    """Initialize the coupled impulses to zero contact impulses."""


@optional_kernel_parameter
def add_coupled_impulses(system: Any, work: Any) -> None:
    """Add the impulses of the coupled forces to `work.impulse` and `work.wrenches`."""


@optional_kernel_parameter
def update_coupled_impulses(system: Any, work: Any, groups: Any, step: Any, reports: Any) -> bool:
    """Change the impulses of coupled forces with those of the rows; return whether to solve again."""
    return False


@kernel_parameter
def solve_motion_once(system: Any, work: Any, joint_friction: Any, passes: Any, h: float, v: Any) -> bool:
    """`solve_motion` for given impulses of the forces between bodies, `passes.coupling`, by one pass."""
    raise NotImplementedError


@optional_kernel_parameter
def solve_motion(system: Any, work: Any, joint_friction: Any, passes: Any, h: float, v: Any) -> bool:
    """Compute the change `work.response` (nv,) of v (nv,), and of the motion of the bodies, for the states of `passes`.

    Return False if a joint cannot be eliminated.
    """
    return False


@kernel_parameter
def compute_slips(system: Any, work: Any, joint_friction: Any, passes: Any, v: Any) -> None:
    """Compute the slip velocities `passes.slip` (p, 2) of all patches after the step."""


@kernel_parameter
def transmit_changes(system: Any, work: Any, passes: Any) -> None:
    """Compute the impulses that all joints transmit, friction included, into `work.wrenches`."""


@optional_kernel_parameter
def solve_tree_friction(
    system: Any, work: Any, contact_work: Any, h: float, v: Any, first: int, tolerance: float
) -> bool:
    """Solve for the friction of the joints of a tree, as if there were no other rows; return False if not solved.

    The impulses of the patches are those of the rows from `first` on.
    """
    return False
