// For tests: a checkpoint folder of the tree, written to a scratch folder with a few things
// changed.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/scratch_folder.h"
#include "checkpoint/checkpoint.h"
#include "checkpoint/write_safetensors.h"

namespace verbatim {

class ChangedCheckpoint {
 public:
  explicit ChangedCheckpoint(const std::string& folder)
      : from_(std::make_unique<Checkpoint>(Checkpoint::open(folder))) {
    for (const char* file : {"config.json", "params.json", "preprocessor_config.json",
                             "processor_config.json", "tekken.json"}) {
      if (const boost::json::value* value = from_->json(file)) files_[file] = *value;
    }
    if (from_->has_file("tokenizer.json")) {
      std::filesystem::copy_file(from_->path("tokenizer.json"), to_->path("tokenizer.json"));
    }
    for (const RawTensor& raw : from_->tensors())
      tensors.push_back({raw.name, raw.type, raw.shape, raw.bytes});
  }

  std::vector<NamedTensor> tensors;

  NamedTensor& tensor(std::string_view name) {
    for (NamedTensor& each : tensors) {
      if (each.name == name) return each;
    }
    ADD_FAILURE() << "no tensor " << name;
    return tensors.front();
  }
  void drop(std::string_view name) {
    EXPECT_EQ(std::erase_if(tensors, [&](const NamedTensor& each) { return each.name == name; }),
              1U)
        << name;
  }
  void remove_file(const std::string& file) {
    files_.erase(file);
    std::filesystem::remove(to_->path(file));
  }
  // path: "decoder_config.hidden_size"; what is not there is made.
  void set(const std::string& file, std::string_view path, std::string_view json) {
    value_at(file, path) = parse_json(json, "the test");
  }
  void erase(const std::string& file, std::string_view path) {
    const std::size_t dot = path.rfind('.');
    boost::json::value& parent =
        dot == std::string_view::npos ? files_[file] : value_at(file, path.substr(0, dot));
    const std::string_view last = dot == std::string_view::npos ? path : path.substr(dot + 1);
    EXPECT_EQ(parent.as_object().erase({last.data(), last.size()}), 1U) << path;
  }
  boost::json::value& json(const std::string& file) { return files_[file]; }

  // The folder as it is now; written at each call. The tensors go where the config's file says.
  std::string write() const {
    for (const auto& [file, value] : files_) {
      const auto text = boost::json::serialize(value);
      to_->write(file, std::string_view(text.data(), text.size()));
    }
    std::vector<NamedTensor> all = tensors;
    const std::byte one[] = {std::byte{1}};
    if (all.empty()) all.push_back({"alone", RawType::kU8, {1}, one});
    const bool is_mistral = files_.count("params.json") == 1;
    write_safetensors(to_->path(is_mistral ? "consolidated.safetensors" : "model.safetensors"),
                      all);
    return to_->path();
  }

 private:
  boost::json::value& value_at(const std::string& file, std::string_view path) {
    boost::json::value* at = &files_[file];
    while (!path.empty()) {
      const std::size_t dot = std::min(path.find('.'), path.size());
      if (!at->is_object()) at->emplace_object();
      at = &at->get_object()[{path.data(), dot}];
      path.remove_prefix(std::min(dot + 1, path.size()));
    }
    return *at;
  }

  std::unique_ptr<Checkpoint> from_;
  std::unique_ptr<ScratchFolder> to_ = std::make_unique<ScratchFolder>();
  std::map<std::string, boost::json::value> files_;
};

}  // namespace verbatim

namespace verbatim::vibevoice {

constexpr const char* kNano = "models/vibevoice-asr-nano";
constexpr const char* kGolden = "tests/golden/vibevoice-asr/";

}  // namespace verbatim::vibevoice

namespace verbatim::voxtral {

constexpr const char* kNano = "models/voxtral-realtime-nano";
constexpr const char* kGolden = "tests/golden/voxtral-realtime/";

}  // namespace verbatim::voxtral
