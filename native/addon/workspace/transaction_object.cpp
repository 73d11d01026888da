#include "addon/workspace/transaction_object.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "addon/environment/background_work.h"
#include "addon/values/value_builder.h"
#include "policy/transaction/change.h"
#include "supervise/host/program.h"
#include "workspace/commit/choose.h"
#include "workspace/commit/commit.h"
#include "workspace/transaction/transaction_directory.h"

namespace native_runner {
namespace {

constexpr std::size_t kNumbers = 8;
constexpr int kConflict = 1;
constexpr int kTarget = 2;
constexpr int kFrom = 4;
constexpr int kVersion = 8;
constexpr double kNsPerMs = 1e6;

const char* KindName(Change::Kind kind) {
  switch (kind) {
    case Change::Kind::kAdded:
      return "added";
    case Change::Kind::kModified:
      return "modified";
    case Change::Kind::kDeleted:
      return "deleted";
    case Change::Kind::kRenamed:
      return "renamed";
  }
  return "";
}

const char* TypeName(Change::Type type) {
  switch (type) {
    case Change::Type::kFile:
      return "file";
    case Change::Type::kDirectory:
      return "directory";
    case Change::Type::kSymlink:
      return "symlink";
    case Change::Type::kOther:
      return "other";
  }
  return "";
}

const char* StateName(ListedTransaction::State state) {
  switch (state) {
    case ListedTransaction::State::kOpen:
      return "open";
    case ListedTransaction::State::kClosed:
      return "closed";
    case ListedTransaction::State::kTorn:
      return "torn";
  }
  return "";
}

// Names as in types/transaction.d.ts; nullptr for kNothing.
const char* RecoveredName(Recovered recovered) {
  switch (recovered) {
    case Recovered::kNothing:
      return nullptr;
    case Recovered::kRolledBack:
      return "rolled-back";
    case Recovered::kCompleted:
      return "completed";
    case Recovered::kTorn:
      return "torn";
  }
  return nullptr;
}

napi_value ChangeValue(ValueBuilder& builder, const Change& change) {
  napi_value value = builder.Object();
  const auto number = [&](const char* key, std::uint64_t given) {
    builder.Set(value, key, builder.Number(static_cast<double>(given)));
  };
  builder.Set(value, "path", builder.String(change.path));
  builder.Set(value, "kind", builder.String(KindName(change.kind)));
  builder.Set(value, "type", builder.String(TypeName(change.type)));
  number("size", change.size);
  number("previousSize", change.previous_size);
  number("mode", change.mode);
  number("previousMode", change.previous_mode);
  if (change.kind == Change::Kind::kRenamed) {
    builder.Set(value, "from", builder.String(change.from));
  }
  if (change.type == Change::Type::kSymlink && change.mode != 0) {
    builder.Set(value, "target", builder.String(change.target));
  }
  if (change.conflict) builder.Set(value, "conflict", builder.Boolean(true));
  return value;
}

}  // namespace

napi_value ChangesValue(ValueBuilder& builder, const std::vector<Change>& changes) {
  std::vector<napi_value> values;
  values.reserve(changes.size());
  for (const Change& change : changes)
    values.push_back(ChangeValue(builder, change));
  return builder.Array(values);
}

PackedChanges Pack(const std::vector<Change>& changes, bool has_versions) {
  PackedChanges packed;
  packed.numbers.reserve(changes.size() * kNumbers);
  for (const Change& change : changes) {
    const bool has_target = change.type == Change::Type::kSymlink && change.mode != 0;
    packed.text += change.path;
    packed.text += '\0';
    const bool has_from = change.kind == Change::Kind::kRenamed;
    if (has_from) {
      packed.text += change.from;
      packed.text += '\0';
    }
    if (has_target) {
      packed.text += change.target;
      packed.text += '\0';
    }
    if (has_versions) {
      packed.text += VersionOf(change);
      packed.text += '\0';
    }
    const int flags = (change.conflict ? kConflict : 0) | (has_target ? kTarget : 0) |
                      (has_from ? kFrom : 0) | (has_versions ? kVersion : 0);
    for (const double number :
         {static_cast<double>(change.kind), static_cast<double>(change.type),
          static_cast<double>(change.size), static_cast<double>(change.previous_size),
          static_cast<double>(change.mode), static_cast<double>(change.previous_mode),
          static_cast<double>(flags), static_cast<double>(change.changed_ns) / kNsPerMs})
      packed.numbers.push_back(number);
  }
  return packed;
}

napi_value PackedChangesValue(ValueBuilder& builder, const PackedChanges& packed) {
  napi_value value = builder.Object();
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(packed.numbers.data());
  builder.Set(value, "text", builder.String(packed.text));
  builder.Set(value, "numbers", builder.CopiedBytes(bytes, packed.numbers.size() * sizeof(double)));
  return value;
}

napi_value CheckpointValue(ValueBuilder& builder, const CheckpointRecord& record) {
  napi_value value = builder.Object();
  builder.Set(value, "id", builder.String(record.id));
  builder.Set(value, "name", builder.String(record.name));
  builder.Set(value, "createdMs",
              builder.Number(static_cast<double>(record.created_ns) / kNsPerMs));
  return value;
}

napi_value CheckpointsValue(ValueBuilder& builder, const std::vector<CheckpointRecord>& records) {
  std::vector<napi_value> values;
  values.reserve(records.size());
  for (const CheckpointRecord& record : records)
    values.push_back(CheckpointValue(builder, record));
  return builder.Array(values);
}

napi_value ListedValue(ValueBuilder& builder, const ListedTransaction& listed) {
  const TransactionRecord& record = listed.record;
  napi_value value = builder.Object();
  builder.Set(value, "id", builder.String(record.id));
  builder.Set(value, "workspace", builder.String(record.workspace));
  const double created_ms = static_cast<double>(record.created_ns) / kNsPerMs;
  builder.Set(value, "createdMs", builder.Number(created_ms));
  builder.Set(value, "backend", builder.String(record.backend));
  builder.Set(value, "state", builder.String(StateName(listed.state)));
  if (const char* recovered = RecoveredName(listed.recovered)) {
    builder.Set(value, "recovered", builder.String(recovered));
  }
  if (!record.parent.empty()) builder.Set(value, "parent", builder.String(record.parent));
  if (listed.has_commit) builder.Set(value, "committed", builder.Boolean(true));
  return value;
}

napi_value SpaceValue(ValueBuilder& builder, const SpaceReport& report) {
  const auto number = [&builder](napi_value value, const char* key, std::uint64_t bytes) {
    builder.Set(value, key, builder.Number(static_cast<double>(bytes)));
  };
  std::vector<napi_value> values;
  values.reserve(report.each.size());
  for (const TransactionSpace& space : report.each) {
    napi_value value = builder.Object();
    builder.Set(value, "id", builder.String(space.id));
    number(value, "bytes", space.bytes);
    number(value, "sharedBytes", space.shared_bytes);
    number(value, "changesBytes", space.changes_bytes);
    number(value, "checkpointsBytes", space.checkpoints_bytes);
    number(value, "homeBytes", space.home_bytes);
    builder.Set(value, "isWhole", builder.Boolean(space.is_whole));
    values.push_back(value);
  }
  napi_value value = builder.Object();
  builder.Set(value, "each", builder.Array(values));
  number(value, "totalBytes", report.total_bytes);
  return value;
}

napi_value OpenedValue(ValueBuilder& builder, const Transaction& opened) {
  napi_value value = builder.Object();
  builder.Set(value, "id", builder.String(opened.id()));
  builder.Set(value, "backend", builder.String(opened.backend()));
  const std::string& parent = opened.parent();
  if (!parent.empty()) builder.Set(value, "parent", builder.String(parent));
  const std::string& reason = opened.backend_reason();
  if (!reason.empty()) builder.Set(value, "backendReason", builder.String(reason));
  if (const auto& copied = opened.copied()) {
    napi_value counts = builder.Object();
    builder.Set(counts, "files", builder.Number(static_cast<double>(copied->files)));
    builder.Set(counts, "bytes", builder.Number(static_cast<double>(copied->bytes)));
    builder.Set(value, "copied", counts);
  }
  if (const char* recovered = RecoveredName(opened.recovered())) {
    builder.Set(value, "recovered", builder.String(recovered));
  }
  return value;
}

napi_value MergePlanValue(ValueBuilder& builder, const MergePlan& plan) {
  constexpr std::array kVerdicts = {"theirs", "merge", "conflict"};
  std::vector<napi_value> steps;
  steps.reserve(plan.size());
  for (const MergeStep& step : plan) {
    napi_value value = builder.Object();
    builder.Set(value, "path", builder.String(step.path));
    builder.Set(value, "verdict",
                builder.String(kVerdicts.at(static_cast<std::size_t>(step.verdict))));
    builder.Set(value, "reason", builder.String(step.reason));
    builder.Set(value, "mode", builder.Number(step.mode));
    builder.Set(value, "removed", builder.String(step.removed));
    const auto bytes = [&](const char* key, const std::optional<std::string>& text) {
      if (!text) return;
      const auto* data = reinterpret_cast<const std::uint8_t*>(text->data());
      builder.Set(value, key, builder.CopiedBytes(data, text->size()));
    };
    bytes("base", step.base);
    bytes("ours", step.ours);
    bytes("theirs", step.theirs);
    steps.push_back(value);
  }
  return builder.Array(steps);
}

MakeValue CommitValue(Transaction::CommitResult result) {
  PackedChanges committed = Pack(result.committed);
  PackedChanges left = Pack(result.left);
  return [result = std::move(result), committed = std::move(committed),
          left = std::move(left)](ValueBuilder& builder) {
    napi_value value = builder.Object();
    builder.Set(value, "committed", PackedChangesValue(builder, committed));
    builder.Set(value, "digests", builder.Strings(result.digests));
    builder.Set(value, "left", PackedChangesValue(builder, left));
    builder.Set(value, "conflicts", ChangesValue(builder, result.conflicts));
    builder.Set(value, "unexpected", builder.Strings(result.unexpected));
    builder.Set(value, "refused", ChangesValue(builder, result.refused));
    return value;
  };
}

namespace {

void ReadContents(Fields& fields, GivenContents* contents) {
  fields.Objects("contents", [contents](Fields& each) {
    std::string path = each.RequiredString("path");
    auto data = each.BytesOrText("data");
    if (!data) each.FailMissing("data", "a string or a Uint8Array");
    contents->insert_or_assign(std::move(path), data.value_or(std::vector<std::uint8_t>()));
  });
}

void ReadExpected(Fields& fields, CommitRequest* request) {
  if (!fields.Value("expected")) return;
  auto& expected = request->expected.emplace();
  fields.Objects("expected", [&expected](Fields& each) {
    std::string path = each.RequiredString("path");
    expected.insert_or_assign(std::move(path), each.RequiredString("version"));
  });
}

// Reads the paths in a field. Absent: every path, or with `else_none` no path.
PathFilter ReadPaths(Fields& fields, const char* field = "paths", bool else_none = false) {
  const auto paths = fields.Strings(field);
  if (!paths && !else_none) return PathFilter();
  auto filter = PathFilter::Of(paths.value_or(std::vector<std::string>()), field);
  if (filter) return std::move(*filter);
  fields.reader().Fail(filter.error());
  return PathFilter();
}

// Reads { paths, exact, allowProtected, protectedNames, homes, contents, expected }: the last two
// are arrays of { path, data } and { path, version }.
CommitRequest ReadCommitRequest(Fields& fields) {
  CommitRequest request;
  request.paths = ReadPaths(fields);
  if (fields.Boolean("exact").value_or(false)) request.paths = request.paths.Exactly();
  request.allowed = ReadPaths(fields, "allowProtected", true);
  request.protected_names = fields.RequiredStrings("protectedNames");
  request.homes = fields.RequiredStrings("homes");
  ReadContents(fields, &request.contents);
  ReadExpected(fields, &request);
  return request;
}

// Reads another transaction; nullptr: the field is absent, or is none, which fails the reader.
std::shared_ptr<Transaction> ReadOther(Fields& fields, const char* field) {
  const auto value = fields.Value(field);
  return value ? ReadTransaction(fields.reader(), *value) : nullptr;
}

constexpr std::uint64_t kMostMode = 0177777;

// Reads an array of { path, mode, contents }.
std::vector<MergeRequest::File> ReadMergedFiles(Fields& fields, const char* field) {
  std::vector<MergeRequest::File> files;
  fields.Objects(field, [&files](Fields& each) {
    MergeRequest::File file;
    file.path = each.RequiredString("path");
    file.mode = static_cast<std::uint32_t>(each.Integer("mode", 0, kMostMode).value_or(0));
    file.contents = each.BytesOrText("contents");
    files.push_back(std::move(file));
  });
  return files;
}

// Reads { theirs, files, removed, paths }: the first two are arrays of { path, mode } and of
// { path, mode, contents }.
MergeRequest ReadMergeRequest(Fields& fields) {
  MergeRequest request;
  fields.Objects("theirs", [&request](Fields& each) {
    MergeRequest::Theirs theirs;
    theirs.path = each.RequiredString("path");
    theirs.mode = static_cast<std::uint32_t>(each.Integer("mode", 0, kMostMode).value_or(0));
    request.theirs.push_back(std::move(theirs));
  });
  request.files = ReadMergedFiles(fields, "files");
  request.removed = fields.Strings("removed").value_or(std::vector<std::string>());
  request.paths = ReadPaths(fields);
  return request;
}

constexpr napi_type_tag kTransactionTag = {0x6f70656e61676e74, 0x7472616e73616374};

// Holds the transaction once it is open; shared with the work that opens it.
struct Place {
  std::shared_ptr<Transaction> transaction;
};

Result<MakeValue> Nothing() {
  return MakeValue([](ValueBuilder& builder) { return builder.Undefined(); });
}

Error NotOpen() {
  return Error{ErrorCode::kClosed, "the transaction is not open", ""};
}

constexpr std::uint64_t kDefaultMostBytes = std::uint64_t{2} << 30U;
constexpr std::uint64_t kMostBytes = (std::uint64_t{1} << 53U) - 1;  // the largest exact number

Transaction::Backend ReadBackend(Fields& fields) {
  constexpr std::array kBackends = {Transaction::Backend::kAuto, Transaction::Backend::kOverlay,
                                    Transaction::Backend::kCopy};
  return kBackends.at(fields.OneOf("backend", {"auto", "overlay", "copy"}).value_or(0));
}

// A TransactionHandle (types/addon-transaction.d.ts). JavaScript thread; the transaction's work
// runs on other threads.
class TransactionObject : public Napi::ObjectWrap<TransactionObject> {
 public:
  explicit TransactionObject(const Napi::CallbackInfo& info)
      : Napi::ObjectWrap<TransactionObject>(info),
        state_(static_cast<EnvironmentState*>(info.Data())) {
    static_cast<void>(napi_type_tag_object(info.Env(), info.This(), &kTransactionTag));
  }

