#!/usr/bin/env python3
"""Hours of audio through the binary: nothing is lost, and memory stays flat.

The decoder's rows are as wide as the released model's (3584) and everything else is small, so that what an hour needs
beyond weights and KV is what it would need there. Slow: `./test --full` runs it.

    VERBATIM=build/release/verbatim python3 tests/e2e/long_audio.py
"""

import array
import json
import os
import random
import shutil
import struct
import subprocess
import tempfile
import unittest
import wave

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("VERBATIM", os.path.join(ROOT, "build", "release", "verbatim"))
RATIOS = [2, 2, 4, 5, 5, 8]
FILTERS, HIDDEN, HEADS, KV_HEADS, HEAD_DIM, INTER, VOCAB = 2, 3584, 28, 4, 128, 64, 896


def tensors():
    """Names, shapes and spreads of a checkpoint with one decoder layer, in the original names."""
    for name, latent in (("acoustic", 8), ("semantic", 16)):
        top = f"model.{name}_tokenizer.encoder."
        for stage in range(7):
            width = FILTERS << stage
            before = 1 if stage == 0 else width // 2
            kernel = 7 if stage == 0 else 2 * RATIOS[stage - 1]
            down = f"{top}downsample_layers.{stage}.0.conv.conv."
            yield down + "weight", [width, before, kernel]
            yield down + "bias", [width]
            block = f"{top}stages.{stage}.0."
            for vector in ("norm.weight", "ffn_norm.weight", "gamma", "ffn_gamma"):
                yield block + vector, [width]
            yield block + "mixer.conv.conv.conv.weight", [width, 1, 7]
            yield block + "mixer.conv.conv.conv.bias", [width]
            yield block + "ffn.linear1.weight", [4 * width, width]
            yield block + "ffn.linear1.bias", [4 * width]
            yield block + "ffn.linear2.weight", [width, 4 * width]
            yield block + "ffn.linear2.bias", [width]
        yield top + "head.conv.conv.weight", [latent, FILTERS << 6, 7]
        yield top + "head.conv.conv.bias", [latent]
        connector = f"model.{name}_connector."
        yield connector + "fc1.weight", [HIDDEN, latent]
        yield connector + "fc1.bias", [HIDDEN]
        yield connector + "norm.weight", [HIDDEN]
        yield connector + "fc2.weight", [HIDDEN, HIDDEN]
        yield connector + "fc2.bias", [HIDDEN]
    model = "model.language_model."
    yield model + "embed_tokens.weight", [VOCAB, HIDDEN]
    layer = model + "layers.0."
    yield layer + "input_layernorm.weight", [HIDDEN]
    yield layer + "post_attention_layernorm.weight", [HIDDEN]
    for name, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS)):
        yield f"{layer}self_attn.{name}_proj.weight", [heads * HEAD_DIM, HIDDEN]
        yield f"{layer}self_attn.{name}_proj.bias", [heads * HEAD_DIM]
    yield layer + "self_attn.o_proj.weight", [HIDDEN, HEADS * HEAD_DIM]
    yield layer + "mlp.gate_proj.weight", [INTER, HIDDEN]
    yield layer + "mlp.up_proj.weight", [INTER, HIDDEN]
    yield layer + "mlp.down_proj.weight", [HIDDEN, INTER]
    yield model + "norm.weight", [HIDDEN]
    yield "lm_head.weight", [VOCAB, HIDDEN]


def write_checkpoint(folder):
    header, offset = {}, 0
    for name, shape in tensors():
        count = 1
        for extent in shape:
            count *= extent
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [offset, offset + 2 * count]}
        offset += 2 * count
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    draw = random.Random(1)
    # bfloat16 values of about 0.02, one sign in two: enough for a forward pass that stays finite.
    noise = array.array("H", (0x3C00 + draw.randrange(0x100) | draw.randrange(2) << 15 for _ in range(1 << 16)))
    block = noise.tobytes()
    with open(os.path.join(folder, "model.safetensors"), "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        left = offset
        while left > 0:
            out.write(block[: min(left, len(block))])
            left -= len(block)
    encoder = {
        "causal": True, "channels": 1, "encoder_n_filters": FILTERS, "encoder_ratios": RATIOS[::-1],
        "encoder_depths": "1-1-1-1-1-1-1", "layernorm_eps": 1e-5, "fix_std": 0.0, "std_dist_type": "none",
    }
    config = {
        "model_type": "vibevoice",
        "architectures": ["VibeVoiceForASRTraining"],
        "acoustic_tokenizer_config": {**encoder, "vae_dim": 8},
        "semantic_tokenizer_config": {**encoder, "vae_dim": 16},
        "decoder_config": {
            "model_type": "qwen2", "hidden_size": HIDDEN, "intermediate_size": INTER, "num_hidden_layers": 1,
            "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "vocab_size": VOCAB,
            "max_position_embeddings": 131072, "rms_norm_eps": 1e-6, "rope_theta": 1e6, "hidden_act": "silu",
        },
    }
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as out:
        json.dump(config, out)
    nano = os.path.join(ROOT, "models", "vibevoice-asr-nano", "tokenizer.json")
    shutil.copy(nano, os.path.join(folder, "tokenizer.json"))


def write_noise(path, seconds):
    draw = random.Random(2)
    second = array.array("h", (draw.randrange(-3000, 3000) for _ in range(24000))).tobytes()
    with wave.open(path, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(24000)
        for _ in range(seconds):
            out.writeframes(second)


class LongAudio(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="verbatim-long-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.model = os.path.join(self.folder, "model")
        os.mkdir(self.model)
        write_checkpoint(self.model)

    def transcribe(self, seconds):
        clip = os.path.join(self.folder, "noise.wav")
        stats = os.path.join(self.folder, "stats.json")
        write_noise(clip, seconds)
        done = subprocess.run(
            [BINARY, "transcribe", "--model", self.model, "--max-new-tokens", "8", "--quiet", "--format", "json",
             "--stats-json", stats, clip],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        # The answer was cut at eight tokens, which the result says.
        self.assertEqual(done.returncode, 3, done.stderr)
        with open(stats, encoding="utf-8") as text:
            return json.loads(done.stdout), json.load(text)

    def test_an_hour_needs_less_than_500_mib_beyond_weights_and_kv(self):
        result, stats = self.transcribe(3600)
        memory = stats["memory"]
        beyond = memory["peak_bytes"] - memory["weights_bytes"] - memory["kv_bytes"]
        print(f"an hour: {beyond / 2**20:.0f} MiB beyond weights and KV, peak {memory['peak_bytes'] / 2**20:.0f} MiB")
        self.assertLess(beyond, 500 * 2**20)
        self.assertEqual(result["usage"]["seconds"], 3600)
        frames = [stage["tokens"] for stage in stats["files"][0]["stages"] if stage["stage"] == "encode"]
        self.assertEqual(frames, [27000])

    def test_two_hours_are_transcribed_in_one_piece(self):
        result, stats = self.transcribe(7200)
        self.assertEqual(result["usage"]["seconds"], 7200)
        frames = [stage["tokens"] for stage in stats["files"][0]["stages"] if stage["stage"] == "encode"]
        self.assertEqual(frames, [54000])


if __name__ == "__main__":
    unittest.main()
