"""Field type for one of several mappings of a catalogue."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError
from pydantic_core import core_schema

from multibody_cli.errors import closest, nearest
from multibody_cli.immutable import Immutable
from multibody_cli.spec.quantities import format_value, joined_error, located_error, moved_error

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo

    from multibody_cli.spec.quantities import Spec


class Catalogue(Immutable, eq=False):
    """Annotation of a field that accepts any entry of a catalogue.

    Parameters
    ----------
    noun
        Noun for an entry in messages, as in `a joint`.
    specs
        The entries, by name.
    keys
        Keys that identify an entry without a `type`, in order of precedence.
    elsewhere
        Names that belong to other sections of the scene, with those sections.
    """

    noun: str
    specs: Mapping[str, type[Spec]]
    keys: Mapping[str, str] = {}
    elsewhere: Mapping[str, str] = {}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        """Select the entry first, so that errors refer to it and the other validators are not built."""
        choices: dict[Hashable, core_schema.CoreSchema] = {
            name: core_schema.with_info_plain_validator_function(partial(self._read, name)) for name in self.specs
        }
        union = core_schema.tagged_union_schema(choices, discriminator=self.name_of)
        return core_schema.with_info_before_validator_function(self._require_name, union)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Accept any of the entries."""
        return handler(core_schema.union_schema([_referable(spec) for spec in self.specs.values()]))

    def name_of(self, value: Any) -> str | None:
        """Return the name of the entry that a value denotes; None if it is undetermined."""
        if not isinstance(value, dict):
            return next((name for name, spec in self.specs.items() if type(value) is spec), None)
        name = value.get("type")
        if isinstance(name, str) and (name in self.specs or self._is_typed):
            return name if name in self.specs else None
        return next((name for key, name in self.keys.items() if key in value), None)

    @property
    def _is_typed(self) -> bool:
        """Whether the value of the key `type` must be the name of an entry."""
        return not self.keys or "type" in self.keys

    def _read(self, name: str, value: Any, info: ValidationInfo) -> Spec:
        return self.specs[name].model_validate(value, context=info.context)

    def _require_name(self, value: Any, info: ValidationInfo) -> Any:
        if self.name_of(value) is None:
            raise self._with_others(self._unnamed(value), value, info)
        return value

    def _with_others(self, unnamed: ValueError, value: Any, info: ValidationInfo) -> ValueError:
        """Add the errors of a value of unknown type that it has as the entry with the closest name, if one is close."""
        word = value.get("type") if isinstance(value, dict) else None
        meant = closest(word, self.specs) if isinstance(word, str) and word not in self.elsewhere else None
        if meant is None or not isinstance(unnamed, ValidationError):
            return unnamed
        try:
            self._read(meant, {**value, "type": meant}, info)
        except ValidationError as others:
            return joined_error(unnamed, moved_error(others, meant))
        return unnamed

    def _unnamed(self, value: Any) -> ValueError:
        if not isinstance(value, dict):
            return ValueError(f"expected {self.noun}, found {format_value(value)}")
        name = value.get("type")
        if isinstance(name, str) and name in self.elsewhere:
            return located_error(f"`{name}` is not {self.noun}: it belongs to `{self.elsewhere[name]}`", "type")
        if self.keys and not (self._is_typed and isinstance(name, str)):
            words = ", ".join(f"`{key}`" for key in self.keys)
            meant = [f"did you mean `{close}` for `{key}`?" for key in value if (close := closest(key, self.keys))]
            return ValueError("; ".join([f"expected {self.noun} with one of {words}", *meant]))
        if "type" not in value:
            return ValueError(f"expected {self.noun} with a `type`; {nearest('', self.specs)}")
        if not isinstance(name, str):
            return located_error(f"expected the type of {self.noun}, found {format_value(name)}", "type")
        remark = nearest(name, self.specs)
        return located_error(f"unknown type {format_value(name)} of {self.noun}; {remark}", "type")


def _referable(spec: type[Spec]) -> core_schema.CoreSchema:
    """Return the core schema of an entry with a name, so that the JSON Schema lists it once, under `$defs`."""
    spec.model_rebuild()
    schema: Any = spec.__pydantic_core_schema__
    name = {"ref": f"{spec.__module__}.{spec.__qualname__}:{id(spec)}"}
    if schema["type"] == "definitions":
        return {**schema, "schema": {**schema["schema"], **name}}
    return {**schema, **name}
