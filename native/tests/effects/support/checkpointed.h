#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "effects/checkpoint/checkpoints.h"
#include "effects/checkpoint/rollback.h"
#include "tests/effects/support/changed_project.h"
#include "tests/effects/support/listing.h"

namespace native_runner {

// A transaction with changes, whose directory has all that one has on disk.
class Checkpointed {
 public:
  Checkpointed() {
    const std::string state = at().place().Path("state");
    std::filesystem::create_directories(state + "/work");
    ledger_.looked_ns = 7;
  }

  const Overlay& at() const { return project_.overlay(); }
  int state() const { return state_.get(); }
  bool Has(const std::string& name) const { return at().place().Has("state/" + name); }

  Result<CheckpointRecord> Make(const std::string& name = "") const {
    return MakeCheckpoint(state(), name, ledger_);
  }
  std::vector<std::string> Ids() const {
    std::vector<std::string> ids;
    const auto records = ListCheckpoints(state());
    EXPECT_TRUE(records);
    if (!records) return ids;
    for (const CheckpointRecord& record : records.value())
      ids.push_back(record.id);
    return ids;
  }

  // What comes after the checkpoint, a bit of everything.
  void ChangeMore() const {
    namespace fs = std::filesystem;
    at().Change("a", "later");
    at().Change("later/deep/file", "new");
    fs::remove_all(at().Upper("made"));
    fs::remove(at().Upper("link"));
    fs::create_symlink("elsewhere", at().Upper("link"));
    chmod(at().Upper("dir").c_str(), 0711);
    at().place().Write("state/ledger", "another");
  }

  std::map<std::string, std::string> Upper() const { return ListingOf(at().Upper()); }
  std::string Ledger() const { return at().place().Read("state/ledger"); }
  std::string KeptLedger() const { return EncodeLedger(ledger_); }

  // Nothing that only a rollback under way has.
  void ExpectTidy() const {
    for (const char* name : {"rollback", "next-upper", "next-ledger", "old-upper"})
      EXPECT_FALSE(Has(name)) << name;
    EXPECT_TRUE(Has("upper"));
    EXPECT_TRUE(Has("work"));
  }

 private:
  ChangedProject project_;
  Descriptor state_ = project_.State();
  native_runner::Ledger ledger_;
};

}  // namespace native_runner
