"""How numba compiles kernels, which are given named tuples of many arrays.

Three parts of it are replaced, which together took almost half of the time:

* numba loads a whole tuple of arrays for each field that is read of it, and LLVM takes the load apart again. Here
  fields are read where they are (`FieldLower`).
* numba makes machine code of each kernel, and code that reads arguments from Python. Here LLVM's intermediate code of a
  kernel is made once, which other kernels link; the rest is made of it where Python calls it (`make_dispatcher`).
* numba copies all variables of a function that it inlines, one by one, for each basic block (`_copied_scope`).
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numba
from numba.core import codegen as untyped_codegen
from numba.core import compiler as untyped_compiler
from numba.core import cpu as untyped_cpu
from numba.core import ir as untyped_ir
from numba.core import lowering as untyped_lowering
from numba.core import runtime as untyped_runtime
from numba.core import typed_passes as untyped_passes
from numba.core import types as untyped_types
from numba.core.compiler_machinery import register_pass as untyped_register_pass

codegen: Any = untyped_codegen
compiler: Any = untyped_compiler
cpu: Any = untyped_cpu
ir: Any = untyped_ir
lowering: Any = untyped_lowering
register_pass: Any = untyped_register_pass
runtime: Any = untyped_runtime
typed_passes: Any = untyped_passes
types: Any = untyped_types


def make_dispatcher(function: Callable[..., Any], options: Mapping[str, Any], make_cache: Callable[[Any], Any]) -> Any:
    """numba's dispatcher of a kernel; `make_cache`: a dispatcher → what keeps its code, as numba asks for it.

    Calls from other kernels go to a second dispatcher, which makes intermediate code only. The first one makes machine
    code of that, and of what reads arguments from Python.
    """
    njit: Any = partial(numba.njit, nogil=True, error_model="numpy", no_cfunc_wrapper=True, **options)
    from_python, from_kernels = njit()(function), njit(pipeline_class=KernelCompiler, no_cpython_wrapper=True)(function)
    for made in (from_python, from_kernels):
        made._cache = make_cache(made)  # numba offers no public place for another cache
    from_python._compiler.compile = partial(_compile_for_python, from_python, from_kernels)
    from_python.get_call_template = partial(_find_overload, from_kernels)
    from_python.get_overload = from_kernels.get_overload
    return from_python


def _find_overload(dispatcher: Any, arguments: Any, named: Any) -> Any:
    """The overload for a call from another kernel: one for all constants, not one for each as numba has it."""
    named = dict(zip(named, map(types.unliteral, named.values()), strict=True))
    return dispatcher.get_call_template(tuple(map(types.unliteral, arguments)), named)


class FieldLower(lowering.Lower):  # type: ignore[misc]
    """numba's intermediate representation → LLVM's: named tuples among the arguments, and their fields, are places.

    A variable that is assigned once, and is such an argument, a field of one, or another name for either, is a pointer
    into the memory of the argument, which nothing changes. What is not needed of it is never loaded. It counts no
    references to arrays: the caller holds them until the kernel returns.
    """

    def init(self) -> None:
        super().init()
        assigned = Counter(each.target.name for block in self.blocks.values() for each in block.find_insts(ir.Assign))
        self._assigned_once = {name for name, count in assigned.items() if count == 1}
        self._places: dict[str, Any] = {}  # variable → pointer
        self._fields: dict[tuple[int, int], Any] = {}  # place and number of a field → the place of that

    def lower_inst(self, inst: Any) -> None:
        place = self._place_of(inst) if isinstance(inst, ir.Assign) and not self.generator_info else None
        if place is None:
            super().lower_inst(inst)
            return
        name, kind = inst.target.name, self.typeof(inst.target.name)
        if isinstance(kind, types.BaseTuple | types.Array):
            self._places[name] = place
        else:
            value = self.builder.load(place)
            self.incref(kind, value)
            self.storevar(value, name)

    def loadvar(self, name: str) -> Any:
        return self.builder.load(self._places[name]) if name in self._places else super().loadvar(name)

    def delvar(self, name: str) -> None:
        if name not in self._places:
            super().delvar(name)

    def _place_of(self, inst: Any) -> Any:
        """Of the value that is assigned; None where it has none."""
        name, value, kind = inst.target.name, inst.value, self.typeof(inst.target.name)
        if name not in self._assigned_once:
            return None
        if isinstance(value, ir.Arg):
            is_plain = isinstance(kind, types.BaseNamedTuple) and self.typeof(f"arg.{value.name}") == kind
            return self._place_of_argument(name, kind, value.index) if is_plain else None
        if isinstance(value, ir.Var):
            return self._places.get(value.name) if self.typeof(value.name) == kind else None
        is_field = isinstance(value, ir.Expr) and value.op == "getattr" and value.value.name in self._places
        whole = self.typeof(value.value.name) if is_field else None
        if not isinstance(whole, types.BaseNamedTuple) or value.attr not in whole.fields:
            return None
        number = whole.fields.index(value.attr)
        return self._place_of_field(self._places[value.value.name], number) if whole[number] == kind else None

    def _place_of_argument(self, name: str, kind: Any, number: int) -> Any:
        place = self.alloca(name, kind)
        self.builder.store(self.fnargs[number], place)
        return place

    def _place_of_field(self, place: Any, number: int) -> Any:
        """It is worked out where the function begins, which is before each use."""
        if (id(place), number) not in self._fields:
            index = [self.context.get_constant(types.int32, each) for each in (0, number)]
            with self.builder.goto_entry_block():
                self._fields[id(place), number] = self.builder.gep(place, index, inbounds=True)
        return self._fields[id(place), number]


class BitcodeLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
    """Intermediate code of a kernel, and no machine code."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, bytes]]:
        return self.name, "object", (b"", self._get_module_for_linking().as_bitcode())


class WrapperLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
    """Machine code of a kernel and of its wrapper, which Python calls; what it links is optimized already."""

    def _optimize_final_module(self) -> None:
        pass

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, bytes]]:
        return self.name, "object", (self._get_compiled_object(), b"")


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(typed_passes.NativeLowering):  # type: ignore[misc]
    """numba's pass, by `FieldLower` into a `BitcodeLibrary`."""

    _name = "kernel_lowering"

    @property
    def lowering_class(self) -> Any:
        return FieldLower

    def run_pass(self, state: Any) -> bool:
        state.library = BitcodeLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        changed: bool = super().run_pass(state)
        lowered = state.cr
        entry_point = _stand_in(lowered.fndesc, lowered.env)
        state.targetctx.insert_user_function(entry_point, lowered.fndesc, [state.library])
        state.cr = lowered._replace(cfunc=entry_point)
        return changed


class KernelCompiler(compiler.CompilerBase):  # type: ignore[misc]
    """numba's passes, but for this one."""

    def define_pipelines(self) -> list[Any]:
        manager = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [
            (KernelLowering if each is typed_passes.NativeLowering else each, name) for each, name in manager.passes
        ]
        manager.finalize()
        return [manager]


def _compile_for_python(from_python: Any, from_kernels: Any, arguments: Any, _: Any) -> Any:
    """numba's result of compiling a kernel that Python calls, made of the code that other kernels link."""
    from_kernels.compile(tuple(arguments))
    compiled = from_kernels.overloads[tuple(arguments)]
    flags = compiler.Flags()
    from_python.targetdescr.options.parse_as_flags(flags, from_python.targetoptions)
    from_python.targetctx.refresh()
    target = compiler._make_subtarget(from_python.targetctx, flags)
    library = WrapperLibrary(target.codegen(), compiled.library.name)
    library.enable_object_caching()
    for linked in (compiled.library, runtime.rtsys.library):
        library.add_linking_library(linked)
    with target.push_code_library(library):
        target.create_cpython_wrapper(library, compiled.fndesc, compiled.environment, None, release_gil=True)
    entry_point = target.get_executable(library, compiled.fndesc, compiled.environment)
    result = compiled._replace(target_context=target, library=library, entry_point=entry_point, metadata={})
    for environment in result._find_referenced_environments():  # of the kernels that are linked, as `_rebuild` does
        library.codegen.set_env(environment.env_name, environment)
    return result


def rebuild_bitcode(target: Any, name: str, bitcode: bytes, fndesc: Any, env: Any, signature: Any, *others: Any) -> Any:
    """What numba's `CompileResult._rebuild` does, of code that other kernels link."""
    library = BitcodeLibrary(target.codegen(), name)
    library._finalized = True
    library._get_module_for_linking = cache(partial(codegen.ll.parse_bitcode, bitcode))
    nothing = dict.fromkeys(compiler.CR_FIELDS)
    objectmode, lifted, type_annotation, reload_init, referenced_envs = others
    return compiler.CompileResult(**nothing | {
        "target_context": target, "typing_context": target.typing_context, "library": library, "environment": env,
        "entry_point": _stand_in(fndesc, env), "fndesc": fndesc, "type_annotation": type_annotation,
        "signature": signature, "objectmode": objectmode, "lifted": lifted, "reload_init": reload_init,
        "referenced_envs": referenced_envs,
    })  # fmt: skip


def _stand_in(fndesc: Any, env: Any) -> Any:
    """For the function that Python would call: numba finds a kernel by it."""
    return cpu._dynfunc.make_function(fndesc.lookup_module(), fndesc.qualname.split(".")[-1], "", 0, env, ())


def _copied_scope(scope: Any, memo: dict[int, Any]) -> Any:
    """With the same variables, which nothing changes."""
    copied = memo[id(scope)] = ir.Scope(scope.parent, scope.loc)
    copied.localvars._con.update(scope.localvars._con)
    copied.redefined.update(scope.redefined)
    copied.var_redefinitions.update((name, set(names)) for name, names in scope.var_redefinitions.items())
    return copied


ir.Scope.__deepcopy__ = _copied_scope