  static Napi::Function Define(Napi::Env env, EnvironmentState* state) {
    return DefineClass(env, "Transaction",
                       {InstanceMethod<&TransactionObject::Open>("open"),
                        InstanceMethod<&TransactionObject::Stop>("stop"),
                        InstanceMethod<&TransactionObject::IsStale>("isStale"),
                        InstanceMethod<&TransactionObject::Freshen>("freshen"),
                        InstanceMethod<&TransactionObject::Look>("look"),
                        InstanceMethod<&TransactionObject::Changes>("changes"),
                        InstanceMethod<&TransactionObject::Diff>("diff"),
                        InstanceMethod<&TransactionObject::Check>("check"),
                        InstanceMethod<&TransactionObject::PlanCommitMerge>("planCommitMerge"),
                        InstanceMethod<&TransactionObject::Commit>("commit"),
                        InstanceMethod<&TransactionObject::Undo>("undo"),
                        InstanceMethod<&TransactionObject::Checkpoint>("checkpoint"),
                        InstanceMethod<&TransactionObject::Checkpoints>("checkpoints"),
                        InstanceMethod<&TransactionObject::RollBack>("rollback"),
                        InstanceMethod<&TransactionObject::Fork>("fork"),
                        InstanceMethod<&TransactionObject::PlanMerge>("planMerge"),
                        InstanceMethod<&TransactionObject::Merge>("merge"),
                        InstanceMethod<&TransactionObject::Sweep>("sweep"),
                        InstanceMethod<&TransactionObject::Close>("close"),
                        InstanceMethod<&TransactionObject::Discard>("discard")},
                       state);
  }

