"""One line for each way in which the Hub, or the package that asks it, fails."""

import contextlib


def import_hub():
    """Returns the module huggingface_hub; raises ImportError that says how to install it."""
    try:
        import huggingface_hub
    except ImportError:
        raise ImportError("huggingface_hub is not installed: pip install huggingface_hub") from None
    return huggingface_hub


@contextlib.contextmanager
def one_line(name, kind):
    """Turns the exceptions of huggingface_hub into OSError with one line; `kind` is "model" or "data set"."""
    errors = import_hub().errors
    try:
        yield
    except errors.GatedRepoError:
        page = f"{address()}/{'datasets/' if kind == 'data set' else ''}{name}"
        raise OSError(
            f"{name}: the {kind} is gated: accept its terms at {page}, then log in by `hf auth login` or set HF_TOKEN"
        ) from None
    except errors.RepositoryNotFoundError:
        raise OSError(
            f"{name}: no such directory, and no {kind} of this name at {address()}; a private one needs `hf auth "
            "login` or HF_TOKEN"
        ) from None
    except errors.RevisionNotFoundError:
        raise OSError(f"{name}: the {kind} has no such revision at {address()}") from None
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled):
        raise OSError(f"{name}: is not in the local cache, and {_why_not_fetched()}") from None
    except errors.HfHubHTTPError as error:
        raise OSError(f"{name}: {address()} answers: {_first_line(error)}") from None


def address():
    """The address of the Hub in use."""
    return import_hub().constants.ENDPOINT


def _why_not_fetched():
    if import_hub().constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE forbids to download it"
    return f"{address()} can't be reached"


def _first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
