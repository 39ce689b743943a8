#!/usr/bin/env python3
"""Holds a checkpoint that `verbatim quantize` wrote against the packages whose formats it is in.

    check_quantized.py DENSE QUANTISED [--load CLASS]

DENSE is the folder it was made from. For every weight that was made anew
  - the package's own code decodes the stored tensors; the result is compared, bit by bit, with the
    format's definition (code times scale), which is what verbatim computes with;
  - the package's own code quantises the dense weight where it has the same rule (bitsandbytes NF4,
    compressed-tensors int8 by the largest value); codes and scales that differ are counted;
  - the error against the dense weight is measured, and that of the package's own scales.
All other tensors have to be the same bytes. With --load the folder is loaded as that class of
transformers, and each Linear has to hold the decoded weight, or the dense one.

Needs torch, safetensors, bitsandbytes, compressed-tensors and, for --load, transformers; no build
and no test of this project does. Exits 1 where anything differs that should not."""

import argparse
import json
import pathlib
import sys

import safetensors.torch
import torch

NF4_STATE = ".weight.quant_state.bitsandbytes__nf4"


def tensors_of(folder):
    files = sorted(folder.glob("model*.safetensors")) or sorted(folder.glob("consolidated*.safetensors"))
    if (folder / "params.json").exists() and (folder / "consolidated.safetensors").exists():
        files = [folder / "consolidated.safetensors"]
    found = {}
    for file in files:
        found.update(safetensors.torch.load_file(file))
    return found


def config_of(folder):
    name = "params.json" if (folder / "consolidated.safetensors").exists() else "config.json"
    return json.loads((folder / name).read_text())["quantization_config"]


class Report:
    def __init__(self):
        self.failures = []
        self.weights = 0
        self.elements = 0
        self.same_rule = False
        self.codes_differ = 0
        self.scales_differ = 0
        self.wrong = self.all = self.theirs = 0.0

    def expect(self, holds, what):
        if not holds:
            self.failures.append(what)

    def error(self, dense, made, theirs):
        dense = dense.double()
        self.wrong += float(((made.double() - dense) ** 2).sum())
        self.theirs += float(((theirs.double() - dense) ** 2).sum())
        self.all += float((dense ** 2).sum())


