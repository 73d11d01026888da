#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "protocol/layer.h"

namespace native_runner {

// The layers of a run, in the order in which they were put up, as its audit lists them; and the
// caller's own options that opened some. A plain value.
class LayerRecord {
 public:
  LayerRecord() = default;
  LayerRecord(std::initializer_list<Layer> layers) : first_(layers) {}

  bool operator==(const LayerRecord&) const = default;
  bool IsEmpty() const { return first_.empty() && opened_.empty() && later_.empty(); }
  bool Has(Layer layer) const;

  // Adds what is not there yet.
  void Add(Layer layer);
  void Add(std::span<const Layer> layers);
  void Add(const LayerRecord& others);
  void AddEnforced(LayerSet enforced);  // of the launcher's report
  void Remove(LayerSet layers);

  // An option of the caller's, with its operands, that opens something.
  void AddOpened(std::string option) { opened_.push_back(std::move(option)); }

  // "opened:OPTION" for each of these.
  std::vector<std::string> OpenedNames() const;

  // As in audits: layers, options, and the layers that were added after those.
  std::vector<std::string> Names() const;

 private:
  std::vector<Layer> first_;
  std::vector<std::string> opened_;
  std::vector<Layer> later_;
};

}  // namespace native_runner
