// Programs of several processes, and what they do together (am.h), by the job that `hamlyn run` has started.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "am/c_endpoints.h"
#include "am/inside.h"
#include "am/machine.h"
#include "base/immortal.h"
#include "base/random.h"
#include "hamlyn/job/job.h"

namespace hamlyn::internal_::am {

namespace {

// A process's part of the job. Only the thread that starts it may call these functions.
struct Spmd {
  std::unique_ptr<Job> job;
  eb_t bundle = nullptr;
  ep_t endpoint = nullptr;
  int type = AM_SEQ;
  void (*exit_callback)(int) = nullptr;
  void (*kill_hook)(int) = nullptr;
};
constinit base::Immortal<Spmd> part;

constexpr std::uint32_t kPollsAtOnce = 256;

// Told to the others by each rank.
struct Told {
  en_t name;
  tag_t tag;
};

// Goes on with a meeting until it is over, and polls meanwhile: sleeps until a rank has come, or a message.
template <class Meet>
int meet(Meet once) noexcept {
  Spmd& spmd = part.value;
  if (spmd.job == nullptr) return AM_ERR_NOT_INIT;
  if (hamlyn::am::Handling::any()) return AM_ERR_IN_USE;
  try {
    Status met = Status::timed_out;
    bool left = false;  // messages stand there, of which no change tells any more
    const auto look = [&] {
      met = once(*spmd.job);
      left = false;
      if (CBundle* const bundle = registry().bundles.find(spmd.bundle))
        static_cast<void>(bundle->bundle.poll(kPollsAtOnce, left));
      return met != Status::timed_out || left;
    };
    Status waited = Status::ok;
    do {
      waited = registry().process->interface.wait_any(look, std::chrono::nanoseconds::max());
      // A cancel is meant for the program's own calls.
    } while (waited == Status::cancelled || (waited == Status::ok && met == Status::timed_out));
    if (met == Status::ok) return AM_OK;
    return met == Status::too_long || met == Status::refused ? AM_ERR_BAD_ARG : AM_ERR_RESOURCE;
  } catch (const std::bad_alloc&) {
    return AM_ERR_RESOURCE;
  }
}

int gather(const void* source, void* destination, std::size_t length) noexcept {
  std::vector<std::byte> all;
  const int result = meet([&](Job& job) {
    return job.all_gather(std::span(static_cast<const std::byte*>(source), length), all,
                          std::chrono::nanoseconds{0});
  });
  if (result == AM_OK && !all.empty()) std::memcpy(destination, all.data(), all.size());
  return result;
}

// Maps every rank's endpoint.
int map_all() {
  Spmd& spmd = part.value;
  Told own{};
  own.tag = base::random_key() | 2;  // neither AM_NONE nor AM_ALL
  const std::size_t ranks = spmd.job->size();
  if (const int result = AM_AllocateEndpoint(spmd.bundle, &spmd.endpoint, &own.name); result != AM_OK)
    return result;
  AM_SetTag(spmd.endpoint, own.tag);
  std::vector<Told> all(ranks);
  if (const int result = gather(&own, all.data(), sizeof own); result != AM_OK) return result;
  if (ranks > kFirstTranslations) AM_SetNumTranslations(spmd.endpoint, static_cast<int>(ranks));
  for (std::size_t rank = 0; rank != ranks; ++rank) {
    const int result = AM_Map(spmd.endpoint, static_cast<int>(rank), all[rank].name, all[rank].tag);
    if (result != AM_OK) return result;
  }
  return AM_OK;
}

}  // namespace

}  // namespace hamlyn::internal_::am

using namespace hamlyn::internal_::am;  // NOLINT: the functions below are its front

