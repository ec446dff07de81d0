// Active Messages II (am.h) over hamlyn/am/endpoint.h: the process, bundles, endpoints. c_messages.cc has
// what is sent, c_spmd.cc what programs of several processes do.
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <cstring>
#include <utility>

#include "am/am_wire.h"
#include "am/c_endpoints.h"
#include "am/inside.h"
#include "base/immortal.h"

namespace hamlyn::internal_::am {

static_assert(static_cast<int>(Result::in_use) == AM_ERR_IN_USE &&
              static_cast<int>(Result::resource) == AM_ERR_RESOURCE);
static_assert(static_cast<int>(Why::reply_rejected) == EREPLYREJECTED &&
              static_cast<int>(Why::bad_offset) == EBADSEGOFF);
static_assert(static_cast<int>(Operation::reply_long) == AM_REPLY_XFER_M &&
              static_cast<int>(Operation::get) == AM_GET_XFER_M);
static_assert(sizeof(en_t) == sizeof(Name) && sizeof(am_statistics_t) == sizeof(Statistics));

namespace {
constinit base::Immortal<Registry> all_of_process;
}
Registry& registry() noexcept { return all_of_process.value; }

int init() noexcept {
  if (hamlyn::am::Handling::any()) return AM_ERR_IN_USE;
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  const int self = getpid();
  if (all.process != nullptr && all.process->owner != self) {
    // A forked child: what there is belongs to its parent.
    (void)all.process.release();
    all.bundles.forget();
    all.endpoints.forget();
    all.inits = 0;
  }
  try {
    if (all.process == nullptr) all.process = std::make_unique<Process>();
    all.process->owner = self;
  } catch (const std::exception&) {
    return AM_ERR_RESOURCE;
  }
  ++all.inits;
  return AM_OK;
}

namespace {

int answer(Result result) noexcept { return static_cast<int>(result); }

// Why there is no such bundle or endpoint.
int none() noexcept { return registry().process == nullptr ? AM_ERR_NOT_INIT : AM_ERR_BAD_ARG; }

Name name_of(const en_t& name) noexcept {
  Name out;
  std::memcpy(out.words.data(), name.am_words, sizeof name);
  return out;
}
en_t name_of(const Name& name) noexcept {
  en_t out;
  std::memcpy(out.am_words, name.words.data(), sizeof out);
  return out;
}

// Does `what(endpoint)`, if there is one.
template <class What>
int with(ep_t handle, What what) noexcept {
  CEndpoint* const found = registry().endpoints.find(handle);
  return found != nullptr ? answer(what(*found)) : none();
}

// --- handlers: functions of as many ints as were sent

template <std::size_t... At>
void call_short(am_handler_fn_t function, void* token, const std::int32_t* a,
                std::index_sequence<At...>) noexcept {
  reinterpret_cast<void (*)(void*, decltype(static_cast<void>(At), 0)...)>(function)(token, a[At]...);
}
template <std::size_t... At>
void call_longer(am_handler_fn_t function, void* token, std::span<std::byte> data, const std::int32_t* a,
                 std::index_sequence<At...>) noexcept {
  using Function = void (*)(void*, void*, std::size_t, decltype(static_cast<void>(At), 0)...);
  reinterpret_cast<Function>(function)(token, data.data(), data.size(), a[At]...);
}

using Caller = void (*)(am_handler_fn_t, void*, const Arrival&) noexcept;

template <std::size_t Count>
void call(am_handler_fn_t function, void* token, const Arrival& arrival) noexcept {
  constexpr auto kAll = std::make_index_sequence<Count>{};
  if (arrival.data.data() == nullptr)
    call_short(function, token, arrival.arguments.data(), kAll);
  else
    call_longer(function, token, arrival.data, arrival.arguments.data(), kAll);
}
template <std::size_t... Counts>
constexpr std::array<Caller, sizeof...(Counts)> callers(std::index_sequence<Counts...>) noexcept {
  return {&call<Counts>...};
}
constexpr auto kCallers = callers(std::make_index_sequence<kMostArguments + 1>{});

Endpoint::Handler handler_of(am_handler_fn_t function) {
  if (function == nullptr) return nullptr;
  return [function](Token& token, const Arrival& arrival) {
    kCallers[arrival.arguments.size()](function, &token, arrival);
  };
}

Endpoint::ReturnHandler return_handler_of(am_handler_fn_t function, ep_t from) {
  if (function == nullptr) return nullptr;
  return [function, from](const Returned& returned) {
    am_argblock_t block{};
    block.request_endpoint = from;
    block.index = returned.index;
    block.handler = returned.handler;
    block.numargs = returned.count;
    std::ranges::copy(returned.arguments(), block.args);
    block.offset = returned.offset;
    block.nbytes = returned.length;
    block.to = name_of(returned.to);
    reinterpret_cast<void (*)(int, op_t, void*)>(function)(static_cast<int>(returned.why),
                                                           static_cast<op_t>(returned.operation), &block);
  };
}

Endpoint::Hook hook_of(void (*function)(void*)) {
  if (function == nullptr) return nullptr;
  return [function](Token& token) { function(&token); };
}

// Frees its endpoints, and it. Under the registry's lock. False: there is no such bundle any more.
bool free_bundle(eb_t bundle) {
  Registry& all = registry();
  all.endpoints.each([&](ep_t handle, CEndpoint& endpoint) {
    if (endpoint.in == bundle) all.endpoints.remove(handle).reset();
  });
  return all.bundles.remove(bundle) != nullptr;
}

}  // namespace

}  // namespace hamlyn::internal_::am

