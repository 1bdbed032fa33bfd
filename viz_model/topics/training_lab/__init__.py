"""Training lab: a small model learns while the visitor watches."""

from viz_model.island import say
from viz_model.island.page import Page, Topic, reads_text
from viz_model.island.tabs import Trials

PAGE = Page(
    "training_lab",
    items=(say.text("lead"), say.leads("backward", "by_backward", lambda config: config.writes)),
    trials=Trials(bugs=("loss", "drop_weights", "leave_out")),
    fits=reads_text,
)
TOPIC = Topic("training_lab", (PAGE,), has_place=False, without=frozenset({"head"}), mixes=True)
