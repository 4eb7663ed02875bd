"""Variants in processes of their own, which still take turns.

What a library sets for its whole process, such as how memory is handed out, then touches none of the others.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from benchmarks.timing import Measure

_Result = TypeVar("_Result")


def alone(function: Callable[..., _Result], *arguments: Any) -> _Result:
    """What the function returns when a new process calls it; all of it must be picklable.

    Raises:
        Exception: what the function raised.
    """
    with _started(function, arguments) as connection:
        return _answer(connection)


@contextmanager
def taking_turns(makers: Mapping[str, Callable[[], Measure]]) -> Iterator[dict[str, Measure | ModuleNotFoundError]]:
    """Each variant in a process of its own, which works only while it is measured.

    Args:
        makers: called once in the process; what they return is called there for each measurement.

    Yields:
        The measures by name; in place of one, the error of a maker that needs a module that is not installed.
    """
    with ExitStack() as stack:
        connections = {name: stack.enter_context(_started(_serve, (maker,))) for name, maker in makers.items()}
        yield {name: _ready(connection) for name, connection in connections.items()}


@contextmanager
def _started(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Iterator[Connection]:
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_call, args=(there, function, arguments))
    process.start()
    there.close()  # so that reading ends when the process does
    try:
        yield here
    finally:
        here.close()
        process.join()


def _call(connection: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    try:
        result = function(connection, *arguments) if function is _serve else function(*arguments)
        connection.send(result)
    except EOFError:  # the other side has closed: nothing more is asked for
        pass
    except Exception as error:
        connection.send(error)


def _serve(connection: Connection, maker: Callable[[], Measure]) -> None:
    measure = maker()
    connection.send("ready")
    while True:
        connection.recv()
        connection.send(measure())


def _ready(connection: Connection) -> Measure | ModuleNotFoundError:
    try:
        _answer(connection)
    except ModuleNotFoundError as error:
        return error

    def measure() -> float:
        connection.send("go")
        return float(_answer(connection))

    return measure


def _answer(connection: Connection) -> Any:
    answer = connection.recv()
    if isinstance(answer, Exception):
        raise answer
    return answer