def nf4_values(packed, state):
    """By the format's definition: blocks run over the flat matrix, across rows."""
    flat, count = packed.flatten(), state.shape.numel()
    codes = torch.stack((flat >> 4, flat & 15), dim=1).flatten()[:count].long()
    return (state.code[codes] * state.absmax[torch.arange(count) // 64]).reshape(state.shape)


def check_nf4(name, parts, dense, report):
    import bitsandbytes.functional as bnb

    state = bnb.QuantState.from_dict({k: v for k, v in parts.items() if k != f"{name}.weight"},
                                     device=torch.device("cpu"))
    packed = parts[f"{name}.weight"]
    report.expect(state.shape == dense.shape and state.dtype == dense.dtype, f"{name}: its state")
    exact = nf4_values(packed, state)
    # Where 64 does not divide the rows its CPU kernel restarts the blocks at each of them.
    if dense.shape[1] % 64 == 0:
        theirs = bnb.dequantize_4bit(packed, state)
        report.expect(torch.equal(theirs, exact.to(dense.dtype)), f"{name}: decoded differently")
    report.same_rule = True
    again, its = bnb.quantize_4bit(dense.contiguous(), blocksize=64, quant_type="nf4")
    report.codes_differ += int((again.flatten() != packed.flatten()).sum())
    report.scales_differ += int((its.absmax != state.absmax).sum())
    report.error(dense, exact, nf4_values(again, its))
    return exact.to(dense.dtype)


def scheme_of(name, config, ignored):
    from compressed_tensors.quantization import QuantizationScheme
    from compressed_tensors.utils.match import match_name

    report = [group for group in config["config_groups"].values()
              if any(t == "Linear" or match_name(name, t) for t in group["targets"])]
    if len(report) != 1 or any(match_name(name, pattern) for pattern in ignored):
        return None
    return QuantizationScheme(**report[0])


def check_compressed(name, parts, dense, config, report):
    from compressed_tensors.compressors import IntQuantizationCompressor, PackedQuantizationCompressor
    from compressed_tensors.quantization.utils import calculate_qparams

    scheme = scheme_of(name, config, config["ignore"])
    report.expect(scheme is not None, f"{name}: not meant by exactly one group of the config")
    if scheme is None:
        return None
    packed = config["format"] == "pack-quantized"
    compressor = PackedQuantizationCompressor if packed else IntQuantizationCompressor
    local = {key[len(name) + 1:]: value for key, value in parts.items()}
    theirs = compressor.decompress(dict(local), scheme)["weight"]
    wide = dict(local)
    wide["weight_scale"] = local["weight_scale"].float()
    exact = compressor.decompress(wide, scheme)["weight"]

    bits = scheme.weights.num_bits
    if packed:
        words = local["weight_packed"].long() & 0xFFFFFFFF
        shifts = torch.arange(0, 32, bits)
        codes = (words[..., None] >> shifts & (1 << bits) - 1).flatten(1)[:, : dense.shape[1]] - (1 << bits - 1)
        report.expect(local["weight_shape"].tolist() == list(dense.shape), f"{name}: weight_shape")
    else:
        codes = local["weight"].long()
    scale = local["weight_scale"].float().repeat_interleave(dense.shape[1] // local["weight_scale"].shape[1], 1)
    ours = codes.float() * scale
    report.expect(torch.equal(exact.float(), ours), f"{name}: decoded differently")
    report.expect(torch.equal(theirs, ours.to(theirs.dtype)), f"{name}: decoded differently in {theirs.dtype}")

    grouped = dense.reshape(dense.shape[0], -1, scheme.weights.group_size or dense.shape[1])
    its_scale, _ = calculate_qparams(grouped.amin(-1), grouped.amax(-1), scheme.weights)
    wide_scale = its_scale.float().repeat_interleave(grouped.shape[2], 1)
    its_codes = torch.clamp(torch.round(dense.float() / wide_scale), -(1 << bits - 1), (1 << bits - 1) - 1)
    if bits == 8:
        report.same_rule = True
        report.codes_differ += int((its_codes != codes).sum())
        report.scales_differ += int((its_scale != local["weight_scale"]).sum())
    report.error(dense, ours, its_codes * wide_scale)
    return theirs


def made_weights(dense, made):
    """(name, parts, dense weight) of every weight that was made anew."""
    for key in sorted(dense):
        if key in made and made[key].dtype == dense[key].dtype:
            continue
        name = key.removesuffix(".weight")
        parts = {k: v for k, v in made.items() if k.startswith(name + ".weight")}
        yield name, parts, dense[key]


def check_kept(dense, made, report):
    kept = 0
    for key, value in dense.items():
        if key in made and made[key].dtype == value.dtype:
            kept += 1
            report.expect(made[key].shape == value.shape and torch.equal(
                made[key].flatten().view(torch.uint8), value.flatten().view(torch.uint8)), f"{key}: changed")
    return kept


def held(module):
    """The matrix by which a loaded layer multiplies."""
    if hasattr(module, "quantization_scheme"):
        from compressed_tensors.compressors import decompress_module

        decompress_module(module)
    elif hasattr(module.weight, "quant_state"):
        return nf4_values(module.weight.data, module.weight.quant_state).to(module.weight.quant_state.dtype)
    return module.weight.detach()


def check_loaded(folder, dense_folder, class_name, decoded, report):
    """Every Linear of the model holds what was decoded; the others what they held."""
    import transformers

    kind = getattr(transformers, class_name)
    plain = kind.from_pretrained(dense_folder, dtype="auto")
    dense = {n: m.weight.detach() for n, m in plain.named_modules() if isinstance(m, torch.nn.Linear)}
    model = kind.from_pretrained(folder, dtype="auto", device_map="cpu")
    # Files and classes have other names in front.
    expected = {name[name.index("layers."):]: value for name, value in decoded.items()}
    compared = kept = 0
    for name, module in model.named_modules():
        if name not in dense:
            continue
        wanted = dense[name]
        if "language_model.layers." in name and name[name.index("layers."):] in expected:
            wanted = expected[name[name.index("layers."):]]
            compared += 1
        else:
            kept += 1
        report.expect(torch.equal(held(module).float(), wanted.float()), f"{name}: {class_name} holds another weight")
    print(f"  {class_name} holds {compared} quantised and {kept} dense Linear layers as stored")
    report.expect(compared == len(decoded), f"{class_name} has {compared} of {len(decoded)} quantised layers")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dense", type=pathlib.Path)
    parser.add_argument("quantised", type=pathlib.Path)
    parser.add_argument("--load", metavar="CLASS")
    given = parser.parse_args()
    report = Report()
    dense, made = tensors_of(given.dense), tensors_of(given.quantised)
    config = config_of(given.quantised)
    kept = check_kept(dense, made, report)
    decoded = {}
    for name, parts, weight in made_weights(dense, made):
        if f"{name}{NF4_STATE}" in parts:
            decoded[name] = check_nf4(name, parts, weight, report)
        else:
            decoded[name] = check_compressed(name, parts, weight, config, report)
        report.weights += 1
        report.elements += weight.numel()
    print(f"{given.quantised}: {config['quant_method']} {config.get('format', '')}: {report.weights} weights "
          f"({report.elements} elements), {kept} other tensors")
    print("  decoded by the package as the definition says")
    if report.same_rule:
        print(f"  of the package's own quantiser {report.codes_differ} codes and {report.scales_differ} scales differ")
    if report.all > 0:
        print(f"  error {(report.wrong / report.all) ** 0.5:.5f} of the weights, by the package's own scales "
              f"{(report.theirs / report.all) ** 0.5:.5f}")
    if given.load:
        check_loaded(given.quantised, given.dense, given.load, decoded, report)
    for failure in report.failures[:20]:
        print("  FAILED " + failure)
    sys.exit(1 if report.failures else 0)


if __name__ == "__main__":
    main()
