"""One line for each way in which the Hub, or the package that asks it, fails."""

import contextlib

# Libraries in which connections are made: their exceptions differ between versions of huggingface_hub.
NETWORK = ("httpcore", "httpcore2", "httpx", "httpx2", "requests", "urllib3")


def import_hub():
    """Returns the module huggingface_hub; raises ImportError that says how to install it."""
    try:
        import huggingface_hub
        import huggingface_hub.constants
        import huggingface_hub.errors
    except ImportError:
        raise ImportError("huggingface_hub is not installed: pip install huggingface_hub") from None
    return huggingface_hub


def address():
    """The address of the Hub in use (HF_ENDPOINT)."""
    return import_hub().constants.ENDPOINT


@contextlib.contextmanager
def one_line(name, kind):
    """Turns the exceptions of huggingface_hub into OSError with one line; `kind` is "model" or "data set"."""
    errors = import_hub().errors
    try:
        yield
    except errors.HFValidationError as error:
        raise OSError(f"{name}: no such directory, and no id of the Hub: {first_line(error)}") from None
    except errors.GatedRepoError:
        page = f"{address()}/{'datasets/' if kind == 'data set' else ''}{name}"
        raise OSError(
            f"{name}: the {kind} is gated: accept its terms at {page}, then log in by `hf auth login` or set HF_TOKEN"
        ) from None
    except errors.RepositoryNotFoundError:
        raise OSError(
            f"{name}: no such directory, and no {kind} of this name at {address()}; for a private one log in by "
            "`hf auth login` or set HF_TOKEN"
        ) from None
    except errors.RevisionNotFoundError:
        raise OSError(f"{name}: the {kind} has no such revision at {address()}") from None
    except (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled) as error:
        raise OSError(f"{name}: {_what_is_missing(error)}, and {_why_not_fetched(error)}") from None
    except errors.HfHubHTTPError as error:
        raise OSError(f"{name}: {address()} answers: {first_line(error)}") from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in NETWORK:
            raise
        raise OSError(f"{name}: {address()} can't be reached: {first_line(error)}") from None


def _what_is_missing(error):
    if isinstance(error, import_hub().errors.IncompleteSnapshotError):
        return "some of its files are not in the local cache"
    return "is not in the local cache"


def _why_not_fetched(error):
    hub = import_hub()
    if hub.constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE forbids to download"
    if isinstance(error.__cause__, hub.errors.HfHubHTTPError):
        return f"{address()} answers: {first_line(error.__cause__)}"
    return f"{address()} can't be reached"


def first_line(error):
    """The first line of an exception's text; its type, if it has none."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
