"""The operator: everything built, started in order, and stopped in the reverse one.

    credentials -> clients -> serving -> informers -> policies -> (synced, leading) -> scheduling loop -> binder

A pod is only tried once every informer and the policies have synced and this replica leads. On SIGTERM nothing new is
decided, what is being bound is finished, and the lease is released last.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Callable, Coroutine, Iterable
from contextlib import AsyncExitStack
from random import Random, SystemRandom
from typing import Any
from uuid import uuid4

import msgspec

from moorage import __version__
from moorage.app.connections import Connections, find_credentials, kopf_session
from moorage.app.endpoints import Vitals, endpoints
from moorage.app.facts import EngineFacts
from moorage.app.policy_keeper import PolicyKeeper, run_in
from moorage.controller.compile import compile_policy
from moorage.controller.configuration import ProcessConfiguration
from moorage.controller.handlers import PolicyWatch
from moorage.controller.policies import PolicyStore
from moorage.engine.inbox import Message, ProfileChanged
from moorage.engine.scheduler import Scheduler
from moorage.framework.registry import Registry
from moorage.model.decode import Decoder
from moorage.runtime.binder import Binder
from moorage.runtime.binding import BindingWriter
from moorage.runtime.clock import SystemClock
from moorage.runtime.event import Event
from moorage.runtime.event_recorder import EventRecorder
from moorage.runtime.inbox import Inbox
from moorage.runtime.informer import Informer
from moorage.runtime.kube import KubeClient
from moorage.runtime.last_look import LastLook
from moorage.runtime.leader_election import LeaderElector
from moorage.runtime.list_watch import ListWatch
from moorage.runtime.loop import SchedulingLoop
from moorage.runtime.metrics import Metrics
from moorage.runtime.outcome_router import OutcomeRouter
from moorage.runtime.pod_status import PodStatusWriter
from moorage.runtime.policy_status import PolicyStatusWriter
from moorage.runtime.preemption import VictimEvictor
from moorage.runtime.reporter import Reporter
from moorage.runtime.resources import INFORMED, SCHEDULING_POLICY
from moorage.runtime.server import HealthServer
from moorage.runtime.tally import Tally

logger = logging.getLogger(__name__)

SEED_BITS = 32
DRAIN_SECONDS = 10.0
"""How long bindings under way, and events about them, may take at the end."""
DRAIN_POLL_SECONDS = 0.05
