#include "hamlyn/c/splitc.h"

#include <cstring>
#include <memory>
#include <span>

#include "c/options.h"
#include "c/status.h"
#include "c/values.h"
#include "hamlyn/splitc.h"

using namespace hamlyn::c;
using hamlyn::splitc::global_ptr;
namespace language = hamlyn::splitc;
namespace inside = hamlyn::internal_::splitc;

namespace {

std::unique_ptr<language::Program>& program() {
  static std::unique_ptr<language::Program> one;
  return one;
}

const char* read_options(const hamlyn_splitc_options* given, language::ProgramOptions& options) {
  hamlyn_splitc_options asked;
  if (const char* const wrong = take_options(given, asked)) return wrong;
  if (asked.guarded > 1) return "guarded is 0 or 1";
  if (asked.heap != 0) options.heap = asked.heap;
  options.guarded = asked.guarded != 0;
  if (asked.over > 2) return "over is 0, 1 or 2";
  options.over = static_cast<language::Over>(asked.over);
  options.credits = asked.credits;
  return nullptr;
}

// A pointer to a plain type.
template <class Type>
global_ptr<Type> pointer_to(hamlyn_global place) {
  return global_ptr<Type>::from_word(place);
}

template <class Work>
hamlyn_status with_bytes(const char* call, const void* data, std::size_t bytes, Work work) {
  if (!readable(data, bytes)) return invalid_argument(call, "a NULL argument");
  return hamlyn::c::answer(call, {}, work);
}
std::span<std::byte> room_for(void* data, std::size_t bytes) {
  return {static_cast<std::byte*>(data), bytes};
}

}  // namespace

hamlyn_status hamlyn_splitc_begin(int* count, char** words, const hamlyn_splitc_options* options) {
  language::ProgramOptions asked;
  if (const char* const wrong = read_options(options, asked)) return invalid_argument(__func__, wrong);
  if ((count == nullptr) != (words == nullptr)) return invalid_argument(__func__, "a NULL argument");
  return answer(__func__, {}, [&] {
    program() = count == nullptr ? std::make_unique<language::Program>(asked)
                                 : std::make_unique<language::Program>(*count, words, asked);
  });
}

hamlyn_status hamlyn_splitc_end() {
  return answer(__func__, {}, [] {
    if (program() == nullptr)
      throw hamlyn::Error(hamlyn::ErrorCode::invalid_argument, "there is no Split-C program");
    program()->end();
    program().reset();
  });
}

std::uint32_t hamlyn_splitc_rank() { return language::rank(); }
std::uint32_t hamlyn_splitc_ranks() { return language::ranks(); }
hamlyn_status hamlyn_splitc_poll() {
  return answer(__func__, {}, [] { language::poll(); });
}

hamlyn_status hamlyn_splitc_allocate(std::size_t bytes, hamlyn_global* made) {
  return answer(__func__, {made}, [&] { *made = inside::allocate(bytes, 1); });
}
hamlyn_status hamlyn_splitc_deallocate(hamlyn_global mine) {
  return answer(__func__, {}, [&] { inside::deallocate(mine); });
}
hamlyn_status hamlyn_splitc_allocate_everywhere(std::size_t bytes, hamlyn_global* made) {
  return answer(__func__, {made}, [&] { *made = inside::allocate_everywhere(bytes, 1); });
}
hamlyn_status hamlyn_splitc_deallocate_everywhere(hamlyn_global mine) {
  return answer(__func__, {}, [&] { inside::deallocate_everywhere(mine); });
}
hamlyn_global hamlyn_splitc_at(hamlyn_global place, std::uint32_t rank) {
  return pointer_to<std::byte>(place).at(rank).word();
}
hamlyn_global hamlyn_splitc_moved(hamlyn_global place, std::int64_t bytes) {
  return inside::moved(place, static_cast<std::uint64_t>(bytes));
}
std::uint32_t hamlyn_splitc_owner(hamlyn_global place) { return pointer_to<std::byte>(place).owner(); }
void* hamlyn_splitc_local(hamlyn_global place, std::size_t bytes) { return inside::local(place, bytes); }

