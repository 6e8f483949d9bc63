#include "tf_nvcodec/core/base/fork_lock.h"

#include <pthread.h>

#include <utility>
#include <vector>

namespace nvc {
namespace {

struct Held {
  std::mutex* mutex;
  std::function<void()> in_child;
};

struct Registry {
  std::mutex mutex;  // locked before all others
  std::vector<Held> held;
};

Registry& TheRegistry() {
  static Registry& registry = *new Registry;
  return registry;
}

void Prepare() {
  Registry& registry = TheRegistry();
  registry.mutex.lock();
  for (const Held& held : registry.held) held.mutex->lock();
}

void InParent() {
  Registry& registry = TheRegistry();
  for (const Held& held : registry.held) held.mutex->unlock();
  registry.mutex.unlock();
}

void InChild() {
  for (const Held& held : TheRegistry().held) {
    if (held.in_child != nullptr) held.in_child();
  }
  InParent();
}

}  // namespace

bool HoldInForks(std::mutex* mutex, std::function<void()> in_child) {
  Registry& registry = TheRegistry();
  // This must not hold registry.mutex: a fork under way waits for it inside glibc's own lock, which
  // pthread_atfork takes.
  static const int registered = pthread_atfork(Prepare, InParent, InChild);
  static_cast<void>(registered);  // it fails without memory: forks are then unprotected
  std::lock_guard<std::mutex> lock(registry.mutex);
  registry.held.push_back({mutex, std::move(in_child)});
  return true;
}

}  // namespace nvc
