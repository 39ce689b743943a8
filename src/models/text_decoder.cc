// Embed, layers, norm, head. Reference: transformers modeling_qwen2.py, Qwen2ForCausalLM.forward.
#include "models/text_decoder.h"

#include <algorithm>
#include <vector>

#include "kv/pool.h"

namespace verbatim {

// What stands in the table before the audio is added; only where every row is such a sum.
void TextDecoder::show_tokens(Device& dev, const DecodeBatch& batch, const Trace& here) const {
  if (!here.wants("tok_emb")) return;
  std::vector<RowInput> rows(batch.rows().begin(), batch.rows().end());
  const bool are_sums = std::all_of(rows.begin(), rows.end(), [](const RowInput& row) {
    return row.token >= 0 && !row.audio.empty();
  });
  if (!are_sums) return;
  for (RowInput& row : rows) row.audio = {};
  const ArenaScope scratch(dev.arena());
  here("tok_emb", dev.embed(*embed_tokens, rows));
}

void TextDecoder::decode(std::span<const Stage> stages, DecodeBatch& batch,
                         const Trace& trace) const {
  Device& first = *stages.front().device;
  Device& last = *stages.back().device;
  const ArenaScope scratch(last.arena());
  const Spans spans{batch.spans()};
  const Trace top = trace.on(first, spans);
  show_tokens(first, batch, top);
  Tensor x = first.embed(*embed_tokens, batch.rows());
  top("x", x);
  x = transformer->forward(stages, x, batch.spans(), trace);
  if (const Trace dec = trace.at("dec");
      dec.listens() && (dec.wants("norm") || trace.wants("step.dec.norm"))) {
    const ArenaScope all(last.arena());
    dec.on(last, spans)("norm", last.rms_norm(x, norm, rms_norm_eps));
  }
  batch.seek();
  if (!batch.sought().empty()) answer(last, x, batch, trace);
  for (const Span& span : batch.spans()) span.kv->advance(span.rows);
}

void TextDecoder::answer(Device& dev, const Tensor& x, DecodeBatch& batch,
                         const Trace& trace) const {
  const Tensor picked = dev.pick(x, batch.sought());
  const Tensor normed = dev.rms_norm(picked, norm, rms_norm_eps);
  const Spans spans{batch.sought_spans()};
  const Trace here = trace.on(dev, spans);
  const auto count = static_cast<std::size_t>(normed.rows);
  bool needs_logits = here.wants("logits") || here.wants("step.logits");
  bool needs_tokens = false;
  for (const DecodeBatch::Item& item : batch.items()) {
    needs_logits |= item.want == Want::kLogits;
    needs_tokens |= item.want == Want::kToken;
  }
  if (needs_tokens) {
    batch.tokens().resize(count);
    dev.download(std::as_writable_bytes(std::span(batch.tokens())), dev.best(normed, lm_head));
  }
  // The row that decides a token counts among the steps, whichever pass it came from; the last row
  // of a prompt has its own name as well.
  here("step.norm", normed);
  if (needs_logits) {
    const Tensor logits = dev.linear(normed, lm_head);
    here("step.logits", logits);
    if (batch.sought_spans()[0].phase[0] == '\0') here("logits", logits);
    batch.logits_storage().resize(count * static_cast<std::size_t>(logits.cols));
    dev.download(std::as_writable_bytes(std::span(batch.logits_storage())), logits);
  }
  std::size_t row = 0;
  const auto width = static_cast<std::size_t>(lm_head.weight->out_features);
  for (DecodeBatch::Item& item : batch.items()) {
    if (item.want == Want::kNothing) continue;
    if (item.want == Want::kToken) item.token = batch.tokens()[row];
    if (item.want == Want::kLogits) {
      item.logits = std::span(batch.logits_storage()).subspan(row * width, width);
    }
    ++row;
  }
}

}  // namespace verbatim