  std::shared_ptr<Transaction> transaction() const { return place_->transaction; }

 private:
  // Called once. Promises { id, backend }, `backendReason` and `recovered`. `resume`: the id of an
  // existing transaction.
  Napi::Value Open(const Napi::CallbackInfo& info) {
    Reader reader(info.Env());
    Transaction::Options options;
    std::optional<std::string> resume;
    std::string bwrap;
    std::optional<Napi::Function> on_progress;
    options.launcher = state_->launcher_path();
    options.progress = progress_;
    Fields::Of(reader, info[0], {"options", ""}, [&](Fields& fields) {
      options.workspace = fields.RequiredString("workspace");
      options.directory = fields.RequiredString("directory");
      resume = fields.String("resume");
      options.backend = ReadBackend(fields);
      options.most_bytes = fields.Integer("maxBytes", 0, kMostBytes).value_or(kDefaultMostBytes);
      bwrap = fields.String("bwrapPath").value_or("bwrap");
      on_progress = fields.Function("onProgress");
      fields.Objects("caches", [&options](Fields& each) {
        CacheOverlay cache;
        cache.source = each.RequiredString("source");
        cache.directory = each.RequiredString("directory");
        cache.hidden = each.Strings("hidden").value_or(std::vector<std::string>());
        options.caches.push_back(std::move(cache));
      });
    });
    if (reader.failed()) return info.Env().Undefined();
    std::shared_ptr<ProgressCalls> calls;
    if (on_progress) {
      calls = ProgressCalls::Make(info.Env(), *on_progress);
      if (!calls) return info.Env().Undefined();
      progress_->tell = [calls = calls.get()](std::uint64_t files, std::uint64_t bytes) {
        calls->Report(files, bytes);
      };
    }
    if (options.backend == Transaction::Backend::kAuto) {
      auto found = FindProgram(bwrap, EnvironmentState::SearchPath(), &state_->looks());
      if (found) options.bwrap = std::move(*found);
    }
    return Promise(info,
                   [place = place_, options = std::move(options), resume = std::move(resume),
                    calls = std::move(calls)]() -> Result<MakeValue> {
                     auto opened = resume ? Transaction::Resume(options, *resume)
                                          : Transaction::Open(options);
                     if (!opened) return opened.error();
                     return MakeValue([place, opened = std::move(*opened)](ValueBuilder& builder) {
                       place->transaction = opened;
                       return OpenedValue(builder, *opened);
                     });
                   });
  }

