#pragma once

#include "launcher/text/errno_text.h"
#include "launcher/text/fixed_text.h"
#include "protocol/layer.h"

namespace native_runner {

// Why a run may not start: goes out as a report of kind kRefused. Each text begins with the layer
// that could not be had, by the name that audits use, or says which part of the set-up failed.
struct Refusal {
  int error = 0;               // errno, 0 where no system call failed
  bool no_directory = false;   // the order's directory can't be entered
  bool shared_mounts = false;  // kOrderOwnMounts does not hold
  bool no_clone = false;       // a template's clone could not be made
  FixedText<128> text;

  // Always false, so that checks can end with `return refusal->Because(...)`.
  bool Because(const char* what) {
    text.Add(what);
    return false;
  }
  // `result` is what a system call returned, -errno.
  bool Because(const char* what, long result) {
    error = static_cast<int>(-result);
    text.Add(what).Add(": ").Add(ErrnoText(error));
    return false;
  }
  bool Because(Layer layer, const char* what) { return Of(layer).Because(what); }
  bool Because(Layer layer, long result) { return Because(LayerName(layer), result); }
  bool Because(Layer layer, const char* what, long result) {
    return Of(layer).Because(what, result);
  }

 private:
  Refusal& Of(Layer layer) {
    text.Add(LayerName(layer)).Add(": ");
    return *this;
  }
};

}  // namespace native_runner
