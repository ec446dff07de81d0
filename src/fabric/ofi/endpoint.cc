#include "fabric/ofi/endpoint.h"

#include <rdma/fi_errno.h>
#include <sys/mman.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <utility>

#include "base/uncancelled.h"
#include "fabric/ofi/engine.h"
#include "fabric/ofi/libfabric.h"
#include "fabric/ofi/owned.h"
#include "hamlyn/values/error.h"

namespace hamlyn::ofi {

namespace {

constexpr std::size_t kCompletions = 32;  // read at once

// Memory for so many frames, registered where the engine wants that.
class Slab {
 public:
  Slab(std::size_t frames, fid_domain* domain, bool registered) : bytes_(frames * kFrameLimit) {
    void* const at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw Error(ErrorCode::out_of_memory, "no memory for frames");
    data_ = static_cast<std::byte*>(at);
    madvise(at, bytes_, MADV_DONTFORK);
    if (!registered) return;
    fid_mr* region = nullptr;
    const int error = fi_mr_reg(domain, data_, bytes_, FI_SEND | FI_RECV, 0, 0, 0, &region, nullptr);
    region_.reset(region);
    if (error != 0) {
      munmap(data_, bytes_);
      fail("fi_mr_reg", error);
    }
  }
  ~Slab() {
    region_.reset();
    munmap(data_, bytes_);
  }
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  std::byte* frame(std::size_t index) const noexcept { return data_ + index * kFrameLimit; }
  void* descriptor() const noexcept { return region_ ? fi_mr_desc(region_.get()) : nullptr; }

 private:
  std::size_t bytes_;
  std::byte* data_ = nullptr;
  Owned<fid_mr> region_;
};

}  // namespace

// In the order in which they are made; they go in the reverse of it.
struct Endpoint::Parts {
  struct OwnFrame : Frame {
    void* descriptor = nullptr;
  };
  struct OwnArrival : Arrival {
    void* descriptor = nullptr;
    OwnArrival* next = nullptr;
  };

  EngineChoice choice;
  Opened opened;
  std::deque<std::unique_ptr<Slab>> slabs;
  std::deque<OwnFrame> frames;
  std::deque<OwnArrival> arrivals;
  Frame* free_frames = nullptr;
  OwnArrival* to_post = nullptr;
  std::uint32_t wanted_frames = 0, wanted_buffers = 0;
  std::uint64_t errors = 0;
  fid* fids[1]{};

  ~Parts() {
    opened.endpoint.reset();  // lets go of all buffers
    if (choice.info != nullptr) libfabric().freeinfo(choice.info);
  }

