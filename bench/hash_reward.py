"""A reward that differs from completion to completion: a hash of the token ids, in [0, 1].

As a program it answers one JSON line per JSON line, the protocol of Cohort's `command` reward.
"""

import json
import sys
import zlib


def hash_reward(completion_ids):
    return zlib.crc32(",".join(map(str, completion_ids)).encode()) / 0xFFFFFFFF


if __name__ == "__main__":
    for line in sys.stdin:
        print(hash_reward(json.loads(line)["completion_ids"]), flush=True)
