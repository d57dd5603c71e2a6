"""The learning rates of transformers' schedules, for tests/train/schedule_test.cpp.

.venv-test/bin/python tools/make_golden/schedules.py > tests/train/golden/schedules.json
"""

import json

import torch
from transformers import get_scheduler

PEAK = 0.01
UPDATES = 20
CASES = [
    ("linear", {}),
    ("cosine", {}),
    ("constant_with_warmup", {}),
    ("cosine_with_restarts", {"num_cycles": 3}),
    ("cosine_with_min_lr", {"min_lr": 0.001}),
    ("cosine_with_min_lr", {"min_lr_rate": 0.25}),
    ("polynomial", {}),
    ("polynomial", {"lr_end": 0.002, "power": 2.0}),
    ("inverse_sqrt", {}),
    ("inverse_sqrt", {"timescale": 7}),
    ("warmup_stable_decay", {"num_decay_steps": 8}),
    ("warmup_stable_decay", {"num_decay_steps": 6, "min_lr_ratio": 0.2}),
]


def rates(name, kwargs, warmup):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=PEAK)
    schedule = get_scheduler(name, optimizer, warmup, UPDATES, scheduler_specific_kwargs=kwargs)
    values = []
    for _ in range(UPDATES):
        values.append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    return values


rows = [
    {"type": name, "kwargs": kwargs, "warmup_steps": warmup, "rates": rates(name, kwargs, warmup)}
    for name, kwargs in CASES
    for warmup in (0, 5)
]
print(json.dumps({"peak": PEAK, "num_updates": UPDATES, "schedules": rows}))
