from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bench.parity.conformance import suite

IMPORTS = """
import torchvision
from torchvision.transforms.v2 import functional as f
from torchvision.io import ImageReadMode
assert ImageReadMode.RGB is not None and f.resize is not None
assert not hasattr(torchvision, "__path_of_nothing__")
try:
    f.pil_to_tensor(1)
except TypeError:
    print("good for nothing")
"""


def test_the_stand_in_is_importable_at_any_depth_and_does_nothing() -> None:
    stand_ins = Path(suite.__file__).parent / "stand_ins"
    environment = {**os.environ, "PYTHONPATH": str(stand_ins)}
    done = subprocess.run([sys.executable, "-c", IMPORTS], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "good for nothing", done.stderr
