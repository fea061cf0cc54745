"""The one door to numba and LLVM: compiled Python functions, 512-bit words, and machine code made at run time.

A word is 8 × uint64, one bit for each of 512 lanes; words stand in rows of a C-contiguous array of shape (S, 8).
Kernels are kept on disk, each in a file that is named after all that its machine code depends on (`KernelFiles`).
"""

import ctypes
import hashlib
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from mmap import PROT_EXEC, PROT_READ, PROT_WRITE, mmap
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple, ParamSpec, TypeAlias, TypeVar, cast

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba.core import cgutils as untyped_cgutils
from numba.core import config as untyped_config
from numba.core import runtime as untyped_runtime
from numba.core import types
from numba.core.compiler import CompileResult as UntypedResult
from numba.core.dispatcher import Dispatcher
from numba.core.environment import Environment as UntypedEnvironment
from numba.core.serialize import dumps as untyped_dumps
from numba.extending import intrinsic
from numpy.typing import NDArray

from ggp.cache import keep_kernel, kernel_folder, read_kernel
from ggp.kernel_compiler import make_dispatcher, rebuild_bitcode

Int: TypeAlias = int | np.integer[Any]
Words: TypeAlias = NDArray[np.uint64]  # (rows, 8)

cgutils: Any = untyped_cgutils
config: Any = untyped_config
CompileResult: Any = UntypedResult
dumps: Any = untyped_dumps
Environment: Any = UntypedEnvironment
runtime: Any = untyped_runtime

LANES = 512
WORD = LANES // 64  # uint64 in a word
TALLY_BITS = 8  # of the counters that `tally` keeps for each lane

_provided = set[str]()  # names that machine code of kernels may call; LLVM is slow to say so

