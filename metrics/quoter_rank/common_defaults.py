# A copy of metrics/common/defaults.py: edit that file, then run `make copies`.
# SPDX-License-Identifier: Apache-2.0
"""Options that a module of `evaluate` is loaded with, as the defaults of its own calls."""

import functools
import inspect
from copy import copy, deepcopy
from types import FunctionType, MethodType
from typing import Any, ClassVar

import evaluate

DATA = ("predictions", "references", "query_ids")  # what `compute` takes besides options
MADE_BY_EVALUATE = ("compute", "add", "add_batch")  # evaluate gives each module copies of them


class WithDefaults:
    """A module of `evaluate` that takes options of `compute` when it is loaded.

    evaluate's own constructor drops what it does not know. Here such options are the defaults of
    the methods in `OPTIONS_OF`; those that none of them has are refused.
    """

    OPTIONS_OF: ClassVar[tuple[str, ...]] = ("compute",)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        own = inspect.signature(evaluate.EvaluationModule.__init__).parameters
        options = {name: value for name, value in kwargs.items() if name not in own}
        self._refuse_unknown(options)
        kwargs = {name: value for name, value in kwargs.items() if name in own}
        super().__init__(*args, **kwargs)
        self._arguments = args, kwargs
        self._defaults = deepcopy(options)
        for name in self.OPTIONS_OF:
            setattr(self, name, _with_defaults(getattr(self, name), self._defaults))

    def __reduce__(self) -> Any:
        """Copy and pickle without the methods that each module has for itself: they are remade."""
        remade = {*MADE_BY_EVALUATE, *self.OPTIONS_OF}
        state = {
            name: copy(value) if isinstance(value, (list, dict)) else value
            for name, value in vars(self).items()
            if name not in remade
        }
        args, kwargs = self._arguments
        return _made, (type(self), args, {**kwargs, **self._defaults}), state

    def configured(self, **options: Any) -> Any:
        """The same module without rows, whose `compute` has other defaults.

        Raises:
            ValueError: a value that `compute` refuses.
            TypeError: an option that `compute` does not have.
        """
        self._refuse_unknown(options)
        args, kwargs = self._arguments
        return _made(type(self), args, {**kwargs, **self._defaults, **options})

    def default_options(self, method: str = "compute") -> dict[str, Any]:
        """What the options of a method are where they are not given."""
        defaults = getattr(self, method).__kwdefaults__
        return {name: value for name, value in defaults.items() if not _is_data(name)}

    @classmethod
    def _refuse_unknown(cls, options: dict[str, Any]) -> None:
        known: dict[str, None] = {}
        for method in cls.OPTIONS_OF:
            known |= dict.fromkeys(getattr(cls, method).__kwdefaults__)
        known = {name: None for name in known if not _is_data(name)}
        for name in options:
            if name not in known:
                raise TypeError(
                    f"{cls.__name__} got an unexpected keyword argument {name!r}; its options are "
                    f"{', '.join(known)}"
                )


def _is_data(name: str) -> bool:
    return name.rstrip("12") in DATA


def _made(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return module(*args, **kwargs)


def _with_defaults(method: Any, options: dict[str, Any]) -> Any:
    """The method with other defaults of its keyword arguments, where it has these."""
    function = method.__func__
    code, name = function.__code__, function.__name__
    made = FunctionType(code, function.__globals__, name, None, function.__closure__)
    functools.update_wrapper(made, function)
    del made.__wrapped__  # type: ignore[attr-defined]  # or its defaults would be shown
    defaults = function.__kwdefaults__
    made.__kwdefaults__ = {name: options.get(name, defaults[name]) for name in defaults}
    return MethodType(made, method.__self__)
