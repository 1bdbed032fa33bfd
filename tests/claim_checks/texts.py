"""Texts of many kinds on which all claims are checked: stories, Chinese, code, single tokens, repetition, noise."""

import itertools
import random

NAMES = ("Lily", "Tom", "Anna", "Ben", "a little girl", "the old man", "my sister", "a brave mouse")
DEEDS = (
    "went to the park with a red ball",
    "found a small key under the big tree",
    "wanted to bake a cake but had no eggs",
    "saw a dog that looked very sad",
    "built a house of wood near the sea",
    "lost a shoe in the snow and began to cry",
)
ENDS = ("and was happy.", "because it was late.", "but nobody came.", "so they all laughed together.")
CHINESE = (
    "小兔子在森林里找到一个红苹果。",
    "我爱深度学习",
    "从前有一只猫，它不喜欢下雨。",
    "妈妈说：“快来吃饭吧！”孩子们都跑过来了。",
    "老师问大家，天上的星星有多少颗？",
    "今天天气很好，我们一起去公园玩。",
    "他打开门，看见雪地里有一串小小的脚印。",
    "河边的大树下，坐着一位白胡子老爷爷。",
)
CODE = (
    "def add(a, b):\n    return a + b",
    "for i in range(10):\n    print(i * i)",
    "if x > 0 and y != None: x -= 1",
    "SELECT name FROM users WHERE id = 42;",
    "{'a': [1, 2, 3], 'b': {'c': null}}",
    "import torch; q @ k.T / math.sqrt(d_k)",
)
SINGLE = ("a", "the", "cat", "猫", ".", "7", "🙂", "\n", "X", "Once")
MIXED = (
    "She said 你好 and smiled.",
    "The 猫 sat on the 垫子.",
    "3 + 4 = 7, 五加二等于七",
    "A-B-A-B-A-B 一二一二",
    "小貓喜歡讀書，天天都讀。",  # in traditional characters, which take more tokens than simplified ones
)


def texts() -> list[str]:
    """The same texts every time, 180 of them."""
    chance = random.Random(17)
    # Every name with every deed, and either with every end.
    places = itertools.product(range(len(NAMES)), range(len(DEEDS)))
    stories = [f"{NAMES[i]} {DEEDS[j]} {ENDS[(i + j) % len(ENDS)]}" for i, j in places]
    words = " ".join(stories).split()
    letters = [chr(code) for code in itertools.chain(range(33, 127), range(0x4E00, 0x4E80), range(0x3B1, 0x3C9))]
    found = [*stories, *CHINESE, *CODE, *SINGLE, *MIXED]
    found += [first + second for first, second in itertools.permutations(CHINESE, 2)][:24]
    found += [f"{word} " * n for word in ("the", "cat", "ha", "一", "0") for n in (2, 5, 20, 60)]
    found += [" ".join(chance.choices(words, k=n)) for n in (3, 8, 20, 40, 90) for _ in range(6)]
    found += ["".join(chance.choices(letters, k=n)) for n in (1, 4, 12, 30, 60) for _ in range(4)]
    return [
        *found,
        " ".join(stories)[:900],
        "。".join(CHINESE * 4)[:240],
        f"{NAMES[0]} {DEEDS[3]} {ENDS[0]}",  # the one on which dividing by √K flattens
        *(f"{n}, {n + 1}, {n + 2}," for n in range(6)),
    ]