BOUNDS_CHECKED = bool(config.BOUNDSCHECK)

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def kernel(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The function as machine code that runs without Python's lock."""
    return _compiled(function)


def inner(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A part of a kernel that makes no arrays, inlined by LLVM: passing tuples of arrays costs more than its work."""
    return _compiled(function, _nrt=False, forceinline=True)


def lean(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A kernel that makes no arrays, and so counts no references to them: each count takes as long as some ten sums."""
    return _compiled(function, _nrt=False)


def numba_inner(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """The same, inlined by numba, for search, learning and playouts: compiles longer, is up to a fifth faster there."""
    return _compiled(function, inline="always")


def fused(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A lean kernel whose sums of floats may be taken in another order, so that dot products use vectors.

    The order is that of the machine code: the same on every run on one kind of processor.
    """
    return _compiled(function, _nrt=False, fastmath={"reassoc", "contract", "nsz"})


def _compiled(function: Callable[Parameters, Result], **options: Any) -> Callable[Parameters, Result]:
    options.setdefault("forceinline", False)  # else it would be as in the kernel that has it compiled
    return cast("Callable[Parameters, Result]", make_dispatcher(function, options, KernelFiles))


class _KeptKernel(NamedTuple):
    """What is kept of a kernel."""

    name: str
    machine_code: bytes  # none where it is kept for calls from other kernels
    bitcode: bytes  # LLVM's intermediate code, which these link; none where Python calls it
    called: list[str]  # external functions, to be linked
    defined: list[str]
    others: list[Any]  # further arguments of `CompileResult._rebuild`


class _Reader(pickle.Unpickler):  # only we can write what is read
    """Does not import the modules of numba whose functions kernels hold: machine code reads none of their globals."""

    def find_class(self, module: str, name: str) -> Any:
        return _make_environment if name == "_rebuild_env" else super().find_class(module, name)


def _make_environment(module: str, constants: list[Any], name: str) -> Any:
    environment = Environment._memo.get(name)
    if environment is None:
        environment = Environment._memo[name] = Environment({"__name__": module})
        environment.consts[:], environment.env_name = constants, name
    return environment


@cache
def _provide_runtime() -> None:
    """What the machine code of kernels calls to read arrays and count references to them."""
    for name, address in runtime._nrt_python.c_helpers.items():
        llvm.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


@cache
def _no_bitcode() -> bytes:
    return cast("bytes", llvm.parse_assembly("").as_bitcode())


class KernelFiles:
    """Keeps the code of one kernel, a file for each signature, as numba's dispatchers ask a cache to.

    Numba's own cache notices no change of a function that a kernel calls, finds nothing again in another checkout, and
    two processes that write its index at once can exchange the code of two signatures. Here the name of a file is a
    hash of the byte code of the kernel and of all that it calls, of the constants and types that they read, of the
    signature and of the processor. There is no index, and files are put in place whole.
    """

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher
        self._name = f"{dispatcher.py_func.__module__}.{dispatcher.py_func.__qualname__}"

    @property
    def cache_path(self) -> str:
        """The folder of the files."""
        return str(_folder())

    def load_overload(self, signature: Any, target: Any) -> Any:
        """What was compiled for the signature, or None.

        What takes numba longest is left out unless it is needed: loading all that it can compile, scipy included, and
        parsing the intermediate code, which only kernels that are compiled in this process link.
        """
        code = read_kernel(_folder(), self._name, self._digest(signature, target.codegen()))
        if code is None:
            return None
        kept = _KeptKernel(*_Reader(BytesIO(code)).load())
        if not kept.machine_code:
            return rebuild_bitcode(target, kept.name, kept.bitcode, *kept.others)
        called = set(kept.called) - _provided
        for provide in (_provide_runtime, target.refresh):
            if not all(map(llvm.address_of_symbol, called)):
                provide()
        _provided.update(called)
        target.codegen()._engine._defined_symbols.update(kept.defined)
        library = kept.name, "object", (kept.machine_code, _no_bitcode())
        return CompileResult._rebuild(target, library, *kept.others)

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keeps it, unless it holds addresses of this process."""
        if result.lifted or result.library.has_dynamic_globals:
            return
        (name, _, (machine_code, bitcode)), *others = result._reduce()  # as numba's own cache does
        module = result.library._final_module
        functions = [(each.name, each.is_declaration) for each in module.functions]
        called = [name for name, is_elsewhere in functions if is_elsewhere and not name.startswith("llvm.")]
        defined = [name for name, is_elsewhere in functions if not is_elsewhere]
        defined += [each.name for each in module.global_variables if not each.is_declaration]
        code = dumps(tuple(_KeptKernel(name, machine_code, bitcode, called, defined, others)))
        keep_kernel(_folder(), self._name, self._digest(signature, result.codegen), code)

    def _digest(self, signature: Any, codegen: Any) -> str:
        kinds = tuple(_describe_type(kind) for kind in signature)
        return _hash((fingerprint(self._dispatcher), kinds, codegen.magic_tuple()))


def fingerprint(dispatcher: Any) -> str:
    """A hash of all but signature and processor that decides what machine code a kernel becomes.

    The folder of kernels is named after the sources of this module and of `ggp.kernel_compiler`, and the libraries.
    """
    found: dict[int, Any] = {}
    waiting = [dispatcher]
    while waiting:
        if id(each := waiting.pop()) not in found:
            found[id(each)], called = _describe_function(each)
            waiting += called
    return _hash((found[id(dispatcher)], sorted(map(repr, found.values()))))


@cache
def _describe_function(dispatcher: Any) -> tuple[tuple[Any, ...], list[Any]]:
    """The byte code with what it reads from outside; and the kernels that it may call."""
    function = dispatcher.py_func
    called: list[Any] = []
    parts: list[Any] = [function.__module__, function.__qualname__, repr(function.__defaults__)]
    parts += [_describe_value(option) for option in sorted(dispatcher.targetoptions.items())]
    cells = (cell.cell_contents for cell in function.__closure__ or ())
    names = function.__globals__ | dict(zip(function.__code__.co_freevars, cells, strict=True))
    codes = [function.__code__]
    while codes:
        code = codes.pop()
        codes += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        parts += [code.co_code, repr([each for each in code.co_consts if not isinstance(each, CodeType)])]
        for name in (*code.co_names, *code.co_freevars):
            value = names.get(name)
            called += [value] if isinstance(value, Dispatcher) else []
            parts += [name, _describe_value(value)]
    return tuple(parts), called


def _describe_value(value: Any) -> str:
    """A text that is the same in each process that has the value, else the kernel is compiled in each of them."""
    match value:
        case Dispatcher():
            described = f"{value.py_func.__module__}.{value.py_func.__qualname__}"
        case np.ndarray():
            described = f"{value.dtype} {value.shape} {value.tolist()}"
        case set() | frozenset():
            described = repr(sorted(map(repr, value)))
        case tuple():
            described = repr([_describe_value(each) for each in value])
        case _ if hasattr(value, "__qualname__"):  # a class or function
            described = f"{value.__module__}.{value.__qualname__} {getattr(value, '_fields', '')}"
        case _:  # a module, an intrinsic, or a constant
            described = f"{type(value)} {getattr(value, '__name__', None) or repr(value)}"
    return described


def _describe_type(kind: Any) -> Any:
    module = getattr(getattr(kind, "instance_class", None), "__module__", None)  # what is kept of a kernel names it
    return str(kind), module, getattr(kind, "fields", ()), tuple(map(_describe_type, getattr(kind, "types", ())))


@cache
def _folder() -> Path:
    return kernel_folder()


def _hash(value: Any) -> str:
    return hashlib.sha256(repr(value).encode(errors="surrogateescape")).hexdigest()[:32]


VECTOR = ir.VectorType(ir.IntType(64), WORD)


def row_pointer(context: Any, builder: Any, array: Any, array_type: Any, index: Any) -> Any:
    """A pointer to the word in a row of the array."""
    data = context.make_array(array_type)(context, builder, array).data
    first = builder.gep(data, [builder.mul(index, ir.Constant(ir.IntType(64), WORD))])
    return builder.bitcast(first, VECTOR.as_pointer())


def load(builder: Any, pointer: Any) -> Any:
    return builder.load(pointer, align=8)


def _literal(context: Any, builder: Any, array: Any, array_type: Any, literal: Any) -> Any:
    """The word of a literal: 2 · row, + 1 for its complement."""
    one = ir.Constant(ir.IntType(64), 1)
    word = load(builder, row_pointer(context, builder, array, array_type, builder.lshr(literal, one)))
    mask = builder.neg(builder.and_(literal, one))
    lanes = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), mask, ir.Constant(ir.IntType(32), 0))
    zeros = ir.Constant(ir.VectorType(ir.IntType(32), WORD), None)
    return builder.xor(word, builder.shuffle_vector(lanes, ir.Constant(VECTOR, ir.Undefined), zeros))


def _gate(operation: str) -> Any:
    def declare(typing_context: Any, words: Any, left: Any, right: Any, out: Any) -> Any:
        del typing_context, left, right, out

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            array, first, second, row = arguments
            values = [_literal(context, builder, array, signature.args[0], literal) for literal in (first, second)]
            result = getattr(builder, operation)(*values)
            builder.store(result, row_pointer(context, builder, array, signature.args[0], row), align=8)
            return context.get_dummy_value()

        return types.void(words, types.int64, types.int64, types.int64), generate

    return declare


def _blend(typing_context: Any, words: Any, row: Any, other: Any, mask: Any) -> Any:
    del typing_context, row, other, mask

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, *rows = arguments
        target, other, mask = (row_pointer(context, builder, array, signature.args[0], index) for index in rows)
        kept, taken, lanes = (load(builder, pointer) for pointer in (target, other, mask))
        mixed = builder.xor(kept, builder.and_(builder.xor(kept, taken), lanes))
        builder.store(mixed, target, align=8)
        return context.get_dummy_value()

    return types.void(words, types.int64, types.int64, types.int64), generate


def _fill_random(typing_context: Any, words: Any, row: Any, count: Any, state: Any) -> Any:
    del typing_context, row, count

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, row, count, numbers = arguments
        places = [
            row_pointer(context, builder, numbers, signature.args[3], ir.Constant(ir.IntType(64), at))
            for at in range(4)
        ]
        state = [cgutils.alloca_once_value(builder, load(builder, place)) for place in places]
        with cgutils.for_range(builder, count) as loop:
            s0, s1, s2, s3 = (builder.load(part) for part in state)
            target = row_pointer(context, builder, array, signature.args[0], builder.add(row, loop.index))
            builder.store(builder.add(s0, s3), target, align=8)
            shifted = builder.shl(s1, ir.Constant(VECTOR, [17] * WORD))
            s2, s3 = builder.xor(s2, s0), builder.xor(s3, s1)
            s1, s0 = builder.xor(s1, s2), builder.xor(s0, s3)
            s2 = builder.xor(s2, shifted)
            high = builder.shl(s3, ir.Constant(VECTOR, [45] * WORD))
            s3 = builder.or_(high, builder.lshr(s3, ir.Constant(VECTOR, [19] * WORD)))
            for part, value in zip(state, (s0, s1, s2, s3), strict=True):
                builder.store(value, part)
        for part, place in zip(state, places, strict=True):
            builder.store(builder.load(part), place, align=8)
        return context.get_dummy_value()

    return types.void(words, types.int64, types.int64, state), generate


def _any_lane(typing_context: Any, words: Any, row: Any) -> Any:
    del typing_context, row

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = load(builder, row_pointer(context, builder, arguments[0], signature.args[0], arguments[1]))
        reduced = _call_intrinsic(builder, "llvm.vector.reduce.or.v8i64", ir.IntType(64), [word])
        return builder.icmp_unsigned("!=", reduced, ir.Constant(ir.IntType(64), 0))

    return types.boolean(words, types.int64), generate


def _call_intrinsic(builder: Any, name: str, result: Any, arguments: list[Any]) -> Any:
    kind = ir.FunctionType(result, [argument.type for argument in arguments])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)


def _count_both(typing_context: Any, words: Any, row: Any, other: Any) -> Any:
    del typing_context, row, other

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, *rows = arguments
        data = context.make_array(signature.args[0])(context, builder, array).data
        total = ir.Constant(ir.IntType(64), 0)
        size = ir.Constant(ir.IntType(64), WORD)
        for column in range(WORD):
            at = [
                builder.gep(data, [builder.add(builder.mul(row, size), ir.Constant(ir.IntType(64), column))])
                for row in rows
            ]
            total = builder.add(total, builder.ctpop(builder.and_(*(builder.load(place) for place in at))))
        return total

    return types.int64(words, types.int64, types.int64), generate


def _tally(typing_context: Any, words: Any, row: Any, other: Any, first: Any) -> Any:
    del typing_context, row, other, first

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, *rows, first = arguments
        one, two = (load(builder, row_pointer(context, builder, array, signature.args[0], index)) for index in rows)
        carry = builder.and_(one, two)
        reduced = _call_intrinsic(builder, "llvm.vector.reduce.or.v8i64", ir.IntType(64), [carry])
        with builder.if_then(builder.icmp_unsigned("!=", reduced, ir.Constant(ir.IntType(64), 0))):
            for digit in range(TALLY_BITS):
                index = builder.add(first, ir.Constant(ir.IntType(64), digit))
                place = row_pointer(context, builder, array, signature.args[0], index)
                before = load(builder, place)
                builder.store(builder.xor(before, carry), place, align=8)
                carry = builder.and_(before, carry)
        return context.get_dummy_value()

    return types.void(words, types.int64, types.int64, types.int64), generate


def plain_any(words: Words, row: Int) -> bool:
    """Whether any lane has the row."""
    found = np.uint64(0)
    for column in range(WORD):
        found |= words[row, column]
    return bool(found != 0)


def plain_count(words: Words, row: Int, other: Int) -> int:
    """In how many lanes both rows hold."""
    total = 0
    for column in range(WORD):
        value = words[row, column] & words[other, column]
        while value:
            value &= value - np.uint64(1)
            total += 1
    return total


def plain_and(words: Words, left: Int, right: Int, out: Int) -> None:
    """Row `out` becomes left AND right; literals are 2 · row, + 1 for the complement."""
    for column in range(WORD):
        first = words[left >> 1, column] ^ (np.uint64(0) - np.uint64(left & 1))
        second = words[right >> 1, column] ^ (np.uint64(0) - np.uint64(right & 1))
        words[out, column] = first & second


def plain_xor(words: Words, left: Int, right: Int, out: Int) -> None:
    """Row `out` becomes left XOR right."""
    for column in range(WORD):
        first = words[left >> 1, column] ^ (np.uint64(0) - np.uint64(left & 1))
        second = words[right >> 1, column] ^ (np.uint64(0) - np.uint64(right & 1))
        words[out, column] = first ^ second


def plain_blend(words: Words, row: Int, other: Int, mask: Int) -> None:
    """Row `row` takes the lanes of row `other` where row `mask` has them."""
    for column in range(WORD):
        kept = words[row, column]
        words[row, column] = kept ^ ((kept ^ words[other, column]) & words[mask, column])


def plain_random(words: Words, row: Int, count: Int, state: Words) -> None:
    """Fill `count` rows from `row` on with random bits: eight streams of xoshiro256+ (Blackman, Vigna 2018).

    state: (4, 8), none of the columns all 0; changed in place.
    """
    for target in range(row, row + count):
        for column in range(WORD):
            words[target, column] = state[0, column] + state[3, column]
            shifted = state[1, column] << np.uint64(17)
            state[2, column] ^= state[0, column]
            state[3, column] ^= state[1, column]
            state[1, column] ^= state[2, column]
            state[0, column] ^= state[3, column]
            state[2, column] ^= shifted
            last = state[3, column]
            state[3, column] = (last << np.uint64(45)) | (last >> np.uint64(19))


def plain_tally(words: Words, row: Int, other: Int, first: Int) -> None:
    """Add 1, modulo 2 ** TALLY_BITS, to the counters of the lanes in which both rows hold.

    The counters are TALLY_BITS rows from `first` on, lowest bit first.
    """
    for column in range(WORD):
        carry = words[row, column] & words[other, column]
        for digit in range(first, first + TALLY_BITS):
            before = words[digit, column]
            words[digit, column] = before ^ carry
            carry &= before


def fast(plain: Callable[Parameters, Result], generator: Any) -> Callable[Parameters, Result]:
    """The plain function where indices are to be checked, else what is generated, which never checks them."""
    chosen: Any = kernel(plain) if BOUNDS_CHECKED else intrinsic(generator)
    return chosen  # type: ignore[no-any-return]


gate_and = fast(plain_and, _gate("and_"))
gate_xor = fast(plain_xor, _gate("xor"))
blend = fast(plain_blend, _blend)
any_lane = fast(plain_any, _any_lane)
count_both = fast(plain_count, _count_both)
fill_random = fast(plain_random, _fill_random)
tally = fast(plain_tally, _tally)


def _call(typing_context: Any, address: Any, first: Any, second: Any, third: Any) -> Any:
    del typing_context, address, first, second, third

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del signature
        pointer = cgutils.voidptr_t
        target = ir.FunctionType(ir.VoidType(), [pointer] * 3).as_pointer()
        function = builder.inttoptr(arguments[0], target)
        builder.call(function, [builder.inttoptr(argument, pointer) for argument in arguments[1:]])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), generate


