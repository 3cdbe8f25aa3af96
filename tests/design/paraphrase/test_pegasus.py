"""A small Pegasus made on the spot, with random weights: loading, batching and sentences are real."""

import pytest
from tests.extras import needs

from quaver.core.records import Label, LabelSet, Variant
from quaver.design.paraphrase.meaning import sentences
from quaver.design.paraphrase.paraphraser import Draft, PromptContext
from quaver.design.paraphrase.pegasus import TEMPERATURES, Pegasus
from quaver.errors import ModelError, SpecError, Unavailable


def _needs(tests):
    for mark in needs("pegasus"):
        tests = mark(tests)
    return tests


LABELS = LabelSet((Label("pos", "positive"), Label("neg", "negative")))
TWO = "Is the opinion in this text positive or negative?  Do not guess."
SAID = """is the opinion in this text positive or negative do not guess a an of it what good bad say
which one and but if where tell me view like likes hate mood tone"""


def context(instruction, home):
    prompt = Variant(
        "", {}, "", "{{ text }}\n{{ question }}", "{{ text }}", instruction, "", {"pos": "p", "neg": "n"}
    )
    return PromptContext(prompt, LABELS, 5, home=home)


class NoCalls:
    """Pegasus asks no model of the study; it says when it begins."""

    def __init__(self):
        self.begun = []

    def begin(self, what):
        self.begun.append(what)

    def ask(self, model, prompt, decoding, seed, count):
        raise AssertionError("no model is asked")


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A folder with a model in the form in which a real one would stand there."""
    import tokenizers
    import torch
    import transformers

    folder = tmp_path_factory.mktemp("pegasus")
    vocabulary = {
        word: at
        for at, word in enumerate(
            ["<pad>", "</s>", "<unk>", "<mask_1>", "<mask_2>", "?", ".", ",", *SAID.split()]
        )
    }
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    made.normalizer = tokenizers.normalizers.Lowercase()
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A </s>", special_tokens=[("</s>", vocabulary["</s>"])]
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    torch.manual_seed(0)
    config = transformers.PegasusConfig(
        vocab_size=len(vocabulary),
        d_model=16,
        encoder_layers=1,
        decoder_layers=1,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        max_position_embeddings=64,
        pad_token_id=0,
        eos_token_id=1,
        decoder_start_token_id=0,
        forced_eos_token_id=None,
    )
    model = transformers.PegasusForConditionalGeneration(config)
    with torch.no_grad():  # random weights hardly ever say that they have ended
        model.final_logits_bias[0, 1] = 1.5
        model.final_logits_bias[0, [0, 2, 3, 4]] = -100.0
    model.save_pretrained(folder / "tiny")
    tokenizer.save_pretrained(folder / "tiny")
    return folder


@_needs
class TestOnRandomWeights:
    @pytest.mark.parametrize("beams", [1, 4])
    def test_paraphrases_come_at_every_temperature(self, home, beams):
        work, draft = NoCalls(), Draft(TWO)
        engine = Pegasus(model="tiny", temperatures=[0.7, 1.5], k=3, beams=beams, tries=40)
        found = engine.reword(context(TWO, home), draft, work)
        assert [one.name for one in found] == ["t0.7-1", "t0.7-2", "t0.7-3", "t1.5-1", "t1.5-2", "t1.5-3"]
        assert len({one.text for one in found}) == 6
        assert {one.covariates["paraphrase_temperature"] for one in found} == {0.7, 1.5}
        assert all(one.origin["sentences"] == 2 for one in found)
        assert all("  " in one.text for one in found)  # what stands between the sentences stays
        assert len(work.begun) == 2

    def test_the_same_seed_gives_the_same_paraphrases(self, home):
        made = [
            Pegasus(model="tiny", temperatures=[1.0], k=3, beams=1, tries=40).reword(
                context(TWO, home), Draft(TWO), NoCalls()
            )
            for _ in range(2)
        ]
        assert made[0] == made[1]

    def test_a_sentence_with_a_placeholder_stays_as_it_is(self, home):
        text = "Is {{ item.name }} good? Do not guess."
        engine = Pegasus(model="tiny", temperatures=[1.0], k=2, beams=1, tries=40)
        for one in engine.reword(context(text, home), Draft(text), NoCalls()):
            assert one.text.startswith(text.removesuffix("Do not guess."))
            assert one.text != text

    def test_an_instruction_of_placeholders_alone_is_one_error(self, home):
        text = "Is {{ item.name }} good?"
        with pytest.raises(SpecError, match="has a placeholder"):
            Pegasus(model="tiny", k=1, temperatures=[1.0]).reword(context(text, home), Draft(text), NoCalls())

    def test_a_sentence_that_is_too_long_is_one_error_and_never_cut_off(self, home):
        endless = " ".join(["good"] * 80)
        engine = Pegasus(model="tiny", temperatures=[1.0], k=1, beams=1, tries=100)
        with pytest.raises(SpecError, match="60 tokens"):
            engine.reword(context(endless, home), Draft(endless), NoCalls())

    def test_too_few_is_one_error_that_says_how_many(self, home):
        engine = Pegasus(model="tiny", temperatures=[0.01], k=5, beams=1, tries=1)
        with pytest.raises(ModelError, match=r"[0-4] of 5 .*0\.01"):
            engine.reword(context(TWO, home), Draft(TWO), NoCalls())

    def test_a_model_that_is_not_there_is_one_error(self, home, monkeypatch):
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        with pytest.raises(Unavailable, match="cannot be loaded"):
            Pegasus(model="./nowhere", k=1).reword(context(TWO, home), Draft(TWO), NoCalls())


def test_the_default_grid_is_the_papers():
    assert (len(TEMPERATURES), TEMPERATURES[0], TEMPERATURES[-1]) == (25, 0.1, 5.0)
    assert len(set(TEMPERATURES)) == 25


def test_temperature_0_is_not_sampling():
    with pytest.raises(SpecError, match="is sampled"):
        Pegasus(temperatures=[0.0], k=1)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("One. Two!  Three?", ["One. ", "Two!  ", "Three?"]),
        ("Say e.g. yes. Or no", ["Say e.g. yes. ", "Or no"]),
        ("It costs 3.5 dollars. Dr. Who asks.", ["It costs 3.5 dollars. ", "Dr. Who asks."]),
        ("A line\nanother", ["A line\n", "another"]),
        ("", []),
    ],
)
def test_sentences_lose_nothing(text, cut):
    assert sentences(text) == cut
    assert "".join(sentences(text)) == text
