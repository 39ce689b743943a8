// What the files call things: Mistral's names and the two spellings of transformers. Sections 1.5
// and 1.6 of the specification.
#pragma once

#include <string>

#include "models/voxtral/config.h"

namespace verbatim::voxtral {

struct Names {
  std::string conv1, conv2;  // below them "weight" and "bias"
  std::string encoder;       // where "layers.0" is a child
  std::string encoder_norm;
  std::string linear1, linear2;  // of the adapter
  std::string decoder;           // where "layers.0" is a child; may be empty
  std::string embed_tokens;
  std::string norm;
  std::string lm_head;    // empty: no such tensor, the table is the head
  std::string ignored;    // a tensor that is known and not needed; empty: none
  const char* ada1 = "";  // below a decoder layer
  const char* ada2 = "";
  TransformerNames encoder_layer;
  TransformerNames decoder_layer;
};

// Looks at what the checkpoint holds; throws kNotFound naming the tensor that decides.
Names names_of(const Checkpoint& checkpoint, const Config& config);

}  // namespace verbatim::voxtral
