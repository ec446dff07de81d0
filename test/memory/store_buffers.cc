#include "test/memory/store_buffers.h"

#include <cstring>

namespace hamlyn::test {

// The own newest store if it is still in the buffer, byte by byte, otherwise memory.
std::vector<std::uint64_t> StoreBuffers::values(std::size_t task, Word word) const {
  std::byte bytes[8] = {};
  std::memcpy(bytes, memory_.data() + word.at, word.bytes);
  for (const Store& store : buffers_[task]) {
    std::byte stored[8];
    std::memcpy(stored, &store.value, sizeof stored);
    for (std::size_t i = 0; i < store.word.bytes; ++i) {
      const std::size_t at = store.word.at + i;
      if (at >= word.at && at < word.at + word.bytes) bytes[at - word.at] = stored[i];
    }
  }
  std::uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  return {value};
}

bool StoreBuffers::take(std::size_t task, Word word) {
  if (!may_pass(task) || values(task, word).front() != 0) return false;
  const std::uint64_t one = 1;
  std::memcpy(memory_.data() + word.at, &one, word.bytes);
  return true;
}

void StoreBuffers::move(std::size_t which) {
  std::deque<Store>& buffer = buffers_[which];
  if (buffer.empty()) return;
  std::memcpy(memory_.data() + buffer.front().word.at, &buffer.front().value, buffer.front().word.bytes);
  buffer.pop_front();
}

void StoreBuffers::add_to(std::string& key) const {
  key.append(reinterpret_cast<const char*>(memory_.data()), memory_.size());
  for (const std::deque<Store>& buffer : buffers_) {
    add_number(key, buffer.size());
    for (const Store& store : buffer) {
      add_number(key, store.word.at << 8 | store.word.bytes);
      add_number(key, store.value);
    }
  }
}

}  // namespace hamlyn::test
