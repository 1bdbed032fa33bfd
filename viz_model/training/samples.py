"""Short stories from a small grammar, in English and in Chinese: a text that a tiny model learns something from.

A story chooses who it is about, a friend, a thing and a place, and then tells of them until its end.
Whoever predicts its next word does well to look back at how it began.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Slots = Sequence[Sequence[str]]
"""Sentences of a plot in their order: of each, the ways to say it."""


@dataclass(frozen=True)
class Grammar:
    """The words and plots of one language.

    Attributes:
        people: of each sort of hero the forms of its pronoun, by placeholder, and the names.
        kinds: what such a hero is called at first.
        words: the other choices of a story, by placeholder.
        plots: any one of these is told, between an opening and an ending.
        joint: what stands between sentences.
    """

    people: Mapping[str, tuple[Mapping[str, str], Sequence[str]]]
    kinds: Mapping[str, Sequence[str]]
    words: Mapping[str, Sequence[str]]
    openings: Slots
    plots: Sequence[Slots]
    endings: Slots
    joint: str


def stories(language: str, n: int, seed: int = 0) -> list[str]:
    """``n`` stories in English ("en") or Chinese ("zh"); the same arguments give the same stories.

    Raises:
        ValueError: there is no grammar of the language, or ``n`` is negative.
    """
    if language not in GRAMMARS:
        raise ValueError(f"language: expected one of {', '.join(GRAMMARS)}, got {language!r}")
    if n < 0:
        raise ValueError(f"n: expected a number of at least 0, got {n}")
    rng = random.Random(f"{language} {seed}")
    return [_story(GRAMMARS[language], rng) for _ in range(n)]


def _story(grammar: Grammar, rng: random.Random) -> str:
    said = {name: rng.choice(options) for name, options in grammar.words.items()}
    names: list[str] = []
    for who in ("hero", "friend"):
        sort = rng.choice(list(grammar.people))
        pronouns, known = grammar.people[sort]
        names.append(rng.choice([name for name in known if name not in names]))
        said |= {who: names[-1], f"{who}_kind": rng.choice(grammar.kinds[sort])}
        said |= {f"{who}_{form}": word for form, word in pronouns.items()}
    slots = [*grammar.openings, *rng.choice(grammar.plots), *grammar.endings]
    return grammar.joint.join(rng.choice(ways).format_map(said) for ways in slots)


_ENGLISH = Grammar(
    people={
        "girl": (
            {"she": "she", "She": "She", "her": "her", "them": "her"},
            ("Anna", "Mia", "Lily", "Sara", "Rose", "Nora", "Ella", "Zoe"),
        ),
        "boy": (
            {"she": "he", "She": "He", "her": "his", "them": "him"},
            ("Tom", "Ben", "Max", "Leo", "Sam", "Jack", "Finn", "Hugo"),
        ),
        "animal": (
            {"she": "it", "She": "It", "her": "its", "them": "it"},
            ("Pip", "Dot", "Rusty", "Coco", "Biscuit", "Pepper"),
        ),
    },
    kinds={
        "girl": ("a little girl", "a girl", "a kind girl", "a brave girl", "a quiet girl"),
        "boy": ("a little boy", "a boy", "a clever boy", "a cheerful boy", "a shy boy"),
        "animal": ("a small cat", "a brown dog", "a young fox", "a white rabbit", "a tiny bear"),
    },
    words={
        "thing": (
            *("red ball", "blue kite", "wooden boat", "yellow hat", "silver bell", "paper star"),
            *("green cup", "little drum", "toy car", "music box", "toy train", "round stone"),
        ),
        "place": (
            *("the park", "the river", "the old bridge", "the forest", "the school", "the market"),
            *("the lake", "the garden", "the farm", "the big hill"),
        ),
        "spot": ("the oak tree", "a wooden bench", "the tall grass", "a pile of leaves", "the stairs", "a grey rock"),
        "food": ("warm bread", "apple cake", "honey", "soup", "cookies", "sweet pears"),
        "day": ("One day", "One sunny morning", "One rainy day", "One cold evening", "After school"),
        "mood": ("sad", "worried", "afraid", "very quiet"),
    },
    openings=(
        (
            "Once upon a time, there was {hero_kind} named {hero}.",
            "There once was {hero_kind} whose name was {hero}.",
            "Near {place} lived {hero_kind} named {hero}.",
        ),
        (
            "{hero} had a {thing} and played with it every day.",
            "More than anything, {hero} loved {hero_her} {thing}.",
            "{hero} had a {thing}, and {hero_she} took it everywhere.",
            "{hero} kept a {thing} next to {hero_her} bed.",
        ),
        (
            "{day}, {hero} went to {place}.",
            "{day}, {hero} took the {thing} to {place}.",
            "{day}, {hero} walked to {place} with {hero_her} {thing}.",
        ),
    ),
    plots=(
        (  # lost and found
            (
                "On the way home the {thing} was gone.",
                "{hero_She} looked around, but the {thing} was not there.",
                "Then the wind blew, and the {thing} was lost.",
            ),
            ('"Where is my {thing}?" said {hero}.', "{hero} was {mood}.", "{hero} sat down and felt {mood}."),
            (
                "{friend}, {friend_kind}, came and asked what was wrong.",
                "{friend}, {friend_kind}, saw that {hero} was {mood}.",
                "Then {hero} met {friend}, {friend_kind}.",
            ),
            ('"I will help you look," said {friend}.', '"Do not be {mood}," said {friend}. "We will find it."'),
            (
                "They looked at {place} again, and {friend} looked under {spot}.",
                "{hero} looked everywhere, and {friend} looked behind {spot}.",
            ),
            (
                "There was the {thing}, right under {spot}!",
                '"Here it is!" said {friend}, and gave the {thing} to {hero}.',
            ),
        ),
        (  # broken and mended
            (
                "{hero} fell over {spot}, and the {thing} broke.",
                "The {thing} fell down near {spot} and broke in two.",
            ),
            ('"Oh no, my {thing}!" said {hero}.', "{hero} looked at the broken {thing} and was {mood}."),
            ("{friend} was at {place} too.", "At {place} {hero} met {friend}, {friend_kind}."),
            (
                '"I can mend it," said {friend}, "but I need some time."',
                '"Give me the {thing}," said {friend}. "I know what to do."',
            ),
            (
                "{friend} worked until the evening, and {hero} brought {friend_them} {food}.",
                "While {friend} worked, {hero} sat under {spot} and waited.",
            ),
            (
                "At last the {thing} was as good as new.",
                "When {friend} was done, the {thing} looked better than before.",
            ),
        ),
        (  # sharing
            (
                "{friend}, {friend_kind}, was sitting there all alone.",
                "There {hero_she} saw {friend}, {friend_kind}, next to {spot}.",
            ),
            (
                '"May I play with your {thing}?" asked {friend}.',
                "{friend} looked at the {thing} for a long time.",
                '"What a nice {thing}!" said {friend}.',
            ),
            (
                "At first {hero} did not want to share the {thing}.",
                "{hero} held the {thing} and said nothing.",
                '"No," said {hero}, "the {thing} is mine."',
            ),
            ("Then {friend} was {mood}.", "{friend} went away and felt {mood}."),
            (
                '{hero} thought about it. "Come back, {friend}," {hero_she} said. "We can share the {thing}."',
                'So {hero} said, "I am sorry, {friend}. Let us play with the {thing} together."',
            ),
            (
                "{friend} was so happy that {friend_she} shared {friend_her} {food} with {hero}.",
                "They played with the {thing} near {spot} until it was dark.",
            ),
        ),
        (  # rain and shelter
            ("Suddenly it began to rain.", "Soon dark clouds came, and it started to rain."),
            (
                "{hero} ran to {spot} and hid the {thing} from the rain.",
                "{hero} was {mood}, because the {thing} must not get wet.",
            ),
            ('"Come in!" called a voice. It was {friend}, {friend_kind}.', "{friend}, {friend_kind}, opened a door."),
            (
                "Inside it was warm, and {friend} gave {hero} some {food}.",
                "{friend} made a fire, and they ate {food}.",
            ),
            (
                "{hero} showed {friend} the {thing}.",
                '"What do you have there?" asked {friend}. "It is my {thing}," said {hero}.',
            ),
            ("When the rain was over, the sun came out over {place}.", "They talked and ate until the rain was over."),
        ),
        (  # a present
            (
                "It was the birthday of {friend}, {friend_kind}.",
                "{friend}, {friend_kind}, was ill and had to stay at home.",
            ),
            (
                "{hero} wanted to bring {friend_them} {food}, but there was none.",
                "{hero} had no present and was {mood}.",
            ),
            ("{hero_She} sat under {spot} and thought.", "Then {hero} looked at the {thing} and had an idea."),
            (
                "{hero} put a ribbon on the {thing} and took it to {friend}.",
                '"This {thing} is for you," said {hero} to {friend}.',
            ),
            ('"Your {thing}?" asked {friend}. "But you love it!"', "{friend} could not believe it."),
            ('"I love my friends more than any {thing}," said {hero}.', "They played with the {thing} and ate {food}."),
        ),
        (  # too high
            (
                "The {thing} flew up and landed high in the branches.",
                "A big bird took the {thing} and put it on top of a roof.",
            ),
            ("{hero} jumped, but {hero_she} was too small.", "{hero} could not reach it and was {mood}."),
            ("{friend}, {friend_kind}, came by.", "{hero} called {friend}, who was eating {food} near {spot}."),
            (
                '"Climb on my back, {hero}," said {friend}.',
                '"Let us do it together," said {friend} to {hero}.',
            ),
            ("{hero} climbed up and stretched out for the {thing}.", "One, two, three, and up went {hero}!"),
            ('"I have it!" said {hero}, and held the {thing}.', "Soon the {thing} was back on the ground."),
        ),
    ),
    endings=(
        (
            '"Thank you, {friend}," said {hero}.',
            "{hero} smiled and hugged {friend}.",
            "{hero} and {friend} laughed.",
            "{friend} was happy, and so was {hero}.",
        ),
        (
            "From that day on, {hero} and {friend} were best friends.",
            "{hero} went home with the {thing} and told everyone about {friend}.",
            "And every time {hero} saw the {thing}, {hero_she} thought of {friend}.",
            "The next day, {hero} and {friend} met at {place} again.",
            "That night, {hero} dreamed of {friend} and the {thing}.",
        ),
    ),
    joint=" ",
)

_CHINESE = Grammar(
    people={
        "girl": ({"she": "她"}, ("小美", "小红", "丽丽", "小雨", "晶晶", "小云", "小兰")),
        "boy": ({"she": "他"}, ("小明", "小刚", "大力", "小军", "乐乐", "小杰", "阿宝")),
        "animal": ({"she": "它"}, ("豆豆", "毛毛", "球球", "点点", "花花", "皮皮")),
    },
    kinds={
        "girl": ("一个小女孩", "一个善良的女孩", "一个爱笑的女孩", "一个勇敢的女孩"),
        "boy": ("一个小男孩", "一个聪明的男孩", "一个害羞的男孩", "一个快乐的男孩"),
        "animal": ("一只小猫", "一只小狗", "一只小兔子", "一只小狐狸", "一只小熊"),
    },
    words={
        "thing": (
            *("红皮球", "蓝风筝", "小木马", "黄气球", "银铃铛", "纸星星"),
            *("绿杯子", "布娃娃", "万花筒", "音乐盒", "存钱罐", "小陀螺"),
        ),
        "place": ("公园", "河边", "老桥", "森林", "学校", "集市", "湖边", "花园", "农场", "山坡"),
        "spot": ("大树下", "长椅下", "草丛里", "落叶堆里", "台阶旁", "石头后面"),
        "food": ("面包", "苹果蛋糕", "蜂蜜", "热汤", "饼干", "甜梨"),
        "day": ("有一天", "一个晴朗的早晨", "一个下雨天", "一个寒冷的傍晚", "放学以后"),
        "mood": ("难过", "担心", "害怕", "着急"),
    },
    openings=(
        (
            "从前，有{hero_kind}，名叫{hero}。",
            "很久以前，有{hero_kind}叫{hero}。",
            "在{place}附近，住着{hero_kind}，名字叫{hero}。",
        ),
        (
            "{hero}有一个{thing}，每天都和它玩。",
            "{hero}最喜欢自己的{thing}。",
            "{hero}有一个{thing}，{hero_she}走到哪里都带着。",
            "{hero}总是把{thing}放在床边。",
        ),
        (
            "{day}，{hero}去了{place}。",
            "{day}，{hero}带着{thing}来到{place}。",
            "{day}，{hero}拿着{thing}到{place}玩。",
        ),
    ),
    plots=(
        (  # lost and found
            (
                "回家的路上，{thing}不见了。",
                "{hero_she}看了看四周，可是{thing}不在那里。",
                "忽然刮起一阵大风，{thing}丢了。",
            ),
            ("“我的{thing}在哪里？”{hero}说。", "{hero}很{mood}。", "{hero}坐下来，心里很{mood}。"),
            ("{hero}的朋友{friend}走过来，问出了什么事。", "{friend}是{friend_kind}，{friend_she}看见{hero}很{mood}。"),
            ("“我来帮你找。”{friend}说。", "“别{mood}，”{friend}说，“我们会找到的。”"),
            ("他们又去了{place}，{friend}在{spot}找。", "{hero}到处找，{friend}也在{spot}找。"),
            ("{thing}就在{spot}！", "“在这里！”{friend}说着，把{thing}还给了{hero}。"),
        ),
        (  # broken and mended
            ("{hero}摔了一跤，{thing}坏了。", "{thing}掉在地上，摔成了两半。"),
            ("“哎呀，我的{thing}！”{hero}说。", "{hero}看着坏了的{thing}，很{mood}。"),
            ("{friend}也在{place}。", "在{place}，{hero}遇见了{friend_kind}，名叫{friend}。"),
            ("“我会修，”{friend}说，“不过要等一会儿。”", "“把{thing}给我，”{friend}说，“我有办法。”"),
            ("{friend}一直修到傍晚，{hero}给{friend_she}送来{food}。", "{friend}修的时候，{hero}坐在{spot}等着。"),
            ("{thing}终于修好了。", "{friend}修完了，{thing}比以前还要漂亮。"),
        ),
        (  # sharing
            ("{friend_kind}坐在{spot}，{friend_she}叫{friend}。", "{hero_she}看见{friend}一个人在{spot}。"),
            (
                "“我可以玩你的{thing}吗？”{friend}问。",
                "{friend}看着{thing}，看了很久。",
                "“多好看的{thing}啊！”{friend}说。",
            ),
            ("{hero}不想把{thing}给别人玩。", "{hero}抱着{thing}，不说话。", "“不行，”{hero}说，“{thing}是我的。”"),
            ("{friend}很{mood}。", "{friend}走开了，心里很{mood}。"),
            (
                "{hero}想了想，说：“{friend}，回来吧，我们一起玩{thing}。”",
                "于是{hero}说：“对不起，{friend}，{thing}我们一起玩。”",
            ),
            ("{friend}高兴极了，把自己的{food}分给{hero}吃。", "他们在{spot}玩{thing}，一直玩到天黑。"),
        ),
        (  # rain and shelter
            ("忽然下起雨来。", "不一会儿，乌云来了，下起了大雨。"),
            ("{hero}跑到{spot}，不让{thing}淋湿。", "{hero}很{mood}，因为{thing}不能淋湿。"),
            (
                "“快进来！”有人喊。原来是{friend_kind}，名叫{friend}。",
                "{friend}是{friend_kind}，{friend_she}打开了门。",
            ),
            ("屋里很暖和，{friend}给{hero}吃{food}。", "{friend}生了火，他们一起吃{food}。"),
            ("{hero}把{thing}拿给{friend}看。", "“你拿的是什么？”{friend}问。“是我的{thing}。”{hero}说。"),
            ("雨停了，太阳照着{place}。", "他们一边说一边吃，雨慢慢停了。"),
        ),
        (  # a present
            (
                "这天是{friend}的生日，{friend_she}是{friend_kind}。",
                "{friend}是{friend_kind}，{friend_she}生病了，只能待在家里。",
            ),
            ("{hero}想带些{food}去，可是一点也没有了。", "{hero}没有礼物，很{mood}。"),
            ("{hero_she}坐在{spot}想了很久。", "{hero}看了看{thing}，有了主意。"),
            ("{hero}给{thing}系上彩带，送给了{friend}。", "“这个{thing}送给你。”{hero}对{friend}说。"),
            ("“你的{thing}？”{friend}问，“你不是最喜欢它吗？”", "{friend}不敢相信。"),
            ("“比起{thing}，我更喜欢朋友。”{hero}说。", "他们一起玩{thing}，一起吃{food}。"),
        ),
        (  # too high
            ("{thing}飞了起来，落在高高的树枝上。", "一只大鸟叼走了{thing}，放在屋顶上。"),
            ("{hero}跳了又跳，可是{hero_she}太矮了。", "{hero}够不着，很{mood}。"),
            ("{friend_kind}走了过来，{friend_she}叫{friend}。", "{hero}去叫{friend}，{friend_she}正在{spot}吃{food}。"),
            ("“{hero}，爬到我背上来。”{friend}说。", "“我们一起来吧。”{friend}对{hero}说。"),
            ("{hero}爬上去，伸手去拿{thing}。", "一，二，三，{hero}上去了！"),
            ("“拿到了！”{hero}举着{thing}说。", "不一会儿，{thing}就回到了地上。"),
        ),
    ),
    endings=(
        (
            "“谢谢你，{friend}。”{hero}说。",
            "{hero}笑了，抱住{friend}。",
            "{hero}和{friend}都笑了。",
            "{friend}很高兴，{hero}也很高兴。",
        ),
        (
            "从那天起，{hero}和{friend}成了最好的朋友。",
            "{hero}带着{thing}回到家，把{friend}的事告诉了大家。",
            "每次看见{thing}，{hero}都会想起{friend}。",
            "第二天，{hero}和{friend}又在{place}见面了。",
            "那天晚上，{hero}梦见了{friend}和{thing}。",
        ),
    ),
    joint="",
)

GRAMMARS: dict[str, Grammar] = {"en": _ENGLISH, "zh": _CHINESE}