hamlyn_status hamlyn_splitc_read_char(hamlyn_global from, char* into) {
  return answer(__func__, {into}, [&] { *into = *pointer_to<char>(from); });
}
hamlyn_status hamlyn_splitc_read_short(hamlyn_global from, short* into) {
  return answer(__func__, {into}, [&] { *into = *pointer_to<short>(from); });
}
hamlyn_status hamlyn_splitc_read_int(hamlyn_global from, int* into) {
  return answer(__func__, {into}, [&] { *into = *pointer_to<int>(from); });
}
hamlyn_status hamlyn_splitc_read_long(hamlyn_global from, long* into) {
  return answer(__func__, {into}, [&] { *into = *pointer_to<long>(from); });
}
hamlyn_status hamlyn_splitc_read_float(hamlyn_global from, float* into) {
  return answer(__func__, {into}, [&] { *into = *pointer_to<float>(from); });
}
hamlyn_status hamlyn_splitc_read_double(hamlyn_global from, double* into) {
  return answer(__func__, {into}, [&] { *into = *pointer_to<double>(from); });
}

hamlyn_status hamlyn_splitc_write_char(hamlyn_global where, char value) {
  return answer(__func__, {}, [&] { *pointer_to<char>(where) = value; });
}
hamlyn_status hamlyn_splitc_write_short(hamlyn_global where, short value) {
  return answer(__func__, {}, [&] { *pointer_to<short>(where) = value; });
}
hamlyn_status hamlyn_splitc_write_int(hamlyn_global where, int value) {
  return answer(__func__, {}, [&] { *pointer_to<int>(where) = value; });
}
hamlyn_status hamlyn_splitc_write_long(hamlyn_global where, long value) {
  return answer(__func__, {}, [&] { *pointer_to<long>(where) = value; });
}
hamlyn_status hamlyn_splitc_write_float(hamlyn_global where, float value) {
  return answer(__func__, {}, [&] { *pointer_to<float>(where) = value; });
}
hamlyn_status hamlyn_splitc_write_double(hamlyn_global where, double value) {
  return answer(__func__, {}, [&] { *pointer_to<double>(where) = value; });
}

hamlyn_status hamlyn_splitc_get_char(hamlyn_global from, char* into) {
  return answer(__func__, {into}, [&] { language::get(*into, pointer_to<char>(from)); });
}
hamlyn_status hamlyn_splitc_get_short(hamlyn_global from, short* into) {
  return answer(__func__, {into}, [&] { language::get(*into, pointer_to<short>(from)); });
}
hamlyn_status hamlyn_splitc_get_int(hamlyn_global from, int* into) {
  return answer(__func__, {into}, [&] { language::get(*into, pointer_to<int>(from)); });
}
hamlyn_status hamlyn_splitc_get_long(hamlyn_global from, long* into) {
  return answer(__func__, {into}, [&] { language::get(*into, pointer_to<long>(from)); });
}
hamlyn_status hamlyn_splitc_get_float(hamlyn_global from, float* into) {
  return answer(__func__, {into}, [&] { language::get(*into, pointer_to<float>(from)); });
}
hamlyn_status hamlyn_splitc_get_double(hamlyn_global from, double* into) {
  return answer(__func__, {into}, [&] { language::get(*into, pointer_to<double>(from)); });
}

hamlyn_status hamlyn_splitc_put_char(hamlyn_global where, char value) {
  return answer(__func__, {}, [&] { language::put(pointer_to<char>(where), value); });
}
hamlyn_status hamlyn_splitc_put_short(hamlyn_global where, short value) {
  return answer(__func__, {}, [&] { language::put(pointer_to<short>(where), value); });
}
hamlyn_status hamlyn_splitc_put_int(hamlyn_global where, int value) {
  return answer(__func__, {}, [&] { language::put(pointer_to<int>(where), value); });
}
hamlyn_status hamlyn_splitc_put_long(hamlyn_global where, long value) {
  return answer(__func__, {}, [&] { language::put(pointer_to<long>(where), value); });
}
hamlyn_status hamlyn_splitc_put_float(hamlyn_global where, float value) {
  return answer(__func__, {}, [&] { language::put(pointer_to<float>(where), value); });
}
hamlyn_status hamlyn_splitc_put_double(hamlyn_global where, double value) {
  return answer(__func__, {}, [&] { language::put(pointer_to<double>(where), value); });
}

hamlyn_status hamlyn_splitc_store_char(hamlyn_global where, char value) {
  return answer(__func__, {}, [&] { language::store(pointer_to<char>(where), value); });
}
hamlyn_status hamlyn_splitc_store_short(hamlyn_global where, short value) {
  return answer(__func__, {}, [&] { language::store(pointer_to<short>(where), value); });
}
hamlyn_status hamlyn_splitc_store_int(hamlyn_global where, int value) {
  return answer(__func__, {}, [&] { language::store(pointer_to<int>(where), value); });
}
hamlyn_status hamlyn_splitc_store_long(hamlyn_global where, long value) {
  return answer(__func__, {}, [&] { language::store(pointer_to<long>(where), value); });
}
hamlyn_status hamlyn_splitc_store_float(hamlyn_global where, float value) {
  return answer(__func__, {}, [&] { language::store(pointer_to<float>(where), value); });
}
hamlyn_status hamlyn_splitc_store_double(hamlyn_global where, double value) {
  return answer(__func__, {}, [&] { language::store(pointer_to<double>(where), value); });
}