  Napi::Value IsStale(const Napi::CallbackInfo& info) {
    const Transaction* transaction = place_->transaction.get();
    return Napi::Boolean::New(info.Env(), transaction != nullptr && transaction->IsStale());
  }

  Napi::Value Freshen(const Napi::CallbackInfo& info) {
    return Promise(info, [transaction = place_->transaction]() -> Result<MakeValue> {
      if (!transaction) return NotOpen();
      if (auto error = transaction->Freshen()) return *error;
      return Nothing();
    });
  }

  Napi::Value Look(const Napi::CallbackInfo& info) {
    return Promise(info, [transaction = place_->transaction]() -> Result<MakeValue> {
      if (!transaction) return NotOpen();
      if (auto error = transaction->Look()) return *error;
      return Nothing();
    });
  }

  // Promises all changes packed, in the order of their paths' bytes.
  Napi::Value Changes(const Napi::CallbackInfo& info) {
    Reader reader(info.Env());
    PathFilter filter;
    bool has_versions = false;
    std::shared_ptr<Transaction> since;
    std::shared_ptr<Transaction> since_fork;
    Fields::Of(reader, info[0], {"options", ""}, [&](Fields& fields) {
      filter = ReadPaths(fields);
      since = ReadOther(fields, "since");
      since_fork = ReadOther(fields, "sinceFork");
      has_versions = fields.Boolean("versions").value_or(false);
    });
    if (reader.failed()) return info.Env().Undefined();
    return Promise(
        info,
        [transaction = place_->transaction, filter = std::move(filter), has_versions,
         since = std::move(since), since_fork = std::move(since_fork)]() -> Result<MakeValue> {
          if (!transaction) return NotOpen();
          auto changes = since        ? transaction->ChangesSince(*since, filter)
                         : since_fork ? transaction->ChangesSinceFork(*since_fork, filter)
                                      : transaction->Changes(filter, has_versions);
          if (!changes) return changes.error();
          return MakeValue([packed = Pack(*changes, has_versions)](ValueBuilder& builder) {
            return PackedChangesValue(builder, packed);
          });
        });
  }