def _lowest(typing_context: Any, value: Any) -> Any:
    del typing_context, value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


def _count_ones(typing_context: Any, value: Any) -> Any:
    del typing_context, value

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        del context, signature
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), generate


_jump: Any = intrinsic(_call)
count_ones: Callable[[np.uint64], int] = cast("Any", intrinsic(_count_ones))  # how many bits are set
lowest: Callable[[np.uint64], int] = cast("Any", intrinsic(_lowest))  # the index of the lowest bit set; not for 0


@inner
def draw(random: NDArray[np.uint64], below: Int) -> Int:
    """A number from 0 to before `below` (xorshift64*: Vigna, 2016); random: (1,), not 0, changed in place."""
    state = random[0]
    state ^= state >> np.uint64(12)
    state ^= state << np.uint64(25)
    state ^= state >> np.uint64(27)
    random[0] = state
    return np.int64(((state * np.uint64(0x2545F4914F6CDD1D)) >> np.uint64(33)) % np.uint64(below))


@inner
def call(address: Int, words: Words, current: Int, following: Int) -> None:
    """Run machine code on all lanes of the words; `current` and `following` are the first rows of the two states."""
    base = words.ctypes.data
    _jump(address, base + current * WORD * 8, base + following * WORD * 8, base)


@dataclass(frozen=True, slots=True, eq=False)
class MachineCode:
    """Functions that were loaded from an object file; they live as long as this does."""

    addresses: dict[str, int]
    _engine: Any


