"""Fates of the elements and attributes of MJCF: which a scene keeps, approximates and drops, and why.

MuJoCo's compiler resolves defaults, includes, frames and units; an attribute that only directs it is kept in its
effect.  Values that a scene cannot have, such as the law of an actuator, are claimed by the functions that read them.
"""

from __future__ import annotations

from collections.abc import Mapping

from multibody_cli.foreign.ledger import Ledger
from multibody_cli.foreign.markup import Element
from multibody_cli.immutable import Immutable


class Fates(Immutable):
    """Fates of the attributes of an element, as words separated by blanks.

    Parameters
    ----------
    kept
        Attributes that the scene keeps.
    approximated, dropped
        Attributes by the reason.
    """

    kept: str = ""
    approximated: Mapping[str, str] = {}
    dropped: Mapping[str, str] = {}


VIEWER = "appearance in MuJoCo's viewer"
SOLVER = "a setting of MuJoCo's solver of soft constraints; constraints of a scene are hard"
SOFT = "hard: constraints of a scene have no softness"
USER = "data of the user"
MARGIN = "contacts and limits act where bodies touch"
GROUPS = "groups of the viewer"
PLUGIN = "a plugin of MuJoCo"
SENSOR = "the result file has channels of its own"
DELAY = "delays of controls"

ROTATION = "quat axisangle xyaxes zaxis euler"
POSE = f"pos {ROTATION}"

DROPPED = {
    "visual": VIEWER,
    "statistic": VIEWER,
    "size": "sizes of MuJoCo's memory",
    "extension": PLUGIN,
    "plugin": PLUGIN,
    "camera": "a scene has no cameras; `mbsim render --view` chooses one",
    "light": VIEWER,
    "texture": VIEWER,
    "hfield": "height fields are no shapes of a scene",
    "skin": VIEWER,
    "deformable": "deformable bodies (flex)",
    "flexcomp": "deformable bodies (flex)",
    "flex": "deformable bodies (flex)",
    "flexstrain": "deformable bodies (flex)",
    "sensor": SENSOR,
    "custom": USER,
    "lengthrange": "lengths of muscles are computed by the compiler",
}
"""Elements that are dropped with all that is in them, and why."""

_JOINT = Fates(
    "name class type pos axis range limited ref springref stiffness damping springdamper armature frictionloss "
    "actuatorfrclimited actuatorfrcrange",
    {SOFT: "solimplimit solreflimit solimpfriction solreffriction"},
    {
        USER: "user",
        GROUPS: "group",
        MARGIN: "margin",
        "a bound of actuators that compensate gravity": "actuatorgravcomp",
        "plastic springs": "springyield",
    },
)

_GEOM = Fates(
    f"class type size fromto {POSE} mass density mesh fitscale shellinertia material rgba "
    "contype conaffinity condim friction priority fluidshape fluidcoef",
    {SOFT: "solref solimp"},
    {
        "shapes have no names": "name",
        USER: "user",
        GROUPS: "group",
        MARGIN: "margin gap",
        VIEWER: "castshadow",
        "height fields are no shapes of a scene": "hfield",
        "the softness of two shapes": "solmix",
        "adhesion and moving surfaces": "adhesion surfacevel",
    },
)

_EQUALITY = Fates(
    "name class active body1 body2 site1 site2 anchor relpose joint1 joint2 tendon1 tendon2 polycoef",
    {SOFT: "solref solimp torquescale"},
)

_TENDON = Fates(
    "name class range limited stiffness damping springlength frictionloss",
    {SOFT: "solreflimit solimplimit solreffriction solimpfriction"},
    {
        USER: "user",
        GROUPS: "group",
        VIEWER: "rgba width material",
        MARGIN: "margin",
        "inertia of tendons": "armature",
        "a bound on the sum of actuators": "actuatorfrclimited actuatorfrcrange",
        "plastic springs": "springyield",
    },
)

