#pragma once

namespace native_runner {

// What of a transaction's directory says what commands have changed, and is in a checkpoint's too:
// a tree, and a file that goes with it.
struct KeptNames {
  const char* tree;
  const char* list;
  bool is_copy;
};

// As overlayfs keeps it, and what the host had there (ledger.h).
inline constexpr KeptNames kOverlayNames = {"upper", "ledger", false};

// A copy of the workspace, and what that was when it was made (copy_manifest.h). What the host had
// then is the same at each checkpoint.
inline constexpr KeptNames kCopyNames = {"tree", "copies", true};

}  // namespace native_runner