  // Promises one text.
  Napi::Value Diff(const Napi::CallbackInfo& info) {
    constexpr std::uint64_t kDefaultMost = std::uint64_t{16} << 20U;
    constexpr std::uint64_t kMost = std::uint64_t{256} << 20U;  // V8's strings have at most 512 MiB
    Reader reader(info.Env());
    PathFilter filter;
    std::uint64_t most = kDefaultMost;
    std::shared_ptr<Transaction> since;
    std::shared_ptr<Transaction> since_fork;
    Fields::Of(reader, info[0], {"options", ""}, [&](Fields& fields) {
      filter = ReadPaths(fields);
      since = ReadOther(fields, "since");
      since_fork = ReadOther(fields, "sinceFork");
      most = fields.Integer("maxBytes", 0, kMost).value_or(kDefaultMost);
    });
    if (reader.failed()) return info.Env().Undefined();
    return Promise(
        info,
        [transaction = place_->transaction, filter = std::move(filter), most,
         since = std::move(since), since_fork = std::move(since_fork)]() -> Result<MakeValue> {
          if (!transaction) return NotOpen();
          auto diff = since        ? transaction->DiffSince(*since, filter, most)
                      : since_fork ? transaction->DiffSinceFork(*since_fork, filter, most)
                                   : transaction->Diff(filter, most);
          if (!diff) return diff.error();
          return MakeValue(
              [diff = std::move(*diff)](ValueBuilder& builder) { return builder.String(diff); });
        });
  }