using namespace hamlyn::internal_::am;  // NOLINT: the functions below are its front

extern "C" {

// --- the process

int AM_Init(void) { return init(); }

int AM_Terminate(void) {
  if (hamlyn::am::Handling::any()) return AM_ERR_IN_USE;
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  if (all.inits == 0) return AM_ERR_NOT_INIT;
  if (--all.inits != 0) return AM_OK;
  all.bundles.each([](eb_t bundle, CBundle&) { free_bundle(bundle); });
  all.process.reset();
  return AM_OK;
}

int AM_AllocateBundle(int type, eb_t* bundle) {
  if (bundle == nullptr || (type != AM_SEQ && type != AM_PAR)) return AM_ERR_BAD_ARG;
  if (hamlyn::am::Handling::any()) return AM_ERR_IN_USE;
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  if (all.process == nullptr) return AM_ERR_NOT_INIT;
  try {
    auto made = std::make_unique<CBundle>(all.process->interface, type);
    *bundle = all.bundles.add(made);
    return *bundle != nullptr ? AM_OK : AM_ERR_RESOURCE;
  } catch (const std::exception&) {
    return all.process->owner == getpid() ? AM_ERR_RESOURCE : AM_ERR_NOT_INIT;
  }
}

int AM_AllocateEndpoint(eb_t bundle, ep_t* endpoint, en_t* name) {
  if (endpoint == nullptr) return AM_ERR_BAD_ARG;
  if (hamlyn::am::Handling::any()) return AM_ERR_IN_USE;
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  CBundle* const in = all.bundles.find(bundle);
  if (in == nullptr) return none();
  try {
    auto made = std::make_unique<CEndpoint>(*in, bundle);
    CEndpoint& out = *made;
    *endpoint = all.endpoints.add(made);
    if (*endpoint == nullptr) return AM_ERR_RESOURCE;
    out.handle = *endpoint;
    if (name != nullptr) *name = name_of(out.name());
    return AM_OK;
  } catch (const hamlyn::Error& error) {
    if (all.process->owner != getpid()) return AM_ERR_NOT_INIT;
    if (error.code() != hamlyn::ErrorCode::invalid_argument) return AM_ERR_RESOURCE;
    std::fprintf(stderr, "hamlyn: AM_AllocateEndpoint: %s\n", error.what());  // a setting of the environment
    return AM_ERR_BAD_ARG;
  } catch (const std::exception&) {
    return AM_ERR_RESOURCE;
  }
}

int AM_FreeEndpoint(ep_t endpoint) {
  Registry& all = registry();
  if (all.endpoints.find(endpoint) == nullptr) return none();
  if (hamlyn::am::Handling::any()) return AM_ERR_IN_USE;
  const std::lock_guard guard(all.lock);  // until it has gone: its bundle must not go before
  const std::unique_ptr<CEndpoint> out = all.endpoints.remove(endpoint);
  return out != nullptr ? AM_OK : none();
}

int AM_FreeBundle(eb_t bundle) {
  Registry& all = registry();
  if (all.bundles.find(bundle) == nullptr) return none();
  if (hamlyn::am::Handling::any()) return AM_ERR_IN_USE;
  const std::lock_guard guard(all.lock);
  return free_bundle(bundle) ? AM_OK : none();
}

int AM_MoveEndpoint(ep_t endpoint, eb_t from, eb_t to) {
  if (hamlyn::am::Handling::any()) return AM_ERR_IN_USE;
  Registry& all = registry();
  const std::lock_guard guard(all.lock);
  CEndpoint* const which = all.endpoints.find(endpoint);
  CBundle* const there = all.bundles.find(to);
  if (which == nullptr || there == nullptr || all.bundles.find(from) == nullptr) return none();
  if (which->in != from) return AM_ERR_BAD_ARG;
  const Result result = which->move_to(there->bundle);
  if (result == Result::ok) which->in = to;
  return answer(result);
}

// --- translations

int AM_Map(ep_t endpoint, int index, en_t name, tag_t tag) {
  if (index < 0) return AM_ERR_BAD_ARG;
  return with(endpoint,
              [&](Endpoint& of) { return of.map(static_cast<std::uint32_t>(index), name_of(name), tag); });
}

int AM_MapAny(ep_t endpoint, int* index, en_t name, tag_t tag) {
  if (index == nullptr) return AM_ERR_BAD_ARG;
  std::uint32_t at = 0;
  const int result = with(endpoint, [&](Endpoint& of) { return of.map_any(at, name_of(name), tag); });
  if (result == AM_OK) *index = static_cast<int>(at);
  return result;
}

int AM_UnMap(ep_t endpoint, int index) {
  if (index < 0) return AM_ERR_BAD_ARG;
  return with(endpoint, [&](Endpoint& of) { return of.unmap(static_cast<std::uint32_t>(index)); });
}

int AM_GetTranslationInuse(ep_t endpoint, int index) {
  Name name;
  hamlyn::am::Tag tag = 0;
  if (index < 0) return AM_ERR_BAD_ARG;
  return with(endpoint,
              [&](Endpoint& of) { return of.translation(static_cast<std::uint32_t>(index), name, tag); });
}

int AM_GetTranslationTag(ep_t endpoint, int index, tag_t* tag) {
  Name name;
  hamlyn::am::Tag found = 0;
  if (index < 0 || tag == nullptr) return AM_ERR_BAD_ARG;
  const int result = with(
      endpoint, [&](Endpoint& of) { return of.translation(static_cast<std::uint32_t>(index), name, found); });
  if (result == AM_OK) *tag = found;
  return result;
}

int AM_GetTranslationName(ep_t endpoint, int index, en_t* name) {
  Name found;
  hamlyn::am::Tag tag = 0;
  if (index < 0 || name == nullptr) return AM_ERR_BAD_ARG;
  const int result = with(
      endpoint, [&](Endpoint& of) { return of.translation(static_cast<std::uint32_t>(index), found, tag); });
  if (result == AM_OK) *name = name_of(found);
  return result;
}

int AM_GetNumTranslations(ep_t endpoint, int* count) {
  if (count == nullptr) return AM_ERR_BAD_ARG;
  return with(endpoint, [&](Endpoint& of) {
    *count = static_cast<int>(of.translations());
    return Result::ok;
  });
}

int AM_SetNumTranslations(ep_t endpoint, int count) {
  if (count < 0) return AM_ERR_BAD_ARG;
  return with(endpoint, [&](Endpoint& of) { return of.set_translations(static_cast<std::uint32_t>(count)); });
}

int AM_MaxNumTranslations(int* count) {
  if (count == nullptr) return AM_ERR_BAD_ARG;
  *count = static_cast<int>(hamlyn::am::kMostTranslations);
  return AM_OK;
}

int AM_SetExpectedResources(ep_t endpoint, int endpoints, int outstanding_requests) {
  if (endpoints < 1 || outstanding_requests < 1) return AM_ERR_BAD_ARG;
  return with(endpoint, [](Endpoint&) { return Result::ok; });
}

// --- tags and segments

int AM_GetTag(ep_t endpoint, tag_t* tag) {
  if (tag == nullptr) return AM_ERR_BAD_ARG;
  return with(endpoint, [&](Endpoint& of) {
    *tag = of.tag();
    return Result::ok;
  });
}

int AM_SetTag(ep_t endpoint, tag_t tag) {
  return with(endpoint, [&](Endpoint& of) { return of.set_tag(tag); });
}

int AM_GetSeg(ep_t endpoint, void** address, size_t* length) {
  if (address == nullptr || length == nullptr) return AM_ERR_BAD_ARG;
  return with(endpoint, [&](Endpoint& of) {
    const std::span<std::byte> segment = of.segment();
    *address = segment.data();
    *length = segment.size();
    return Result::ok;
  });
}

int AM_SetSeg(ep_t endpoint, void* address, size_t length) {
  if (address == nullptr && length != 0 && length != kAddressSpace.size()) return AM_ERR_BAD_ARG;
  return with(endpoint, [&](Endpoint& of) {
    return of.set_segment({static_cast<std::byte*>(address), length});
  });
}

int AM_MaxSegLength(size_t* length) {
  if (length == nullptr) return AM_ERR_BAD_ARG;
  *length = SIZE_MAX / 2;
  return AM_OK;
}

// --- handlers

int _AM_SetHandler(ep_t endpoint, handler_t handler, am_handler_fn_t function) {
  return with(endpoint, [&](Endpoint& of) {
    try {
      if (handler == 0) return of.on_return(return_handler_of(function, endpoint));
      return of.set_handler(handler, handler_of(function));
    } catch (const std::bad_alloc&) {
      return Result::resource;
    }
  });
}

int _AM_SetHandlerAny(ep_t endpoint, handler_t* handler, am_handler_fn_t function) {
  if (handler == nullptr || function == nullptr) return AM_ERR_BAD_ARG;
  return with(endpoint, [&](Endpoint& of) {
    try {
      return of.set_handler_any(*handler, handler_of(function));
    } catch (const std::bad_alloc&) {
      return Result::resource;
    }
  });
}

int AM_GetNumHandlers(ep_t endpoint, int* count) {
  if (count == nullptr) return AM_ERR_BAD_ARG;
  return with(endpoint, [&](Endpoint& of) {
    *count = static_cast<int>(of.handlers());
    return Result::ok;
  });
}

int AM_SetNumHandlers(ep_t endpoint, int count) {
  if (count < 0) return AM_ERR_BAD_ARG;
  return with(endpoint, [&](Endpoint& of) { return of.set_handlers(static_cast<std::uint32_t>(count)); });
}

int AM_MaxNumHandlers(void) { return static_cast<int>(kHandlers); }

int AM_SetCallbacks(ep_t endpoint, void (*before)(void* token), void (*after)(void* token)) {
  return with(endpoint, [&](Endpoint& of) {
    try {
      return of.set_hooks(hook_of(before), hook_of(after));
    } catch (const std::bad_alloc&) {
      return Result::resource;
    }
  });
}

// --- what comes

int AM_Poll(eb_t bundle) {
  CBundle* const found = registry().bundles.find(bundle);
  return found != nullptr ? answer(found->bundle.poll()) : none();
}

int AM_GetEventMask(eb_t bundle, int* mask) {
  CBundle* const found = registry().bundles.find(bundle);
  if (found == nullptr || mask == nullptr) return none();
  *mask = found->bundle.events() ? AM_NOTEMPTY : AM_NOEVENTS;
  return AM_OK;
}

int AM_SetEventMask(eb_t bundle, int mask) {
  CBundle* const found = registry().bundles.find(bundle);
  if (found == nullptr) return none();
  if (mask != AM_NOEVENTS && mask != AM_NOTEMPTY) return AM_ERR_BAD_ARG;
  found->bundle.set_events(mask == AM_NOTEMPTY);
  return AM_OK;
}

int AM_WaitSema(eb_t bundle) {
  CBundle* const found = registry().bundles.find(bundle);
  return found != nullptr ? answer(found->bundle.wait()) : none();
}

int AM_GetSourceEndpoint(void* token, en_t* name) {
  if (token == nullptr || name == nullptr) return AM_ERR_BAD_ARG;
  const Token& of = *static_cast<Token*>(token);
  if (of.endpoint() == nullptr) return AM_ERR_BAD_ARG;
  *name = name_of(of.source());
  return AM_OK;
}

int AM_GetDestEndpoint(void* token, ep_t* endpoint) {
  if (token == nullptr || endpoint == nullptr) return AM_ERR_BAD_ARG;
  const Endpoint* const of = static_cast<Token*>(token)->endpoint();
  if (of == nullptr) return AM_ERR_BAD_ARG;
  *endpoint = static_cast<const CEndpoint*>(of)->handle;  // tokens of this interface are of its endpoints
  return AM_OK;
}

int AM_GetMsgTag(void* token, tag_t* tag) {
  if (token == nullptr || tag == nullptr) return AM_ERR_BAD_ARG;
  const Token& of = *static_cast<Token*>(token);
  if (of.endpoint() == nullptr) return AM_ERR_BAD_ARG;
  *tag = of.tag();
  return AM_OK;
}

int AM_MaxShort(void) { return static_cast<int>(kMostArguments); }
int AM_MaxMedium(void) { return static_cast<int>(kMostMedium); }
int AM_MaxLong(void) { return static_cast<int>(kMostLong); }

int AM_enEqual(en_t one, en_t other) { return std::memcmp(&one, &other, sizeof one) == 0; }

int AM_GetStatistics(ep_t endpoint, am_statistics_t* statistics) {
  if (statistics == nullptr) return AM_ERR_BAD_ARG;
  return with(endpoint, [&](Endpoint& of) {
    const auto found = of.statistics();
    std::memcpy(statistics, &found, sizeof found);
    return Result::ok;
  });
}

}  // extern "C"
