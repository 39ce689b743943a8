"""Writes the seeds of fuzz_wav into corpus/wav beside this file: one small file per path of the reader."""
import pathlib
import struct

FOLDER = pathlib.Path(__file__).parent / "corpus" / "wav"
TAIL = bytes.fromhex("000000001000800000aa00389b71")
W64_RIFF = b"riff" + bytes.fromhex("2e91cf11a5d628db04c10000")
W64_TAIL = bytes.fromhex("f3acd3118cd100c04f8edb8a")


def fmt(tag=1, channels=1, rate=16000, bits=16):
    block = channels * ((bits + 7) // 8)
    return struct.pack("<HHIIHH", tag, channels, rate, rate * block, block, bits)


def chunk(name, body, size=None):
    padded = body + b"\0" * (len(body) % 2)
    return name + struct.pack("<I", len(body) if size is None else size) + padded


def riff(*chunks, name=b"RIFF"):
    body = b"WAVE" + b"".join(chunks)
    return name + struct.pack("<I", len(body)) + body


def w64(name, body, size=None):
    data = name + W64_TAIL + struct.pack("<Q", 24 + len(body) if size is None else size) + body
    return data + b"\0" * (-len(data) % 8)


def seeds():
    data = bytes(range(48))
    for name, keys in {
        "u8": {"bits": 8}, "s16": {}, "s24": {"bits": 24}, "s32": {"bits": 32, "channels": 2},
        "f32": {"tag": 3, "bits": 32}, "f64": {"tag": 3, "bits": 64, "channels": 3},
        "alaw": {"tag": 6, "bits": 8}, "mulaw": {"tag": 7, "bits": 8}, "adpcm": {"tag": 2, "bits": 4},
    }.items():
        yield name, riff(chunk(b"fmt ", fmt(**keys)), chunk(b"data", data))
    extensible = fmt(0xFFFE, 2, 48000, 24) + struct.pack("<HHIH", 22, 20, 3, 1) + TAIL
    yield "extensible", riff(chunk(b"fmt ", extensible), chunk(b"data", data))
    yield "unknown", riff(chunk(b"fmt ", fmt()), chunk(b"data", data, 0xFFFFFFFF))
    yield "zero", riff(chunk(b"fmt ", fmt()), chunk(b"data", b"", 0), chunk(b"LIST", b"odd"))
    yield "lying", riff(chunk(b"fmt ", fmt()), chunk(b"data", data, 1 << 30))
    yield "late", riff(chunk(b"JUNK", b"odd"), chunk(b"data", data), chunk(b"fmt ", fmt()))
    sizes = struct.pack("<QQQI", 0, len(data), len(data) // 2, 0)
    yield "rf64", riff(chunk(b"ds64", sizes), chunk(b"fmt ", fmt()), chunk(b"data", data, 0xFFFFFFFF),
                       name=b"RF64")
    yield "w64", (W64_RIFF + struct.pack("<Q", 200) + b"wave" + W64_TAIL + w64(b"fmt ", fmt())
                  + w64(b"junk", b"abc") + w64(b"data", data))


FOLDER.mkdir(parents=True, exist_ok=True)
for name, data in seeds():
    (FOLDER / name).write_bytes(data)
