"""A reward that differs from completion to completion: a hash of the token ids, in [0, 1]. TRL and Cohort's reward type
`python` call it alike."""

import zlib


def hash_reward(completion_ids, **columns):
    return [zlib.crc32(",".join(map(str, ids)).encode()) / 0xFFFFFFFF for ids in completion_ids]
