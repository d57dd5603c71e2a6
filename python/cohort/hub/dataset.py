"""Data sets of the Hugging Face Hub."""

from cohort.hub.errors import address, first_line, one_line


def load_dataset(name, config=None, revision=None, token=None):
    """Downloads a data set into the cache of the package `datasets`; returns its `DatasetDict`.

    Raises OSError for an id that is unknown, private or gated, or not cached while the Hub can't be reached, ValueError
    for an unknown configuration, ImportError without `datasets`.
    """
    try:
        import datasets
    except ImportError:
        raise ImportError(
            f"{name}: data sets of the Hub need the package datasets: pip install datasets"
        ) from None
    try:
        with one_line(name, "data set"):
            return datasets.load_dataset(name, config, revision=revision, token=token)
    except datasets.exceptions.DatasetNotFoundError as error:
        raise OSError(
            f"{name}: no such file or directory, and not at {address()}: {first_line(error)}"
        ) from None
    except datasets.exceptions.DatasetsError as error:
        raise OSError(f"{name}: can't be read: {first_line(error.__cause__ or error)}") from None
    except ConnectionError as error:
        raise OSError(
            f"{name}: not in the cache, and the Hub can't be reached: {first_line(error)}"
        ) from None
