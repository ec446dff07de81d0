#include "hamlyn/core/buffer_pool.h"

#include <algorithm>
#include <mutex>

#include "library/engine.h"
#include "library/with_memory.h"

namespace hamlyn {

namespace {

constexpr std::size_t kMostClasses = 8;
constexpr std::size_t kLine = 64;

std::size_t whole_lines(std::size_t bytes) { return (bytes + kLine - 1) / kLine * kLine; }

}  // namespace

struct BufferPool::Inside {
  // The buffers of one size, one behind the other.
  struct Row {
    std::size_t first;  // in the area
    std::size_t bytes;  // of each
    std::vector<std::uint32_t> free;
    std::vector<Whose> whose;  // each of them is

    Row(std::size_t at, const BufferClass& of) : first(at), bytes(of.bytes), whose(of.count) {
      free.reserve(of.count);
      for (std::uint32_t i = of.count; i != 0; --i) free.push_back(i - 1);
    }
    std::size_t stride() const noexcept { return whole_lines(bytes); }
    std::size_t end() const noexcept { return first + stride() * whose.size(); }
  };

  Inside(library::Engine& of, std::span<std::byte> memory) : engine(of), area(memory) {}

  library::Engine& engine;
  const std::span<std::byte> area;
  std::mutex mutex;
  std::vector<Row> rows;  // the shorter first
};

BufferPool::BufferPool(Interface& interface, std::span<std::byte> area,
                       const std::vector<BufferClass>& classes) try {
  if (interface.engine().lock().forked())
    throw Error(ErrorCode::forked, "a forked child has no interface: make a new one");
  if (classes.empty() || classes.size() > kMostClasses)
    throw Error(ErrorCode::invalid_argument, "a pool of buffers has 1 to 8 classes");
  auto inside = std::make_unique<Inside>(interface.engine(), area);
  std::size_t at = 0;
  for (const BufferClass& each : classes) {
    if (each.bytes == 0 || each.count == 0)
      throw Error(ErrorCode::invalid_argument, "a class of buffers has at least one, of at least one byte");
    if (each.bytes > area.size() || each.count > (area.size() - at) / whole_lines(each.bytes))
      throw Error(ErrorCode::invalid_argument, "the area is too small for these buffers");
    inside->rows.emplace_back(at, each);
    at = inside->rows.back().end();
  }
  std::ranges::sort(inside->rows, {}, &Inside::Row::bytes);
  inside_ = std::move(inside);
} catch (const std::bad_alloc&) {
  library::throw_no_memory("a pool of buffers");
}

BufferPool::~BufferPool() = default;

Status BufferPool::take(std::size_t bytes, Buffer& out) noexcept {
  out.give_back();
  Inside& inside = *inside_;
  if (inside.engine.lock().forked()) return Status::forked;
  if (bytes == 0) return Status::invalid;
  if (bytes > inside.rows.back().bytes) return Status::too_long;
  const std::lock_guard guard(inside.mutex);
  for (Inside::Row& row : inside.rows) {
    if (row.bytes < bytes || row.free.empty()) continue;
    const std::uint32_t index = row.free.back();
    row.free.pop_back();
    row.whose[index] = Whose::buffers;
    out.pool_ = this;
    out.offset_ = row.first + index * row.stride();
    out.bytes_ = inside.area.subspan(out.offset_, bytes);
    return Status::ok;
  }
  return Status::no_buffer;
}

Status BufferPool::give_back(const std::byte* buffer) noexcept {
  return pass(buffer, Whose::callers, Whose::pools);
}

Status BufferPool::pass(const std::byte* buffer, Whose from, Whose to) noexcept {
  Inside& inside = *inside_;
  if (inside.engine.lock().forked()) return Status::forked;
  // Numbers: of pointers to elsewhere nothing is said.
  const std::size_t at =
      reinterpret_cast<std::uintptr_t>(buffer) - reinterpret_cast<std::uintptr_t>(inside.area.data());
  const std::lock_guard guard(inside.mutex);
  for (Inside::Row& row : inside.rows) {
    if (at < row.first || at >= row.end()) continue;
    const std::size_t index = (at - row.first) / row.stride();
    if ((at - row.first) % row.stride() != 0 || row.whose[index] != from) return Status::invalid;
    row.whose[index] = to;
    if (to == Whose::pools) row.free.push_back(static_cast<std::uint32_t>(index));
    return Status::ok;
  }
  return Status::invalid;
}

std::uint32_t BufferPool::free_buffers() const noexcept {
  if (inside_->engine.lock().forked()) return 0;
  const std::lock_guard guard(inside_->mutex);
  std::size_t sum = 0;
  for (const Inside::Row& row : inside_->rows) sum += row.free.size();
  return static_cast<std::uint32_t>(sum);
}

void Buffer::give_back() noexcept {
  if (pool_ == nullptr) return;
  // Can fail in a forked child alone, which has no buffers.
  static_cast<void>(pool_->pass(bytes_.data(), BufferPool::Whose::buffers, BufferPool::Whose::pools));
  forget();
}

std::byte* Buffer::release() noexcept {
  if (pool_ == nullptr) return nullptr;
  std::byte* const at = bytes_.data();
  // Can fail in a forked child alone, which has no buffers.
  static_cast<void>(pool_->pass(at, BufferPool::Whose::buffers, BufferPool::Whose::callers));
  forget();
  return at;
}

}  // namespace hamlyn