  Napi::Value Check(const Napi::CallbackInfo& info) {
    return OfCommit(info, [](Transaction& transaction, const CommitRequest& request,
                             const std::vector<MergeRequest::File>& /*merged*/) {
      return Committed(transaction.Check(request));
    });
  }
  Napi::Value PlanCommitMerge(const Napi::CallbackInfo& info) {
    return OfCommit(info,
                    [](Transaction& transaction, const CommitRequest& request,
                       const std::vector<MergeRequest::File>& /*merged*/) -> Result<MakeValue> {
                      auto plan = transaction.PlanCommitMerge(request);
                      if (!plan) return plan.error();
                      return MakeValue([plan = std::move(*plan)](ValueBuilder& builder) {
                        return MergePlanValue(builder, plan);
                      });
                    });
  }
  Napi::Value Commit(const Napi::CallbackInfo& info) {
    return OfCommit(info, [](Transaction& transaction, const CommitRequest& request,
                             const std::vector<MergeRequest::File>& merged) {
      return Committed(transaction.Commit(request, merged));
    });
  }

  static Result<MakeValue> Committed(Result<Transaction::CommitResult> result) {
    if (!result) return result.error();
    return CommitValue(std::move(*result));
  }

  using CommitCall = Result<MakeValue> (*)(Transaction&, const CommitRequest&,
                                           const std::vector<MergeRequest::File>&);
  Napi::Value OfCommit(const Napi::CallbackInfo& info, CommitCall call) {
    Reader reader(info.Env());
    CommitRequest request;
    std::vector<MergeRequest::File> merged;
    Fields::Of(reader, info[0], {"options", ""}, [&](Fields& fields) {
      request = ReadCommitRequest(fields);
      merged = ReadMergedFiles(fields, "merged");
    });
    if (reader.failed()) return info.Env().Undefined();
    return Promise(info,
                   [transaction = place_->transaction, request = std::move(request),
                    merged = std::move(merged), call]() -> Result<MakeValue> {
                     if (!transaction) return NotOpen();
                     return call(*transaction, request, merged);
                   });
  }

  // Promises the paths that prevent the undo; none: it was done.
  Napi::Value Undo(const Napi::CallbackInfo& info) {
    return Promise(info, [transaction = place_->transaction]() -> Result<MakeValue> {
      if (!transaction) return NotOpen();
      auto conflicts = transaction->Undo();
      if (!conflicts) return conflicts.error();
      return MakeValue([conflicts = std::move(*conflicts)](ValueBuilder& builder) {
        return builder.Strings(conflicts);
      });
    });
  }

