# SPDX-License-Identifier: Apache-2.0
"""Options given to `evaluate.load`, kept as the defaults of the loaded module's methods."""

import functools
import inspect
from copy import copy, deepcopy
from types import FunctionType, MethodType
from typing import Any, ClassVar

import evaluate

DATA = (
    "predictions",
    "references",
    "query_ids",
    "groups",
)  # arguments of `compute` that are not options
FILES_OF_EVALUATE = (  # open, or locked, after a round of several processes
    *("buf_writer", "writer", "data", "cache_file_name", "filelock", "rendez_vous_lock"),
    *("file_paths", "filelocks"),
)
MADE_BY_EVALUATE = ("compute", "add", "add_batch")  # evaluate sets these on each instance


class WithDefaults:
    """A module of `evaluate` that accepts the options of `compute` when it is loaded.

    evaluate's own constructor ignores keywords that it does not know. Here they become defaults of
    the methods in `OPTIONS_OF`; a keyword that none of these methods has is refused.
    """

    OPTIONS_OF: ClassVar[tuple[str, ...]] = ("compute",)
    NOT_DEFAULTS: ClassVar[tuple[str, ...]] = ()  # options of a single call

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        parameters = inspect.signature(evaluate.EvaluationModule.__init__).parameters.values()
        own = {p.name for p in parameters if p.kind is not p.VAR_KEYWORD}
        options = {name: value for name, value in kwargs.items() if name not in own}
        self._refuse_unknown(options)
        kwargs = {name: value for name, value in kwargs.items() if name in own}
        super().__init__(*args, **kwargs)
        self._arguments = args, kwargs
        self._defaults = deepcopy(options)
        for name in self.OPTIONS_OF:
            setattr(self, name, _with_defaults(getattr(self, name), self._defaults))

    def __reduce__(self) -> Any:
        """Copy and pickle without what the constructor sets again: methods, and evaluate's files."""
        remade = {*MADE_BY_EVALUATE, *FILES_OF_EVALUATE, *self.OPTIONS_OF}
        state = {
            name: copy(value) if isinstance(value, (list, dict)) else value
            for name, value in vars(self).items()
            if name not in remade
        }
        args, kwargs = self._arguments
        return _made, (type(self), args, {**kwargs, **self._defaults}), state

    def configured(self, **options: Any) -> Any:
        """A new module like this one, without rows, whose `compute` has these options as defaults.

        Raises:
            ValueError: a value that `compute` refuses.
            TypeError: an option that `compute` does not have.
        """
        self._refuse_unknown(options)
        args, kwargs = self._arguments
        return _made(type(self), args, {**kwargs, **self._defaults, **options})

    def default_options(self, method: str = "compute") -> dict[str, Any]:
        """The default value of each option of a method."""
        defaults = getattr(self, method).__kwdefaults__
        return {name: value for name, value in defaults.items() if not _is_data(name)}

    @classmethod
    def _refuse_unknown(cls, options: dict[str, Any]) -> None:
        known: dict[str, None] = {}
        for method in cls.OPTIONS_OF:
            known |= dict.fromkeys(getattr(cls, method).__kwdefaults__)
        for name in options:
            if name not in known or _is_data(name):
                others = (n for n in known if not _is_data(n) and n not in cls.NOT_DEFAULTS)
                raise TypeError(
                    f"{cls.__name__} got an unexpected keyword argument {name!r}; its options are "
                    f"{', '.join(others)}"
                )


def _is_data(name: str) -> bool:
    return name.rstrip("12") in DATA


def _made(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return module(*args, **kwargs)


def _with_defaults(method: Any, options: dict[str, Any]) -> Any:
    """The method with `options` as keyword defaults; options that it does not have are ignored."""
    function = method.__func__
    code, name = function.__code__, function.__name__
    made = FunctionType(code, function.__globals__, name, None, function.__closure__)
    functools.update_wrapper(made, function)
    del made.__wrapped__  # type: ignore[attr-defined]  # else `inspect.signature` shows the old defaults
    defaults = function.__kwdefaults__
    made.__kwdefaults__ = {name: options.get(name, defaults[name]) for name in defaults}
    return MethodType(made, method.__self__)
