"""Stands before the installed torchvision for the programs of this folder, and hands over to it.

timm and transformers import torchvision for image transforms. Its import fails where its compiled part was built for
another torch (the wheel of the default index needs a CUDA build): the operators that it describes are unknown. No
program here calls them; their schemas alone let it load."""

import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path

import torch

_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


def _loads(folder):
    try:
        for file in Path(folder).glob("_C*"):
            torch.ops.load_library(file)
    except OSError:
        return False
    return hasattr(torch.ops.torchvision, "nms")


def _hand_over():
    here = Path(__file__).resolve().parents[1]
    spec = PathFinder.find_spec(__name__, [entry for entry in sys.path if Path(entry).resolve() != here])
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"No module named {__name__!r}", name=__name__)
    module = module_from_spec(spec)
    if not _loads(spec.submodule_search_locations[0]):
        library = torch.library.Library(__name__, "DEF")
        for schema in _SCHEMAS:
            library.define(schema)
        module.schemas = library  # they go when nothing holds it
    sys.modules[__name__] = module
    spec.loader.exec_module(module)


_hand_over()
