"""AITER in torch: its contracts by version, on any device that torch runs on."""

from backport.parity.simulated.aiter import Aiter as Aiter
from backport.parity.simulated.contract import ContractError as ContractError