_ACTUATOR = Fates(
    "name class joint jointinparent tendon gear kp kv dampratio inheritrange ctrlrange ctrllimited "
    "forcerange forcelimited gaintype gainprm biastype biasprm dyntype dynprm timeconst actdim",
    {},
    {
        USER: "user",
        GROUPS: "group",
        DELAY: "delay nsample interp",
        "lengths of muscles": "lengthrange",
        "an activation of the step before": "actearly",
        "a bound of an activation": "actlimited actrange",
        "inertia and damping of actuators": "armature damping",
        "acts on no coordinate of a joint": "site refsite body cranksite cranklength slidersite",
        "a law of its own": "ki imax posrange velrange slewmax ffrange input area diameter bias gain force fpmax fvmax "
        "lmin lmax vmax range scale tausmooth motorconst resistance inductance nominal saturation cogging lugre "
        "thermal controller",
    },
)

ACTUATORS = (
    *("general", "motor", "position", "velocity", "damper", "intvelocity"),
    *("orientation", "pid", "cylinder", "muscle", "adhesion", "dcmotor"),
)
"""Tags of actuators; those that no scene can have are dropped where they are read."""

FATES: Mapping[str, Fates] = {
    "mujoco": Fates("model"),
    "include": Fates("file"),
    "compiler": Fates(
        "angle autolimits eulerseq coordinate meshdir assetdir texturedir inertiafromgeom inertiagrouprange "
        "settotalmass balanceinertia boundmass boundinertia fusestatic discardvisual strippath usethread "
        "alignfree fitaabb conflict saveinertial savecanonical savecompiled passthrough"
    ),
    "option": Fates(
        "timestep gravity density viscosity wind actuatorgroupdisable",
        {"an integrator of mbsim": "integrator"},
        {
            SOLVER: "cone jacobian solver impratio iterations tolerance ls_iterations ls_tolerance noslip_iterations "
            "noslip_tolerance ccd_iterations ccd_tolerance sdf_iterations sdf_initpoints o_margin o_solref o_solimp "
            "o_friction sleep_tolerance",
            "magnetic fields": "magnetic",
        },
    ),
    "option/flag": Fates(
        "gravity constraint contact limit equality frictionloss spring damper actuation passive filterparent clampctrl",
        {},
        {
            SOLVER: "warmstart refsafe sensor midphase eulerdamp autoreset nativeccd "
            "island override energy fwdinv invdiscrete multiccd sleep diagexact ipc speculative"
        },
    ),
    "default": Fates("class"),
    "asset": Fates(),
    "asset/mesh": Fates(
        "name class file vertex face scale refpos refquat inertia builtin params content_type",
        {},
        {VIEWER: "normal texcoord smoothnormal material", "hulls have all their vertices": "maxhullvert"},
    ),
    "asset/material": Fates(
        "name class rgba",
        {},
        {VIEWER: "texture texrepeat texuniform emission specular shininess reflectance metallic roughness"},
    ),
    "asset/material/layer": Fates("", {}, {VIEWER: "texture role"}),
    "asset/model": Fates("name file content_type"),
    "worldbody": Fates(f"name {POSE}"),
    "worldbody/body": Fates(
        f"name childclass {POSE} mocap gravcomp",
        {},
        {USER: "user", "settings of MuJoCo's engine": "sleep simple fuse"},
    ),
    "worldbody/inertial": Fates(f"mass {POSE} diaginertia fullinertia"),
    "worldbody/joint": _JOINT,
    "worldbody/freejoint": Fates("name align", {}, {GROUPS: "group"}),
    "worldbody/geom": _GEOM,
    "worldbody/site": Fates(
        f"name class fromto {POSE}", {}, {USER: "user", GROUPS: "group", VIEWER: "size rgba material type mesh"}
    ),
    "worldbody/frame": Fates(f"name childclass {POSE}"),
    "worldbody/replicate": Fates(f"count sep offset {POSE}"),
    "worldbody/attach": Fates("model body frame prefix"),
    "worldbody/composite": Fates("prefix type count offset vertex initial curve size quat"),
    "worldbody/composite/joint": _JOINT,
    "worldbody/composite/geom": _GEOM,
    "worldbody/composite/site": Fates("size rgba"),
    "contact": Fates(),
    "contact/exclude": Fates("body1 body2", {}, {"exclusions have no names": "name"}),
    "contact/pair": Fates(
        "class geom1 geom2 friction condim",
        {SOFT: "solref solimp solreffriction"},
        {"pairs have no names": "name", MARGIN: "margin gap", "adhesion": "adhesion"},
    ),
    "tendon": Fates(),
    "tendon/fixed": _TENDON,
    "tendon/spatial": _TENDON,
    "tendon/fixed/joint": Fates("joint coef"),
    "tendon/spatial/site": Fates("site"),
    "tendon/spatial/geom": Fates("geom sidesite"),
    "tendon/spatial/pulley": Fates("divisor"),
    "equality": Fates(),
    "actuator": Fates(),
    "keyframe": Fates(),
    "keyframe/key": Fates(
        "name time qpos qvel ctrl act",
        {},
        {"states of other kinds": "mpos mquat plastic"},
    ),
    **{f"equality/{tag}": _EQUALITY for tag in ("connect", "weld", "joint", "tendon")},
    **{f"actuator/{tag}": _ACTUATOR for tag in ACTUATORS},
}
"""Fates by section and tag; an element that is in no entry is not known."""

