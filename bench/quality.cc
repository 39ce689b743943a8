// verbatim-bench quality: words and decisions that a format costs.
#include "bench/quality.h"

#include <cstdio>

#include "audio/source.h"
#include "base/error.h"
#include "base/json.h"
#include "bench/commands.h"

namespace verbatim {
namespace {

constexpr const char* kNanos[] = {"models/vibevoice-asr-nano", "models/voxtral-realtime-nano"};

double percent(std::int64_t part, std::int64_t of) {
  return of > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(of) : 0;
}

double mib(std::size_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

void print_heading(const QualityBench& bench, const std::string& model) {
  std::printf("%s: %zu recordings, %.1f s, %lld words\n", model.c_str(), bench.clips().size(),
              bench.audio_s(), static_cast<long long>(bench.stored().truth.expected));
  std::printf("%-32s %9s %8s %6s %6s %11s %11s\n", "format", "MiB", "errors %", "lost", "added",
              "decisions %", "divergence");
}

std::string change_text(const WordError& error) {
  if (error.expected.empty()) return "+" + error.found;
  return error.expected + " > " + (error.found.empty() ? "-" : error.found);
}

std::string changes_text(const WordErrors& errors) {
  std::string text;
  for (const WordError& error : errors.errors) append_listed(text, change_text(error));
  return text;
}

// Of what is said, where anybody knows it.
std::string errors_text(const WordErrors& errors) {
  if (errors.expected == 0) return "-";
  return formatted("%.2f",
                   percent(static_cast<std::int64_t>(errors.errors.size()), errors.expected));
}

void print_row(const QualityRow& row) {
  std::printf("%-32s %9.2f %8s %6lld %6lld %11.3f %11.2e\n", row.text().c_str(),
              mib(row.weights_bytes), errors_text(row.truth).c_str(),
              static_cast<long long>(row.dense.lost()), static_cast<long long>(row.dense.added()),
              100 * row.agreement.share(), row.agreement.mean_divergence());
  if (!row.dense.errors.empty()) std::printf("    %s\n", changes_text(row.dense).c_str());
  std::fflush(stdout);
}

std::string json_of(const QualityRow& row) {
  std::string text = formatted(
      R"({"decoder":"%s","encoder":"%s","head":"%s","weights_bytes":%zu,"words":%lld,)"
      R"("errors":%zu,"lost":%lld,"added":%lld,"decisions":%lld,"same_decisions":%lld,)"
      R"("divergence":%s,"changes":[)",
      row.quant.decoder.text().c_str(), row.quant.encoder.text().c_str(),
      row.quant.head.text().c_str(), row.weights_bytes, static_cast<long long>(row.truth.expected),
      row.truth.errors.size(), static_cast<long long>(row.dense.lost()),
      static_cast<long long>(row.dense.added()), static_cast<long long>(row.agreement.decisions),
      static_cast<long long>(row.agreement.same),
      json_number(row.agreement.mean_divergence()).c_str());
  for (std::size_t i = 0; i < row.dense.errors.size(); ++i) {
    const WordError& error = row.dense.errors[i];
    text +=
        (i > 0 ? ",[" : "[") + json_string(error.expected) + "," + json_string(error.found) + "]";
  }
  return text + "]}";
}

std::vector<Quantization> wanted(const QualityBenchOptions& options) {
  if (options.formats.empty() && options.encoder.empty() && options.head.empty())
    return all_quantizations();
  std::vector<Quantization> all;
  const std::vector<std::string> none{"none"};
  for (const std::string& format : options.formats.empty() ? none : options.formats) {
    all.push_back({weight_choice("--quant", format),
                   weight_choice("--encoder-quant", options.encoder),
                   weight_choice("--head-quant", options.head)});
  }
  return all;
}

void bench_model(const QualityBenchOptions& options, const std::string& model, std::string& json) {
  EngineOptions engine;
  engine.model = model;
  engine.tokenizer = options.tokenizer;
  engine.isa = options.isa;
  engine.threads = options.threads;
  engine.kv = options.kv;
  const QualityBench bench(engine, quality_files(model, options.recordings));
  if (options.json) {
    json += (json.empty() ? "" : ",") + formatted(R"({"model":%s,"recordings":%zu,"audio_s":%s,)",
                                                  json_string(model).c_str(), bench.clips().size(),
                                                  json_number(bench.audio_s()).c_str());
    json += R"("formats":[)" + json_of(bench.stored());
  } else {
    print_heading(bench, model);
    print_row(bench.stored());
  }
  for (const Quantization& quant : wanted(options)) {
    const QualityRow row = bench.run(quant);
    if (options.json) {
      json += "," + json_of(row);
    } else {
      print_row(row);
    }
  }
  if (options.json) json += "]}";
}

}  // namespace

std::string QualityRow::text() const {
  std::string all = quant.decoder.text();
  if (quant.encoder) append_listed(all, "encoder " + quant.encoder.text());
  if (quant.head) append_listed(all, "head " + quant.head.text());
  return all;
}

std::vector<Quantization> all_quantizations() {
  std::vector<Quantization> all;
  for (const Recipe& recipe : recipes()) {
    const WeightChoice usual{&recipe, recipe.group};
    all.push_back({usual, {}, {}});
    for (const std::int32_t group : {32, 64}) {
      if (recipe.takes_group && recipe.group > group && recipe.group == 128)
        all.push_back({{&recipe, group}, {}, {}});
    }
  }
  const WeightChoice encoder = weight_choice("--encoder", "w8a8");
  all.push_back({{}, encoder, {}});
  for (const char* name : {"nf4", "int4", "int8", "w8a8", "w4a8"})
    all.push_back({weight_choice("--quant", name), encoder, {}});
  for (const Recipe& recipe : recipes()) {
    const WeightChoice each{&recipe, recipe.group};
    all.push_back({each, each, each});
  }
  return all;
}

QualityBench::QualityBench(const EngineOptions& options, const std::vector<std::string>& files)
    : options_(options) {
  for (const std::string& file : files) {
    AudioRequest request;
    request.what = file;
    options_.expected_audio_s =
        std::max(options_.expected_audio_s, audio_facts(request).duration_s);
  }
  QualityModel model(options_);
  for (const std::string& file : files) {
    clips_.push_back(read_quality_clip(file, model.sample_rate_hz()));
    spoken_.push_back(model.speak(clips_.back().pcm));
  }
  sample_rate_hz_ = model.sample_rate_hz();
  stored_ = measure(model, {});
}

double QualityBench::audio_s() const {
  double samples = 0;
  for (const QualityClip& clip : clips_) samples += static_cast<double>(clip.pcm.size());
  return samples / sample_rate_hz_;
}

QualityRow QualityBench::run(const Quantization& quant) const {
  EngineOptions options = options_;
  options.quant = quant;
  QualityModel model(options);
  return measure(model, quant);
}

QualityRow QualityBench::measure(QualityModel& model, const Quantization& quant) const {
  QualityRow row;
  row.quant = quant;
  row.weights_bytes = model.weights_bytes();
  for (std::size_t i = 0; i < clips_.size(); ++i) {
    const QualityClip& clip = clips_[i];
    const Spoken spoken = model.speak(clip.pcm);
    row.dense.append(word_errors(spoken_[i].words, spoken.words));
    if (clip.truth) row.truth.append(word_errors(*clip.truth, spoken.words));
    row.agreement.append(model.follow(clip.pcm, spoken_[i].decisions));
  }
  return row;
}

int bench_quality(const QualityBenchOptions& options) {
  std::vector<std::string> models{options.model};
  if (options.model.empty()) models.assign(std::begin(kNanos), std::end(kNanos));
  std::string json;
  for (const std::string& model : models) bench_model(options, model, json);
  if (options.json) std::printf("[%s]\n", json.c_str());
  return 0;
}

}  // namespace verbatim
