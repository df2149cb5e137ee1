"""The engines, for scripts and tests in Python: as src/store/engine_list.hpp lists them."""
import pathlib
import re

LIST = pathlib.Path(__file__).resolve().parent.parent / "src/store/engine_list.hpp"
ENGINES = re.findall(r" each\((\w+)\)", LIST.read_text())
