"""The networks by name: a network needs an entry here and a ``ReaderNetwork``, nothing else."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

from udfs.readers.configuration import SanConfig
from udfs.readers.layers import ReaderNetwork
from udfs.readers.san import San

ReaderConfig = SanConfig
"""The union of all networks' configurations."""


class NetworkEntry(NamedTuple):
    """``make`` takes the configuration and the number of rows of the word, tag and label tables."""

    config: type[ReaderConfig]
    make: Callable[[ReaderConfig, int, int, int], ReaderNetwork]


NETWORKS = {"san": NetworkEntry(SanConfig, San)}


def network_name(config: ReaderConfig) -> str:
    """The name of the network that a configuration belongs to."""
    return next(name for name, entry in NETWORKS.items() if entry.config is type(config))


def make_network(config: ReaderConfig, words: int, pos: int, ner: int) -> ReaderNetwork:
    """A new network with weights drawn from torch's generator."""
    return NETWORKS[network_name(config)].make(config, words, pos, ner)


def config_from(name: str, values: Mapping[str, Any]) -> ReaderConfig:
    """A network's configuration from plain values.

    Raises:
        ValueError: no network of that name; a value that its configuration lacks.
    """
    if name not in NETWORKS:
        raise ValueError(f"no network {name!r}; known: {', '.join(sorted(NETWORKS))}")
    kind = NETWORKS[name].config
    unknown = values.keys() - {f.name for f in fields(kind)}
    if unknown:
        raise ValueError(
            f"{name} has no {', '.join(sorted(unknown))}; it has {', '.join(f.name for f in fields(kind))}"
        )
    return kind(**values)