hamlyn_status hamlyn_splitc_read_bytes(hamlyn_global from, void* into, std::size_t bytes) {
  return with_bytes(__func__, into, bytes, [&] { inside::bulk_read(from, room_for(into, bytes), nullptr); });
}
hamlyn_status hamlyn_splitc_write_bytes(hamlyn_global where, const void* from, std::size_t bytes) {
  return with_bytes(__func__, from, bytes,
                    [&] { inside::bulk_write(where, bytes_at(from, bytes), nullptr); });
}
hamlyn_status hamlyn_splitc_get_bytes(hamlyn_global from, void* into, std::size_t bytes) {
  return with_bytes(__func__, into, bytes,
                    [&] { inside::get(from, room_for(into, bytes), nullptr, nullptr); });
}
hamlyn_status hamlyn_splitc_put_bytes(hamlyn_global where, const void* from, std::size_t bytes) {
  return with_bytes(__func__, from, bytes,
                    [&] { inside::bulk_put(where, bytes_at(from, bytes), nullptr, nullptr); });
}
hamlyn_status hamlyn_splitc_store_bytes(hamlyn_global where, const void* from, std::size_t bytes) {
  return with_bytes(__func__, from, bytes,
                    [&] { inside::bulk_store(where, bytes_at(from, bytes), nullptr, 0); });
}
hamlyn_status hamlyn_splitc_store_counted(hamlyn_global where, const void* from, std::size_t bytes,
                                          hamlyn_global counter) {
  if (counter == 0) return invalid_argument(__func__, "a NULL counter");
  return with_bytes(__func__, from, bytes,
                    [&] { inside::bulk_store(where, bytes_at(from, bytes), nullptr, counter); });
}

hamlyn_status hamlyn_splitc_sync() {
  return answer(__func__, {}, [] { language::sync(); });
}
hamlyn_status hamlyn_splitc_store_sync(std::size_t bytes) {
  return answer(__func__, {}, [&] { language::store_sync(bytes); });
}
hamlyn_status hamlyn_splitc_all_store_sync() {
  return answer(__func__, {}, [] { language::all_store_sync(); });
}
hamlyn_status hamlyn_splitc_wait_for(const std::uint64_t* mine, std::uint64_t at_least) {
  return answer(__func__, {mine}, [&] { language::wait_for(*mine, at_least); });
}

hamlyn_status hamlyn_splitc_fetch(hamlyn_global word, const hamlyn_fetch_request* request,
                                  std::uint64_t* before) {
  if (request != nullptr && request->bytes != 4 && request->bytes != 8)
    return invalid_argument(__func__, "a word of other than 4 or 8 bytes");
  if (request != nullptr && request->op != HAMLYN_ADD && request->op != HAMLYN_SWAP &&
      request->op != HAMLYN_COMPARE_AND_SWAP)
    return invalid_argument(__func__, "an operation other than to add, swap, or compare and swap");
  return answer(__func__, {request, before}, [&] { *before = inside::fetch(word, fetch_of(*request)); });
}

hamlyn_status hamlyn_splitc_barrier() {
  return answer(__func__, {}, [] { language::barrier(); });
}
hamlyn_status hamlyn_splitc_broadcast(void* data, std::size_t bytes, std::uint32_t root) {
  return with_bytes(__func__, data, bytes, [&] {
    const std::byte* const all = inside::gather(inside::Kind::broadcast, root, data, bytes);
    if (bytes != 0) std::memcpy(data, all + root * bytes, bytes);
  });
}
hamlyn_status hamlyn_splitc_gather(const void* mine, std::size_t bytes, void* all) {
  if (!readable(all, bytes)) return invalid_argument(__func__, "a NULL argument");
  return with_bytes(__func__, mine, bytes, [&] {
    const std::byte* const found = inside::gather(inside::Kind::gather, 0, mine, bytes);
    if (bytes != 0) std::memcpy(all, found, language::ranks() * bytes);
  });
}
hamlyn_status hamlyn_splitc_sum_long(long mine, long* sum) {
  return answer(__func__, {sum}, [&] { *sum = language::reduce_all(mine); });
}
hamlyn_status hamlyn_splitc_sum_double(double mine, double* sum) {
  return answer(__func__, {sum}, [&] { *sum = language::reduce_all(mine); });
}