def vector_bits() -> int:
    """The width of the vectors that this machine computes with: 512, 256 or 128."""
    features = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return 512
    return 256 if features.get("avx2") else 128


def machine_name() -> str:
    """What machine code depends on, as one line: the processor and its features."""
    return f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()} {llvm.llvm_version_info}"


def compile_object(text: str) -> bytes:
    """An object file for this machine from LLVM's language; Python's lock is free while LLVM works."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(text)
    emitted: bytes = _target().emit_object(module)
    return emitted


def load_object(data: bytes, names: tuple[str, ...]) -> MachineCode:
    """The functions of an object file by name."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _target())
    engine.add_object_file(llvm.ObjectFileRef.from_data(data))
    engine.finalize_object()
    return MachineCode({name: engine.get_function_address(name) for name in names}, engine)


def load_bytes(code: bytes, starts: dict[str, int]) -> MachineCode:
    """Functions that are bytes of machine code, by where they start."""
    memory = mmap(-1, len(code), prot=PROT_READ | PROT_WRITE | PROT_EXEC)
    memory.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return MachineCode({name: address + start for name, start in starts.items()}, memory)


def _target() -> Any:
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=1, reloc="pic",
        codemodel="jitdefault", jit=True,
    )  # fmt: skip


def aligned_words(count: int) -> NDArray[np.uint64]:
    """Zeros of shape (count, 8) that start at a multiple of 64 bytes."""
    raw = np.zeros(count * WORD + WORD, dtype=np.uint64)
    skip = (-raw.ctypes.data // 8) % WORD
    return raw[skip : skip + count * WORD].reshape(count, WORD)