  Napi::Value Checkpoint(const Napi::CallbackInfo& info) {
    Reader reader(info.Env());
    std::string name;
    Fields::Of(reader, info[0], {"options", ""},
               [&name](Fields& fields) { name = fields.String("name").value_or(""); });
    if (reader.failed()) return info.Env().Undefined();
    return Promise(
        info, [transaction = place_->transaction, name = std::move(name)]() -> Result<MakeValue> {
          if (!transaction) return NotOpen();
          auto made = transaction->Checkpoint(name);
          if (!made) return made.error();
          return MakeValue([made = std::move(*made)](ValueBuilder& builder) {
            return CheckpointValue(builder, made);
          });
        });
  }

  // Promises an array of the checkpoints, the oldest first.
  Napi::Value Checkpoints(const Napi::CallbackInfo& info) {
    return Promise(info, [transaction = place_->transaction]() -> Result<MakeValue> {
      if (!transaction) return NotOpen();
      auto records = transaction->Checkpoints();
      if (!records) return records.error();
      return MakeValue([records = std::move(*records)](ValueBuilder& builder) {
        return CheckpointsValue(builder, records);
      });
    });
  }

  Napi::Value RollBack(const Napi::CallbackInfo& info) {
    Reader reader(info.Env());
    std::string id;
    Fields::Of(reader, info[0], {"options", ""},
               [&id](Fields& fields) { id = fields.RequiredString("id"); });
    if (reader.failed()) return info.Env().Undefined();
    return Promise(info,
                   [transaction = place_->transaction, id = std::move(id)]() -> Result<MakeValue> {
                     if (!transaction) return NotOpen();
                     if (auto error = transaction->RollBack(id)) return *error;
                     return Nothing();
                   });
  }

  // Promises the id of the fork.
  Napi::Value Fork(const Napi::CallbackInfo& info) {
    return Promise(info, [transaction = place_->transaction]() -> Result<MakeValue> {
      if (!transaction) return NotOpen();
      auto id = transaction->Fork();
      if (!id) return id.error();
      return MakeValue([id = std::move(*id)](ValueBuilder& builder) { return builder.String(id); });
    });
  }

  // Promises the steps of a merge.
  Napi::Value PlanMerge(const Napi::CallbackInfo& info) {
    Reader reader(info.Env());
    PathFilter filter;
    bool takes_all = false;
    std::shared_ptr<Transaction> other;
    Fields::Of(reader, info[0], {"options", ""}, [&](Fields& fields) {
      filter = ReadPaths(fields);
      takes_all = fields.Boolean("takesAll").value_or(false);
      other = ReadOther(fields, "from");
    });
    if (reader.failed()) return info.Env().Undefined();
    return Promise(info,
                   [transaction = place_->transaction, filter = std::move(filter), takes_all,
                    other = std::move(other)]() -> Result<MakeValue> {
                     if (!transaction || !other) return NotOpen();
                     auto plan = transaction->PlanMerge(*other, filter, takes_all);
                     if (!plan) return plan.error();
                     return MakeValue([plan = std::move(*plan)](ValueBuilder& builder) {
                       return MergePlanValue(builder, plan);
                     });
                   });
  }

  Napi::Value Merge(const Napi::CallbackInfo& info) {
    Reader reader(info.Env());
    MergeRequest request;
    std::shared_ptr<Transaction> other;
    Fields::Of(reader, info[0], {"options", ""}, [&](Fields& fields) {
      request = ReadMergeRequest(fields);
      other = ReadOther(fields, "from");
    });
    if (reader.failed()) return info.Env().Undefined();
    return Promise(info,
                   [transaction = place_->transaction, request = std::move(request),
                    other = std::move(other)]() -> Result<MakeValue> {
                     if (!transaction || !other) return NotOpen();
                     if (auto error = transaction->Merge(*other, request)) return *error;
                     return Nothing();
                   });
  }

  Napi::Value Sweep(const Napi::CallbackInfo& info) {
    return Promise(info, [transaction = place_->transaction]() -> Result<MakeValue> {
      if (transaction) transaction->Sweep();
      return Nothing();
    });
  }

