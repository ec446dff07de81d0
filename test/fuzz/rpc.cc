// Frames and words of calls, as any client or server may send them: arguments of each kind are read, and both
// machines hear what they were told, in any order.
//
// Besides not crashing: what was read whole is written again as the same bytes but for what stands between;
// views lie in the frame; a call is finished once, and no client holds another's stack busy.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "hamlyn/rpc/layout.h"
#include "library/no_link.h"
#include "rpc/server_machine.h"
#include "test/fuzz/input.h"
#include "test/fuzz/target.h"

namespace hamlyn::fuzz {
namespace {

using namespace internal_::rpc;

Goal goals[] = {
    {"frames that were whole", 300}, {"clients that were let in", 100}, {"calls that were taken", 100}};
Goal &whole = goals[0], &admitted = goals[1], &taken_calls = goals[2];

struct Entry {
  std::int32_t number = 0;
  bool good = false;
  std::array<std::uint16_t, 3> more{};
};
using Arguments = std::tuple<std::uint8_t, std::optional<std::string_view>, std::span<const Entry>,
                             std::vector<std::vector<std::string>>, std::pair<double, bool>>;

std::vector<std::byte> some_frame(Input& input) {
  std::vector<std::byte> out(512);
  Writer to(out);
  std::vector<Entry> entries(input.pick(4));
  std::vector<std::vector<std::string>> texts(input.pick(3), std::vector<std::string>(input.pick(3), "text"));
  Layout<Arguments>::put(to,
                         Arguments{static_cast<std::uint8_t>(input.pick(256)),
                                   input.pick(2) == 0 ? std::nullopt : std::optional<std::string_view>("abc"),
                                   entries,
                                   std::move(texts),
                                   {1.5, true}});
  out.resize(to.size());
  for (std::uint64_t i = input.pick(4); i > 0; --i)
    out[input.pick(out.size())] = static_cast<std::byte>(input.pick(256));
  if (input.pick(4) == 0) out.resize(input.pick(out.size() + 1));
  return out;
}

void read(Input& input) {
  std::vector<std::byte> frame = some_frame(input);
  Arguments arguments;
  Reader from(frame);
  Layout<Arguments>::get(from, arguments);
  if (!from.whole()) return;
  ++whole.times;
  const auto inside = [&](const void* data, std::size_t bytes) {
    const auto* const at = static_cast<const std::byte*>(data);
    return bytes == 0 || (at >= frame.data() && at + bytes <= frame.data() + frame.size());
  };
  const auto& text = std::get<1>(arguments);
  if (text) {
    ASSERT_TRUE(inside(text->data(), text->size()));
  }
  ASSERT_TRUE(inside(std::get<2>(arguments).data(), std::get<2>(arguments).size_bytes()));
  std::vector<std::byte> again(frame.size());
  Writer to(again);
  Layout<Arguments>::put(to, arguments);
  ASSERT_EQ(to.size(), frame.size());
}

// Memory of clients, and whether replies find room.
class Port {
 public:
  struct Place {
    Place(std::uint32_t number, std::size_t stacks, std::size_t frame) noexcept
        : first(first_frame(stacks, stride_of(frame))),
          bytes(first + stacks * stride_of(frame)),
          memory(std::make_unique<std::byte[]>(bytes)),
          number_(number) {}
    std::uint32_t number() const noexcept { return number_; }
    std::uint32_t long_number() const noexcept { return number_ + 1; }
    Ticket ticket() const { return {.slot = number_}; }
    Ticket long_ticket() const { return {.slot = number_ + 1, .entry = 0}; }
    std::span<std::byte> frame(const Notification& call) noexcept {
      return {memory.get() + call.offset, call.length};
    }
    std::span<std::byte> long_bytes(const Notification&) noexcept { return {memory.get(), bytes}; }
    void arm_long() noexcept {}
    std::uint64_t flag(std::size_t) noexcept { return 0; }
    void clear_flag(std::size_t, std::uint64_t) noexcept {}

    const std::size_t first;
    const std::size_t bytes;
    std::unique_ptr<std::byte[]> memory;

   private:
    std::uint32_t number_;
  };
  explicit Port(Input& input) : input_(input) {}
  std::unique_ptr<Place> make_place(std::uint64_t, std::size_t stacks, std::size_t frame, std::size_t) {
    ++admitted.times;
    auto out = std::make_unique<Place>(next_, stacks, frame);
    next_ += 2;
    return out;
  }
  static std::uint32_t index_of(std::uint32_t number) noexcept { return number; }
  std::uint32_t door() const noexcept { return 3; }
  Status send_fast(const Ticket&, std::span<const std::byte>, std::uint64_t, std::uint64_t, bool) noexcept {
    static constexpr std::array kAnswers{Status::ok, Status::queue_full, Status::link_ended, Status::refused};
    return kAnswers[input_.pick(kAnswers.size())];
  }
  Status send(const Ticket&, std::span<const std::byte>, const SendOptions&, SendHandle&) noexcept {
    return input_.pick(2) == 0 ? Status::pending : Status::queue_full;
  }
  Status status(SendHandle) const noexcept { return input_.pick(2) == 0 ? Status::pending : Status::ok; }
  void cancel(SendHandle) noexcept {}
  library::LinkNow link(std::uint64_t) noexcept { return {1 + input_.pick(3), 0}; }
  bool long_call(const Place&, const Notification& next, LongCall& out) const noexcept {
    out = {next.word, input_.pick(6)};
    return input_.pick(8) != 0;
  }
  std::uint32_t last() const noexcept { return next_; }