DEFAULTS = {
    **dict.fromkeys(("joint", "geom", "site"), "worldbody"),
    **dict.fromkeys(("mesh", "material"), "asset"),
    "pair": "contact",
    **dict.fromkeys(ACTUATORS, "actuator"),
}
"""Sections of the elements of `<default>`."""

ALIASES = {"default/tendon": "tendon/spatial", "default/equality": "equality/weld"}
"""Elements of `<default>` that hold for several elements."""

FLAT = ("include", "frame", "replicate", "body", "default")
"""Elements that may contain the children of their own parent."""


def claim(root: Element, ledger: Ledger) -> None:
    """Claim all elements and attributes below the root of a model by the tables of this file."""
    _claim(root, "mujoco", ledger)
    for section in root.children:
        _claim_section(section, ledger)


def _claim_section(section: Element, ledger: Ledger) -> None:
    if section.tag == "include":
        _claim(section, "include", ledger)
        for inner in section.children:
            _claim_section(inner, ledger)
    elif section.tag in ("mujoco", "mujocoinclude"):
        ledger.keep(section, *section.attributes)
        for inner in section.children:
            _claim_section(inner, ledger)
    else:
        _claim_all(section, section.tag, ledger)


def _claim_all(element: Element, key: str, ledger: Ledger) -> None:
    """Claim an element, whose key in `FATES` is given, and its children."""
    if element.tag in DROPPED:
        ledger.drop(element, DROPPED[element.tag])
    elif element.tag == "include":
        _claim(element, "include", ledger)
    elif key not in FATES:
        return  # not known
    else:
        _claim(element, key, ledger)
    for child in element.children:
        _claim_all(child, _key(key, child.tag), ledger)


def _key(parent: str, tag: str) -> str:
    """Return the key of a child of an element with a key."""
    section, _, inner = parent.partition("/")
    if section == "default":
        return ALIASES.get(f"default/{tag}") or (
            "default" if tag == "default" else f"{DEFAULTS.get(tag, 'default')}/{tag}"
        )
    return f"{section}/{tag}" if not inner or inner in FLAT else f"{parent}/{tag}"


def _claim(element: Element, key: str, ledger: Ledger) -> None:
    fates = FATES[key]
    kept = set(fates.kept.split())
    ledger.keep(element, *[name for name in element.attributes if name in kept])
    for reason, names in fates.approximated.items():
        for name in names.split():
            if name in element.attributes:
                ledger.approximate(element, reason, attribute=name)
    for reason, names in fates.dropped.items():
        for name in names.split():
            if name in element.attributes:
                ledger.drop(element, reason, attribute=name)