  Napi::Value Close(const Napi::CallbackInfo& info) {
    return Promise(info, [transaction = place_->transaction]() -> Result<MakeValue> {
      if (transaction) transaction->Close();
      return Nothing();
    });
  }

  Napi::Value Discard(const Napi::CallbackInfo& info) {
    return Promise(info, [transaction = place_->transaction]() -> Result<MakeValue> {
      if (transaction) {
        if (auto error = transaction->Discard()) return *error;
      }
      return Nothing();
    });
  }

  static Napi::Value Promise(const Napi::CallbackInfo& info,
                             std::function<Result<MakeValue>()> work) {
    napi_value promise = DoInBackground(info.Env(), std::move(work));
    return promise == nullptr ? info.Env().Undefined() : Napi::Value(info.Env(), promise);
  }

  void Stop(const Napi::CallbackInfo& /*info*/) {
    progress_->is_stopped = true;
    if (place_->transaction) place_->transaction->Stop();
  }

  EnvironmentState* state_;
  std::shared_ptr<Place> place_ = std::make_shared<Place>();
  std::shared_ptr<CopyProgress> progress_ = std::make_shared<CopyProgress>();
};

}  // namespace

void DefineTransaction(Napi::Env env, Napi::Object exports, EnvironmentState* state) {
  exports.Set("Transaction", TransactionObject::Define(env, state));
}

std::shared_ptr<Transaction> ReadTransaction(Reader& reader, const Napi::Value& value) {
  if (value.IsUndefined()) return nullptr;
  bool is_one = false;
  if (value.IsObject() &&
      napi_check_object_type_tag(reader.env(), value, &kTransactionTag, &is_one) == napi_ok &&
      is_one) {
    const auto* object = TransactionObject::Unwrap(value.As<Napi::Object>());
    if (auto transaction = object->transaction()) return transaction;
  }
  reader.Fail({ErrorCode::kInvalidType, "Expected a transaction that is open", ""});
  return nullptr;
}

namespace {

// Promises the transactions in the directory that the options name.
Napi::Value List(const Napi::CallbackInfo& info) {
  Reader reader(info.Env());
  std::string directory;
  Fields::Of(reader, info[0], {"options", ""},
             [&directory](Fields& fields) { directory = fields.RequiredString("directory"); });
  if (reader.failed()) return info.Env().Undefined();
  const auto work = [directory = std::move(directory)]() -> Result<MakeValue> {
    auto all = ListTransactions(directory);
    if (!all) return all.error();
    return MakeValue([all = std::move(*all)](ValueBuilder& builder) {
      std::vector<napi_value> values;
      values.reserve(all.size());
      for (const ListedTransaction& listed : all)
        values.push_back(ListedValue(builder, listed));
      return builder.Array(values);
    });
  };
  napi_value promise = DoInBackground(info.Env(), work);
  return promise == nullptr ? info.Env().Undefined() : Napi::Value(info.Env(), promise);
}

// Promises what the transactions hold that the options name.
Napi::Value Measure(const Napi::CallbackInfo& info) {
  Reader reader(info.Env());
  std::string directory;
  std::string workspace;
  Fields::Of(reader, info[0], {"options", ""}, [&directory, &workspace](Fields& fields) {
    directory = fields.RequiredString("directory");
    workspace = fields.String("workspace").value_or("");
  });
  if (reader.failed()) return info.Env().Undefined();
  const auto work = [directory = std::move(directory),
                     workspace = std::move(workspace)]() -> Result<MakeValue> {
    auto report = MeasureTransactions(directory, workspace);
    if (!report) return report.error();
    return MakeValue([report = std::move(*report)](ValueBuilder& builder) {
      return SpaceValue(builder, report);
    });
  };
  napi_value promise = DoInBackground(info.Env(), work);
  return promise == nullptr ? info.Env().Undefined() : Napi::Value(info.Env(), promise);
}

}  // namespace

void DefineTransactionList(Napi::Env env, Napi::Object exports) {
  exports.Set("listTransactions", Napi::Function::New(env, List, "listTransactions"));
  exports.Set("measureTransactions", Napi::Function::New(env, Measure, "measureTransactions"));
}

}  // namespace native_runner
