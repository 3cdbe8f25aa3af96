"""A small study of each paper, answered by models of known behaviour: each table and figure has content."""

import math
from importlib.metadata import EntryPoint

from tests.papers.planted import chance

from quaver import open_studies
from quaver.core import registry
from quaver.core.calls import Response, Token
from quaver.core.model import Abilities


class Planted:
    """Right but for a share of its answers, silent in a few, and as sure as its name says."""

    abilities = Abilities(
        logprobs=20, constraint=True, seed=True, decoding=frozenset({"top_p"}), continues=True, local=True
    )

    def __init__(self, name="planted", wrong=0.2):
        self._name, self._wrong = name, wrong

    def identity(self):
        """What is served."""
        return f"{self._name} {self._wrong}"

    def provenance(self):
        """What a reviewer wants to know."""
        return {"engine": "planted"}

    def prepare(self, repeats):
        """Nothing to make ready."""

    def answer(self, requests):
        """Answer each call for itself."""
        for request in requests:
            prompt = "\n".join(message.content for message in request.prompt.messages)
            counted = {"prompt_tokens": len(prompt.split()), "completion_tokens": 3}
            yield (
                request,
                [Response(*self._said(request, prompt, call.repeat), **counted) for call in request.calls],
            )

    def _said(self, request, prompt, repeat):
        """A text, and where log-probabilities are asked for its ending, no error, no thinking, its tokens."""
        right = "A" if "side A" in prompt else "B"
        other = "AB"[right == "A"]
        last = request.prompt.messages[-1].content
        draw = chance(self._name, prompt, repeat)
        harder = sum(word in prompt for word in ("Please", "Hard", "Which of", "{Hard}"))
        given = other if draw < self._wrong * (1 + harder) else right
        if request.decoding.logprobs:
            sure = 0.5 + 0.45 * chance("sure", self._name, prompt)
            top = (
                (given, math.log(0.9 * sure)),
                (other if given == right else right, math.log(0.9 * (1 - sure))),
            )
            seen = top if draw > 0.1 else top[:1]
            return given, "stop", None, None, (Token(given, top[0][1], seen),)
        if "how certain" in last or "percentage" in last:
            if draw > 0.95:
                return ("Very.",)
            return (
                f"{60 + int(39 * draw)}%"
                if "%" in last or "per cent" in last
                else f"{0.6 + 0.39 * draw:.2f}",
            )
        if not request.choices and draw > 0.93:
            return ("I cannot say.",)
        if "step" in prompt.lower() and not request.choices:
            return (f"Let us see. Final answer: {given}",)
        return (given,)

    def count_tokens(self, prompts):
        """One a word."""
        return [sum(len(message.content.split()) for message in prompt) for prompt in prompts]

    def close(self):
        """Nothing to let go of."""


MODELS = """\
  models:
    - {name: small, use: planted, wrong: 0.25, price: {input: 1.0, output: 2.0}}
    - {name: large, use: planted, wrong: 0.12, price: {input: 5.0, output: 10.0}}
  task:
    labels:
      - {code: A, name: A, definition: On the left side.}
      - {code: B, name: B, definition: On the right side.}
  items: {id: id, text: "{{ text }}", gold: gold, sample: 10}
studies:
  first: {items: {source: first.csv}}
  second: {items: {source: second.csv}}
"""
PROMPT = "  prompt: {instruction: Which side is it?, postfix: Answer A or B.}\n"
STUDIES = {
    "barrie-2025": PROMPT
    + """\
  variants: [{use: paraphrases, engine: file, path: words.csv}]
  decoding:
    again: {temperature: 0.1, repeats: 6, only: {paraphrase: original}}
    reworded: {temperature: 0.1, repeats: 2}
""",
    "errica-2025": PROMPT
    + """\
  variants:
    - {use: prompts, factor: strategy, prompts: {simple: {}, detailed: {definitions: true}}}
    - {use: paraphrases, engine: file, path: words.csv}
""",
    "karmakar-2026": PROMPT
    + """\
  variants:
    - use: prompts
      factor: perturbation
      prompts:
        paraphrase: {instruction: Left or right?}
        moved: {layout: "{{ question }}\\n\\n{{ text }}"}
        examples: {examples: 3}
        reasoning: {postfix: "Reason first. Then write Answer: A or B.", max_tokens: 256}
        bare: {layout: "{{ text }}\\n{{ postfix }}", instruction: "", postfix: "Label (A, B):"}
  evaluators:
    - answer_markers
    - first_character
    - constrained
    - {use: logprob, of: first_token}
    - {use: logprob, of: first_token, name: raw, normalised: false}
    - {use: verbal_confidence, name: decimal, label: answer_markers}
    - {use: verbal_confidence, name: percentage, label: answer_markers, of: verbal_percentage}
  measures:
    - {use: spread, by: [model], evaluator: answer_markers, sizes: {small: 1, large: 8}}
    - use: readiness
      by: [model]
      second: first_character
      token: logprob
      stated: decimal
      thresholds: {accuracy: 0.5}
""",
    "choices-and-temperature": PROMPT
    + """\
  variants:
    - use: prompts
      factor: treatment
      prompts: {T0: {max_tokens: 8}, T1: {postfix: Hard now.}}
  decoding:
    at: {temperature: [0.2, 0.5, 1.0], repeats: 3}
  evaluators: [first_label]
""",
    "atreja-2025": PROMPT
    + """\
  variants:
    - use: factors
      factors: {definition: ["no", "yes"], explanation: ["no", "yes"]}
      parts:
        why: {text: Please say why., when: {explanation: "yes"}}
""",
}
WORDS = """\
paraphrase,temperature
Left or right?,0.5
Name the side.,0.5
{Hard} to say which?,5.0
Which of both?,5.0
"""
SIZE = 16


def written(code, folder):
    """A paper's small study, not yet run."""
    for name in ("first", "second"):
        rows = [f"{at},{name} text {at} on side {'AB'[at % 2]},{'AB'[at % 2]}" for at in range(SIZE)]
        (folder / f"{name}.csv").write_text("id,text,gold\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (folder / "words.csv").write_text(WORDS, encoding="utf-8")
    path = folder / f"{code}.yaml"
    text = f"shared:\n{STUDIES[code]}{MODELS}"
    path.write_text(f"name: {code}\n{text}", encoding="utf-8")
    return path


def run(code, folder):
    """A paper's small study, run; the planted model is registered until the file's tests end."""
    entry = EntryPoint("planted", "tests.papers.small:Planted", "quaver.models")
    registry._entries("models")["planted"] = entry  # as an installed package would
    studies = open_studies(written(code, folder))
    for study in studies.values():
        study.run()
    return studies
