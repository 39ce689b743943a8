// Bytes of a file, of memory or of a pipe, read forward through one buffer with a look ahead.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace verbatim {

// Where the bytes come from.
class ByteSupply {
 public:
  virtual ~ByteSupply() = default;
  // At least one byte, or 0 at the end. Throws kIo or kCancelled.
  virtual std::size_t read(std::span<std::byte> to) = 0;
  // Nothing where it cannot seek.
  virtual std::optional<std::uint64_t> size() const { return std::nullopt; }
  virtual void seek(std::uint64_t) {}
  // The bytes are all read and right; throws when the supply knows better (a decoder that failed).
  virtual void finish() {}
};

class ByteInput {
 public:
  ByteInput(std::unique_ptr<ByteSupply> supply, std::string name);

  // Fills `to`; fewer bytes only at the end.
  std::size_t read(std::span<std::byte> to);
  // What is there, at least one unit of `unit` bytes and whole units; less than a unit at the end.
  std::size_t read_units(std::span<std::byte> to, std::size_t unit);
  // The next bytes without taking them, at most `count` <= 64 KiB; fewer only at the end.
  std::span<const std::byte> peek(std::size_t count);
  // Moves on by up to `count` bytes; returns by how many. Beyond the end of a file it stops there.
  std::uint64_t skip(std::uint64_t count);
  // Only where size() is known.
  void seek(std::uint64_t position);
  std::uint64_t position() const { return position_; }
  std::optional<std::uint64_t> size() const { return supply_->size(); }
  const std::string& name() const { return name_; }
  void finish() { supply_->finish(); }

 private:
  std::unique_ptr<ByteSupply> supply_;
  std::string name_;
  std::vector<std::byte> window_;  // bytes read ahead are [first_, last_)
  std::size_t first_ = 0;
  std::size_t last_ = 0;
  std::uint64_t position_ = 0;
};

// Throws kNotFound, kIo, or kInvalidArgument for a folder. file >= 0: that descriptor, which stays
// open and whose own position is neither used nor moved where it is a regular file. live_end: as
// AudioRequest says.
std::unique_ptr<ByteInput> open_input(const std::string& path, int file,
                                      const std::atomic<bool>* live_end = nullptr);
// `memory` must outlive the input.
std::unique_ptr<ByteInput> memory_input(std::span<const std::byte> memory, std::string name);

}  // namespace verbatim
