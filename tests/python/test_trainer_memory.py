"""100,000 calls of reward functions and 20 trainers in a row: memory stays what it was.

COHORT=build/cohort PYTHONPATH=build/python .venv-test/bin/python tests/python/test_trainer_memory.py [CALLS]
"""

import gc
import os
import pathlib
import sys
import tracemalloc
import unittest
import weakref

from trainer_case import TrainerTest, hashed
from transformers import TrainerCallback

NUM_FUNCTIONS = 100  # each is called once a step
MIB = 1 << 20


def resident():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class MemoryTest(TrainerTest):
    CALLS = 100_000

    def test_calls_of_reward_functions(self):
        calls, sizes = [0], []

        def make(place):
            def reward(prompts, completions, completion_ids, log_metric, **columns):
                calls[0] += 1
                log_metric("calls", calls[0])
                return [float(len(one) + place) for one in completions]

            reward.__name__ = f"reward_{place}"
            return reward

        class Watch(TrainerCallback):
            def on_step_end(self, args, state, control, **values):
                state.log_history.clear()  # it is the user's, and grows
                if state.global_step in (state.max_steps // 10, state.max_steps):
                    gc.collect()
                    sizes.append((calls[0], tracemalloc.get_traced_memory()[0], resident()))

        trainer = self.trainer(
            [make(place) for place in range(NUM_FUNCTIONS)], max_steps=self.CALLS // NUM_FUNCTIONS,
            per_device_train_batch_size=2, num_generations=2, max_completion_length=2, logging_steps=10,
            recipe={"train.failed_share_window": 16},  # which the engine keeps the newest results of
            more={"callbacks": [Watch()]},
        )  # fmt: skip
        trainer.pop_callback(trainer._callbacks._handler.callbacks[-1])  # which prints the log
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        trainer.train()
        self.assertEqual(calls[0], self.CALLS)
        (first, traced, size), (last, traced_after, size_after) = sizes
        print(
            f"{first} calls: {traced / MIB:.2f} MiB of Python's objects, {size / MIB:.1f} MiB resident; "
            f"{last} calls: {traced_after / MIB:.2f} and {size_after / MIB:.1f} MiB"
        )
        # A pointer kept by each call would be 0.7 MiB, and a completion's text and ids more than 10 MiB.
        self.assertLess(traced_after - traced, 0.5 * MIB)
        self.assertLess(size_after - size, 8 * MIB)

    def test_trainers_in_a_row(self):
        sizes, kept = [], []

        def once(place):
            def reward(prompts, completions, **columns):
                self.assertIs(box[0].args.seed, 42)
                return hashed(prompts, completions)

            box = []
            trainer = self.trainer(reward, output_dir=os.path.join(self.output, str(place)), max_steps=1)
            box.append(trainer)
            trainer.train()
            kept.append(weakref.ref(trainer))
            kept.extend(weakref.ref(one) for one in trainer.model.parameters())

        for place in range(20):
            once(place)
            gc.collect()
            self.assertEqual({one() for one in kept}, {None})
            sizes.append(resident())
        print("resident after each trainer:", *(f"{size / MIB:.0f}" for size in sizes), "MiB")
        self.assertLess(sizes[-1] - sizes[4], 16 * MIB)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].isdigit():
        MemoryTest.CALLS = int(sys.argv.pop(1))
    unittest.main()
