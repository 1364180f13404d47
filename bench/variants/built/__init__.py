"""The import path of generated variants: its modules lie in the build folder of the installed vLLM."""

from bench.variants.build import build_folder
from bench.variants.source import installed_source

__path__ = [str(build_folder(installed_source()))]