extern "C" {

int AM_SPMDStartup(int type, eb_t* bundle, ep_t* endpoint) {
  Spmd& spmd = part.value;
  if (bundle == nullptr || endpoint == nullptr) return AM_ERR_BAD_ARG;
  if (spmd.job != nullptr) return AM_ERR_IN_USE;
  if (const int result = AM_Init(); result != AM_OK) return result;
  int result = AM_AllocateBundle(type, &spmd.bundle);
  try {
    if (result == AM_OK) {
      spmd.job = std::make_unique<hamlyn::Job>(registry().process->interface);
      result = map_all();
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hamlyn: AM_SPMDStartup: %s\n", error.what());
    result = AM_ERR_RESOURCE;
  }
  if (result != AM_OK) {
    spmd.job.reset();
    AM_Terminate();
    return result;
  }
  spmd.type = type;
  *bundle = spmd.bundle;
  *endpoint = spmd.endpoint;
  return AM_OK;
}

int AM_SPMDNumProcs(void) { return part.value.job != nullptr ? static_cast<int>(part.value.job->size()) : 0; }
int AM_SPMDMyProc(void) { return part.value.job != nullptr ? static_cast<int>(part.value.job->rank()) : 0; }
int AM_SPMDIsThreaded(void) { return part.value.type == AM_PAR ? 1 : 0; }

int AM_SPMDBarrier(void) {
  return meet([](hamlyn::Job& job) { return job.barrier(std::chrono::nanoseconds{0}); });
}

int AM_SPMDAllGather(const void* source, void* destination, size_t length) {
  if (length != 0 && (source == nullptr || destination == nullptr)) return AM_ERR_BAD_ARG;
  return gather(source, destination, length);
}

int AM_SPMDBroadcast(void* data, size_t length, int from) {
  const int ranks = AM_SPMDNumProcs();
  if (ranks == 0) return AM_ERR_NOT_INIT;
  if (from < 0 || from >= ranks || (data == nullptr && length != 0)) return AM_ERR_BAD_ARG;
  try {
    std::vector<std::byte> all(length * static_cast<std::size_t>(ranks));
    const int result = gather(data, all.data(), length);
    if (result == AM_OK && length != 0)
      std::memcpy(data, all.data() + length * static_cast<std::size_t>(from), length);
    return result;
  } catch (const std::bad_alloc&) {
    return AM_ERR_RESOURCE;
  }
}

int AM_SPMDSetExitCallback(void (*callback)(int status)) {
  part.value.exit_callback = callback;
  return AM_OK;
}

int AM_SPMDSetKillHook(void (*hook)(int status)) {
  part.value.kill_hook = hook;
  return AM_OK;
}

void AM_SPMDExit(int status) {
  Spmd& spmd = part.value;
  if (spmd.exit_callback != nullptr) spmd.exit_callback(status);
  spmd.job.reset();
  AM_Terminate();
  if (spmd.kill_hook != nullptr) spmd.kill_hook(status);
  std::exit(status);
}

void AM_FatalErr(const char* format, ...) {
  std::fprintf(stderr, "rank %d: ", AM_SPMDMyProc());
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
  if (part.value.kill_hook != nullptr) part.value.kill_hook(1);
  std::_Exit(1);
}

int AM_SPMDSumStatistics(am_statistics_t* statistics) {
  Spmd& spmd = part.value;
  if (spmd.job == nullptr) return AM_ERR_NOT_INIT;
  if (statistics == nullptr) return AM_ERR_BAD_ARG;
  constexpr std::size_t kNumbers = sizeof(am_statistics_t) / sizeof(std::uint64_t);
  std::array<std::uint64_t, kNumbers> own{}, sum{};
  am_statistics_t found;
  if (const int result = AM_GetStatistics(spmd.endpoint, &found); result != AM_OK) return result;
  std::memcpy(own.data(), &found, sizeof found);
  try {
    std::vector<std::array<std::uint64_t, kNumbers>> all(spmd.job->size());
    if (const int result = gather(&own, all.data(), sizeof own); result != AM_OK) return result;
    for (const auto& each : all)
      for (std::size_t i = 0; i != kNumbers; ++i) sum[i] += each[i];
  } catch (const std::bad_alloc&) {
    return AM_ERR_RESOURCE;
  }
  std::memcpy(statistics, sum.data(), sizeof *statistics);
  return AM_OK;
}

}  // extern "C"