  bool local() const noexcept { return (choice.info->domain_attr->mr_mode & FI_MR_LOCAL) != 0; }
  void make_buffers();
  void post() noexcept;
};

Endpoint::Endpoint(const Options& options) : parts_(std::make_unique<Parts>()) {
  NoForks::check();
  const NoForks guard;
  Parts& parts = *parts_;
  parts.choice = choose_engine(options.address, options.engine);
  if (parts.choice.info == nullptr) {
    if (!options.engine.empty())  // short: the node is told
      throw Error(ErrorCode::not_permitted,
                  parts.choice.reasons.back() + " (libfabric " + parts.choice.version + ")");
    std::string why = "libfabric " + parts.choice.version + " has no engine for links to other hosts";
    for (const std::string& reason : parts.choice.reasons) why += "; " + reason;
    throw Error(ErrorCode::system, why);
  }
  constexpr std::size_t kQueue = 4096;
  parts.opened = open_endpoint(*parts.choice.info, kQueue, FI_WAIT_FD);
  parts.wanted_frames = options.frames;
  parts.wanted_buffers = options.buffers;
  parts.make_buffers();
  parts.fids[0] = &parts.opened.completions->fid;
  parts.post();
}

Endpoint::~Endpoint() {
  const NoForks guard;
  parts_.reset();
}

const std::string& Endpoint::engine() const noexcept { return parts_->choice.name; }
const std::vector<std::byte>& Endpoint::address() const noexcept { return parts_->opened.name; }
std::uint64_t Endpoint::errors() const noexcept { return parts_->errors; }

Destination Endpoint::insert(std::span<const std::byte> address) noexcept {
  fi_addr_t inserted = FI_ADDR_UNSPEC;
  if (address.size() != parts_->opened.name.size() ||
      fi_av_insert(parts_->opened.addresses.get(), address.data(), 1, &inserted, 0, nullptr) != 1)
    return kNowhere;
  return inserted;
}

void Endpoint::forget(Destination to) noexcept {
  fi_addr_t address = to;
  fi_av_remove(parts_->opened.addresses.get(), &address, 1, 0);
}

// --- buffers

void Endpoint::Parts::make_buffers() {
  const std::size_t more_frames = wanted_frames - std::min<std::size_t>(wanted_frames, frames.size());
  const std::size_t more_buffers = wanted_buffers - std::min<std::size_t>(wanted_buffers, arrivals.size());
  if (more_frames + more_buffers == 0) return;
  Slab& slab =
      *slabs.emplace_back(std::make_unique<Slab>(more_frames + more_buffers, opened.domain.get(), local()));
  for (std::size_t i = 0; i < more_frames; ++i) {
    OwnFrame& frame = frames.emplace_back();
    frame.bytes = slab.frame(i);
    frame.descriptor = slab.descriptor();
    frame.next_free = std::exchange(free_frames, &frame);
  }
  for (std::size_t i = 0; i < more_buffers; ++i) {
    OwnArrival& arrival = arrivals.emplace_back();
    arrival.bytes = slab.frame(more_frames + i);
    arrival.descriptor = slab.descriptor();
    arrival.next = std::exchange(to_post, &arrival);
  }
}

void Endpoint::Parts::post() noexcept {
  while (OwnArrival* const arrival = to_post) {
    const auto error = fi_recv(opened.endpoint.get(), arrival->bytes, kFrameLimit, arrival->descriptor,
                               FI_ADDR_UNSPEC, arrival->own.data());
    if (error != 0) return;  // again with the next look
    to_post = arrival->next;
  }
}

void Endpoint::expect(std::uint32_t links) {
  // Memory that is not used is not there. One link more can count on three buffers to receive in.
  parts_->wanted_frames = std::max(parts_->wanted_frames, frames_for(links));
  parts_->wanted_buffers = std::max(parts_->wanted_buffers, 3 * links);
}

Frame* Endpoint::take_frame() noexcept {
  Frame* const frame = parts_->free_frames;
  if (frame != nullptr) parts_->free_frames = frame->next_free;
  return frame;
}

bool Endpoint::frame_free() const noexcept { return parts_->free_frames != nullptr; }

void Endpoint::give_back(Frame& frame) noexcept {
  frame.next_free = std::exchange(parts_->free_frames, &frame);
}

void Endpoint::give_back(Arrival& arrival) noexcept {
  auto& own = static_cast<Parts::OwnArrival&>(arrival);
  own.next = std::exchange(parts_->to_post, &own);
}

// --- frames

std::uint64_t Endpoint::now() noexcept {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

bool Endpoint::send(Destination to, Frame& frame) noexcept {
  const base::Uncancelled guard;  // libfabric's sockets
  auto& own = static_cast<Parts::OwnFrame&>(frame);
  const auto error =
      fi_send(parts_->opened.endpoint.get(), frame.bytes, frame.length, own.descriptor, to, frame.own.data());
  if (error == 0) frame.under_way = true;
  return error == 0;
}

// Its loss does not matter, so that nobody has to be told of it (and an inject never tells).
bool Endpoint::send_short(Destination to, std::span<const std::byte> frame) noexcept {
  const base::Uncancelled guard;
  return fi_inject(parts_->opened.endpoint.get(), frame.data(), frame.size(), to) == 0;
}

namespace {

// `length`: what has come, 0 if it is nothing.
void tell(Sink& sink, Wire& wire, void* context, std::size_t length) noexcept {
  auto* const told = static_cast<WireContext*>(context);  // its context is its first member
  if (!told->comes) return sink.let_go(*static_cast<Frame*>(told));
  auto& arrival = *static_cast<Arrival*>(told);
  arrival.length = static_cast<std::uint32_t>(length);
  if (length == 0) return wire.give_back(arrival);
  sink.arrived(arrival);
}

}  // namespace

bool Endpoint::poll(Sink& sink) noexcept {
  const base::Uncancelled guard;
  Parts& parts = *parts_;
  if (parts.wanted_frames > parts.frames.size() || parts.wanted_buffers > parts.arrivals.size()) {
    try {
      parts.make_buffers();
    } catch (const std::exception&) {
      parts.wanted_frames = parts.wanted_buffers = 0;  // there is no memory: links share what there is
    }
  }
  if (parts.to_post != nullptr) parts.post();
  bool happened = false;
  fi_cq_msg_entry entries[kCompletions];
  while (true) {
    const auto count = fi_cq_read(parts.opened.completions.get(), entries, kCompletions);
    if (count == -FI_EAVAIL) {
      fi_cq_err_entry error{};
      if (fi_cq_readerr(parts.opened.completions.get(), &error, 0) <= 0) break;
      ++parts.errors;
      happened = true;
      if (error.op_context != nullptr) tell(sink, *this, error.op_context, 0);
      continue;
    }
    if (count <= 0) break;
    happened = true;
    for (std::int64_t i = 0; i < count; ++i) tell(sink, *this, entries[i].op_context, entries[i].len);
    if (static_cast<std::size_t>(count) < kCompletions) break;
  }
  if (parts.to_post != nullptr) parts.post();
  return happened;
}

// --- sleep

int Endpoint::descriptor() const noexcept {
  int descriptor = -1;
  return fi_control(&parts_->opened.completions->fid, FI_GETWAIT, &descriptor) == 0 ? descriptor : -1;
}

bool Endpoint::may_sleep() noexcept { return fi_trywait(parts_->opened.fabric.get(), parts_->fids, 1) == 0; }

}  // namespace hamlyn::ofi
