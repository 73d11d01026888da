// A fault for scripts/checks/sanitizer.mjs to find: loading this into Node runs it. Where the
// sanitizer does not report it, its silence about native/ would prove nothing.
#include <pthread.h>

namespace {

#ifdef __SANITIZE_THREAD__

int shared_number = 0;

void* Increment(void*) {
  ++shared_number;  // a data race
  return nullptr;
}

// Two threads of its own: what the loading thread does inside dlopen counts as Node's.
[[gnu::constructor]] void Fault() {
  pthread_t threads[2];
  for (pthread_t& thread : threads) {
    if (pthread_create(&thread, nullptr, Increment, nullptr) != 0) return;
  }
  for (pthread_t thread : threads)
    pthread_join(thread, nullptr);
}

#else

[[gnu::constructor]] void Fault() {
  auto* bytes = new char[4];
  static_cast<volatile char*>(bytes)[4] = 1;  // one past the end
  delete[] bytes;
}

#endif

}  // namespace
