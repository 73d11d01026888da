#include "addon/transactions/transaction_object.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "addon/convert/fields.h"
#include "addon/environment/background_work.h"
#include "addon/transactions/changes_value.h"
#include "addon/transactions/packed_changes.h"
#include "addon/values/js_error.h"

namespace native_runner {
namespace {

constexpr napi_type_tag kTransactionTag = {0x6f70656e61676e74, 0x7472616e73616374};

// Where the transaction is put once it is open; shared with the work that opens it.
struct Place {
  std::shared_ptr<Transaction> transaction;
};

Result<MakeValue> Nothing() {
  return MakeValue([](ValueBuilder& builder) { return builder.Undefined(); });
}

Error NotOpen() {
  return Error{ErrorCode::kClosed, "the transaction is not open", ""};
}

// None: every path, or with `else_none` no path.
PathFilter ReadPaths(Fields& fields, const char* field = "paths", bool else_none = false) {
  const auto paths = fields.Strings(field);
  if (!paths && !else_none) return PathFilter();
  auto filter = PathFilter::Of(paths.value_or(std::vector<std::string>()), field);
  if (filter) return std::move(*filter);
  fields.reader().Fail(filter.error());
  return PathFilter();
}

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

MakeValue TellOfCommit(Transaction::CommitResult result) {
  PackedChanges committed = Pack(result.committed);
  PackedChanges left = Pack(result.left);
  return [result = std::move(result), committed = std::move(committed),
          left = std::move(left)](ValueBuilder& builder) {
    napi_value told = builder.Object();
    builder.Set(told, "committed", PackedChangesValue(builder, committed));
    builder.Set(told, "left", PackedChangesValue(builder, left));
    builder.Set(told, "conflicts", ChangesValue(builder, result.conflicts));
    builder.Set(told, "refused", ChangesValue(builder, result.refused));
    return told;
  };
}

// JavaScript thread. What is done with the transaction is done on others.
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
                        InstanceMethod<&TransactionObject::Look>("look"),
                        InstanceMethod<&TransactionObject::Changes>("changes"),
                        InstanceMethod<&TransactionObject::Diff>("diff"),
                        InstanceMethod<&TransactionObject::Check>("check"),
                        InstanceMethod<&TransactionObject::Commit>("commit"),
                        InstanceMethod<&TransactionObject::Undo>("undo"),
                        InstanceMethod<&TransactionObject::Close>("close"),
                        InstanceMethod<&TransactionObject::Discard>("discard")},
                       state);
  }

  std::shared_ptr<Transaction> transaction() const { return place_->transaction; }

 private:
  // Once: { id, backend }, and `recovered`. With `resume`, the id of one that is there.
  Napi::Value Open(const Napi::CallbackInfo& info) {
    Reader reader(info.Env());
    Transaction::Options options;
    std::optional<std::string> resume;
    options.launcher = state_->launcher_path();
    Fields::Of(reader, info[0], {"options", ""}, [&](Fields& fields) {
      options.workspace = fields.RequiredString("workspace");
      options.directory = fields.RequiredString("directory");
      resume = fields.String("resume");
    });
    if (reader.failed()) return info.Env().Undefined();
    return Promise(info,
                   [place = place_, options = std::move(options),
                    resume = std::move(resume)]() -> Result<MakeValue> {
                     auto opened = resume ? Transaction::Resume(options, *resume)
                                          : Transaction::Open(options);
                     if (!opened) return opened.error();
                     return MakeValue([place, opened = std::move(*opened)](ValueBuilder& builder) {
                       place->transaction = opened;
                       napi_value told = builder.Object();
                       builder.Set(told, "id", builder.String(opened->id()));
                       builder.Set(told, "backend", builder.String("overlay"));
                       if (const char* recovered = RecoveredName(opened->recovered())) {
                         builder.Set(told, "recovered", builder.String(recovered));
                       }
                       return told;
                     });
                   });
  }

  Napi::Value Look(const Napi::CallbackInfo& info) {
    return Promise(info, [transaction = place_->transaction]() -> Result<MakeValue> {
      if (!transaction) return NotOpen();
      if (auto error = transaction->Look()) return *error;
      return Nothing();
    });
  }

  // All of them packed, in the order of their paths' bytes.
  Napi::Value Changes(const Napi::CallbackInfo& info) {
    Reader reader(info.Env());
    PathFilter filter;
    Fields::Of(reader, info[0], {"options", ""},
               [&filter](Fields& fields) { filter = ReadPaths(fields); });
    if (reader.failed()) return info.Env().Undefined();
    return Promise(
        info,
        [transaction = place_->transaction, filter = std::move(filter)]() -> Result<MakeValue> {
          if (!transaction) return NotOpen();
          auto changes = transaction->Changes(filter);
          if (!changes) return changes.error();
          return MakeValue([packed = Pack(*changes)](ValueBuilder& builder) {
            return PackedChangesValue(builder, packed);
          });
        });
  }

  // One text.
  Napi::Value Diff(const Napi::CallbackInfo& info) {
    constexpr std::uint64_t kDefaultMost = std::uint64_t{16} << 20U;
    constexpr std::uint64_t kMost = std::uint64_t{256} << 20U;  // V8 has strings of 512 MiB
    Reader reader(info.Env());
    PathFilter filter;
    std::uint64_t most = kDefaultMost;
    Fields::Of(reader, info[0], {"options", ""}, [&](Fields& fields) {
      filter = ReadPaths(fields);
      most = fields.Integer("maxBytes", 0, kMost).value_or(kDefaultMost);
    });
    if (reader.failed()) return info.Env().Undefined();
    return Promise(info,
                   [transaction = place_->transaction, filter = std::move(filter),
                    most]() -> Result<MakeValue> {
                     if (!transaction) return NotOpen();
                     auto diff = transaction->Diff(filter, most);
                     if (!diff) return diff.error();
                     return MakeValue([diff = std::move(*diff)](ValueBuilder& builder) {
                       return builder.String(diff);
                     });
                   });
  }

  Napi::Value Check(const Napi::CallbackInfo& info) { return DoCommit(info, &Transaction::Check); }
  Napi::Value Commit(const Napi::CallbackInfo& info) {
    return DoCommit(info, &Transaction::Commit);
  }

  using CommitCall = Result<Transaction::CommitResult> (Transaction::*)(const CommitRequest&);
  Napi::Value DoCommit(const Napi::CallbackInfo& info, CommitCall call) {
    Reader reader(info.Env());
    CommitRequest request;
    Fields::Of(reader, info[0], {"options", ""}, [&request](Fields& fields) {
      request.paths = ReadPaths(fields);
      request.allowed = ReadPaths(fields, "allowProtected", true);
      request.protected_names = fields.RequiredStrings("protectedNames");
    });
    if (reader.failed()) return info.Env().Undefined();
    return Promise(info,
                   [transaction = place_->transaction, request = std::move(request),
                    call]() -> Result<MakeValue> {
                     if (!transaction) return NotOpen();
                     auto result = ((*transaction).*call)(request);
                     if (!result) return result.error();
                     return TellOfCommit(std::move(*result));
                   });
  }

  // The paths because of which it can't be done; none: it was done.
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

  EnvironmentState* state_;
  std::shared_ptr<Place> place_ = std::make_shared<Place>();
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

}  // namespace native_runner
