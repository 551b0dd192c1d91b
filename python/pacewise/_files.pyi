from typing import Any

from numpy.typing import NDArray

from ._core import Error as Error

def read_float32(
    path: str, variable: str, label_column: str, header: bool | None, delimiter: str, threads: int
) -> dict[str, Any]: ...
def read_float64(
    path: str, variable: str, label_column: str, header: bool | None, delimiter: str, threads: int
) -> dict[str, Any]: ...
def read_labels(path: str, samples: int, variable: str) -> tuple[NDArray, list[str]]: ...