 private:
  Input& input_;
  std::uint32_t next_ = 10;
};

class Server {
 public:
  explicit Server(Input& input) : input_(input) {}
  void hear() {
    for (std::uint64_t i = input_.pick(60); i > 0 && !input_.empty(); --i) {
      switch (input_.pick(6)) {
        case 0:
          greet();
          break;
        case 1:
          finish();
          break;
        case 2:
          machine_.settle_owed();
          break;
        default:
          tell();
          break;
      }
    }
    while (!under_way_.empty()) finish();
  }

 private:
  using Machine = ServerMachine<Port>;
  void take(const Notification& next) {
    Machine::Taken out;
    if (machine_.hear(next, out) != Machine::Heard::call) return;
    ++taken_calls.times;
    for (const Machine::Taken& each : under_way_)
      ASSERT_TRUE(each.client != out.client || each.stack != out.stack) << "a second call on a busy stack";
    ASSERT_EQ(out.client->peer, next.peer);
    under_way_.push_back(out);
  }
  void greet() {
    const Greeting greeting{1,
                            2,
                            3,
                            4,
                            input_.pick(8) == 0
                                ? static_cast<std::uint32_t>(input_.number())
                                : shape_of(1 + static_cast<std::uint32_t>(input_.pick(4)), 256),
                            static_cast<std::uint32_t>(input_.pick(2000)),
                            5};
    const auto words = std::bit_cast<std::array<std::uint32_t, kGreetingWords>>(greeting);
    const std::uint64_t peer = 1 + input_.pick(3);
    const auto mark = static_cast<std::uint32_t>(input_.pick(3));
    for (std::size_t i = 0; i != kGreetingWords; ++i) {
      Notification next;
      next.fast = true;
      next.slot = 3;
      next.peer = peer;
      next.word = greeting_word(mark, i, words[i]);
      if (input_.pick(16) != 0) take(next);
    }
  }
  void tell() {
    Notification next;
    next.slot = static_cast<std::uint32_t>(input_.pick(port_.last() + 2));
    next.peer = input_.pick(4);
    next.fast = input_.pick(6) != 0;
    next.word =
        input_.pick(4) == 0
            ? input_.number()
            : word_of(CallWord{
                  .procedure = static_cast<std::uint16_t>(input_.pick(8) == 0 ? 0xFFF0 + input_.pick(6) : 1),
                  .sequence = static_cast<std::uint16_t>(input_.pick(20))});
    next.offset = input_.pick(8) == 0 ? input_.pick(2000) : 256 + 256 * input_.pick(5);
    next.length = input_.pick(200);
    if (input_.pick(12) == 0) next.kind = static_cast<Notification::Kind>(input_.pick(6));
    take(next);
  }
  void finish() {
    if (under_way_.empty()) return;
    const std::size_t which = input_.pick(under_way_.size());
    const Machine::Taken call = under_way_[which];
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(which));
    std::array<std::byte, 256> room;
    Writer reply(room);
    Cause cause = Cause::none;
    if (call.word.procedure() >= kReserved && !call.longer) {
      std::vector<std::byte> copy(call.frame.begin(), call.frame.end());
      cause = machine_.administer(call, copy, reply);
    }
    const std::size_t most = std::min(machine_.room(*call.client), sizeof room);
    machine_.finish(call, cause, true, std::span(room).first(std::min(reply.size(), most)));
  }

  Input& input_;
  Port port_{input_};
  const std::vector<Procedure> procedures_ = {{"a", "a()->nothing", 1, 2}};
  Machine machine_{port_,
                   {.clients = 4, .of_one = 2, .stacks = 3, .frame = 200, .long_frame = 1000, .result = 900},
                   procedures_};
  std::vector<Machine::Taken> under_way_;
};

}  // namespace

const RandomRuns random_runs{.runs = 600, .bytes = 600, .goals = goals};

void fuzz(std::span<const std::byte> bytes) {
  Input input{bytes};
  while (!input.empty()) {
    if (input.pick(3) == 0)
      read(input);
    else
      Server{input}.hear();
  }
}

}  // namespace hamlyn::fuzz
