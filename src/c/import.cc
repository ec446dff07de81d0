#include <vector>

#include "c/comparison.h"
#include "c/options.h"
#include "c/segment_handles.h"
#include "c/values.h"

using namespace hamlyn::c;

namespace {

// Imports `from`, a name or a ticket, with the options that the caller gave. `begin`: nothing, or
// hamlyn::kBegin.
template <class From, class... Begin>
hamlyn_status import_from(const char* call, hamlyn_interface* interface, const From& from,
                          const hamlyn_import_options* options, hamlyn_import** made,
                          const Begin&... begin) noexcept {
  hamlyn_import_options given;
  if (const char* const wrong = take_options(options, given)) return invalid_argument(call, wrong);
  if (given.access > HAMLYN_WRITE_ONLY) return invalid_argument(call, "no such access");
  if ((given.flags & ~HAMLYN_NO_MAP) != 0) return invalid_argument(call, "unknown flags");
  hamlyn::Import::Options how;
  how.access = static_cast<hamlyn::Access>(given.access);
  how.map = (given.flags & HAMLYN_NO_MAP) == 0;
  if (given.timeout != 0) how.timeout = milliseconds_of(given.timeout);
  return make(call, made, interface->uses, interface->it, from, how, begin...);
}

// Writes with the options that the caller gave.
template <class Write>
hamlyn_status write_with(const char* call, const hamlyn_write_options* options, Write&& write) noexcept {
  hamlyn_write_options given;
  if (const char* const wrong = take_options(options, given)) return invalid_argument(call, wrong);
  if ((given.flags & ~(HAMLYN_NOTIFY | kElements)) != 0) return invalid_argument(call, "unknown flags");
  if (const char* const wrong = strides_fault(given.strides)) return invalid_argument(call, wrong);
  hamlyn::Strides strides;
  if (given.strides != nullptr) strides = from(*given.strides);
  return number(write(hamlyn::WriteOptions{.notify = (given.flags & HAMLYN_NOTIFY) != 0,
                                           .strides = given.strides == nullptr ? nullptr : &strides,
                                           .element = element_in(given.flags)}));
}

// Reads with the options that the caller gave.
template <class Read>
hamlyn_status read_with(const char* call, const hamlyn_read_options* options, Read&& read) noexcept {
  hamlyn_read_options given;
  if (const char* const wrong = take_options(options, given)) return invalid_argument(call, wrong);
  if ((given.flags & ~(HAMLYN_NOTIFY | HAMLYN_TELL)) != 0) return invalid_argument(call, "unknown flags");
  if (const char* const wrong = strides_fault(given.strides)) return invalid_argument(call, wrong);
  hamlyn::Strides strides;
  if (given.strides != nullptr) strides = from(*given.strides);
  return number(read(hamlyn::ReadOptions{.notify = (given.flags & HAMLYN_NOTIFY) != 0,
                                         .strides = given.strides == nullptr ? nullptr : &strides,
                                         .tell_exporter = (given.flags & HAMLYN_TELL) != 0}));
}

std::span<std::byte> room_at(void* into, std::size_t length) noexcept {
  return {static_cast<std::byte*>(into), length};
}

}  // namespace

hamlyn_status hamlyn_import_make(hamlyn_interface* interface, const char* name,
                                 const hamlyn_import_options* options, hamlyn_import** made) {
  if (interface == nullptr || name == nullptr || made == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  return import_from(__func__, interface, std::string_view(name), options, made);
}

hamlyn_status hamlyn_import_make_of(hamlyn_interface* interface, const hamlyn_ticket* ticket,
                                    const hamlyn_import_options* options, hamlyn_import** made) {
  if (interface == nullptr || ticket == nullptr || made == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  return import_from(__func__, interface, from(*ticket), options, made);
}

hamlyn_status hamlyn_import_begin(hamlyn_interface* interface, const char* name,
                                  const hamlyn_import_options* options, hamlyn_import** made) {
  if (interface == nullptr || name == nullptr || made == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  return import_from(__func__, interface, std::string_view(name), options, made, hamlyn::kBegin);
}

hamlyn_status hamlyn_import_begin_of(hamlyn_interface* interface, const hamlyn_ticket* ticket,
                                     const hamlyn_import_options* options, hamlyn_import** made) {
  if (interface == nullptr || ticket == nullptr || made == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  return import_from(__func__, interface, from(*ticket), options, made, hamlyn::kBegin);
}

hamlyn_status hamlyn_import_open(hamlyn_import* import, std::int64_t timeout) {
  return answer(__func__, {import}, [&] { import->it.open(time_of(timeout)); });
}

hamlyn_status hamlyn_import_free(hamlyn_import* import) { return free_handle(__func__, import); }

hamlyn_status hamlyn_import_size(const hamlyn_import* import, std::size_t* size) {
  return answer(__func__, {import, size}, [&] { *size = import->it.size(); });
}

hamlyn_status hamlyn_import_mapped(const hamlyn_import* import, const void** data, std::size_t* length) {
  return answer(__func__, {import, data, length}, [&] {
    *data = import->it.mapped().data();
    *length = import->it.mapped().size();
  });
}

hamlyn_status hamlyn_import_current(const hamlyn_import* import, int* current) {
  return answer(__func__, {import, current}, [&] { *current = import->it.current() ? 1 : 0; });
}

hamlyn_status hamlyn_import_not_mapped(const hamlyn_import* import, std::uint32_t* why) {
  return answer(__func__, {import, why}, [&] { *why = static_cast<std::uint32_t>(import->it.not_mapped()); });
}

// --- writing

hamlyn_status hamlyn_write(hamlyn_import* import, std::size_t offset, const void* data, std::size_t length,
                           const hamlyn_write_options* options, hamlyn_send_handle* handle) {
  if (import == nullptr || !readable(data, length)) return invalid_argument(__func__, "a NULL argument");
  hamlyn::SendHandle own;
  const hamlyn_status status = write_with(__func__, options, [&](const hamlyn::WriteOptions& how) {
    return import->it.write(offset, bytes_at(data, length), how, &own);
  });
  if (handle != nullptr && (status == HAMLYN_OK || status == HAMLYN_PENDING)) *handle = to(own);
  return status;
}

hamlyn_status hamlyn_write_wait(hamlyn_import* import, std::size_t offset, const void* data,
                                std::size_t length, const hamlyn_write_options* options,
                                std::int64_t timeout) {
  if (import == nullptr || !readable(data, length)) return invalid_argument(__func__, "a NULL argument");
  return write_with(__func__, options, [&](const hamlyn::WriteOptions& how) {
    return import->it.write(offset, bytes_at(data, length), time_of(timeout), how);
  });
}

hamlyn_status hamlyn_write_state(const hamlyn_import* import, hamlyn_send_handle handle) {
  return answer(__func__, {import}, [&] { return import->it.status(from(handle)); });
}

hamlyn_status hamlyn_write_flush(hamlyn_import* import, std::int64_t timeout, std::uint32_t* cause) {
  if (import == nullptr) return invalid_argument(__func__, "a NULL argument");
  const hamlyn::Status status = import->it.flush(time_of(timeout));
  if (cause != nullptr)
    *cause = status == hamlyn::Status::refused ? static_cast<std::uint32_t>(import->it.refusal())
                                               : static_cast<std::uint32_t>(HAMLYN_REFUSAL_NONE);
  return number(status);
}

hamlyn_status hamlyn_write_flush_begin(hamlyn_import* import, hamlyn_remote_handle* handle) {
  if (import == nullptr || handle == nullptr) return invalid_argument(__func__, "a NULL argument");
  hamlyn::RemoteHandle own;
  const hamlyn::Status status = import->it.begin_flush(&own);
  *handle = {own.sequence};
  return number(status);
}

hamlyn_status hamlyn_write_flush_all(hamlyn_import* const* imports, std::size_t count, std::int64_t timeout,
                                     hamlyn_status* each) {
  if (imports == nullptr && count != 0) return invalid_argument(__func__, "a NULL argument");
  return guarded(__func__, [&] {
    std::vector<hamlyn::Import*> all(count);
    std::vector<hamlyn::Status> answers(count, hamlyn::Status::invalid);
    for (std::size_t i = 0; i != count; ++i) all[i] = imports[i] == nullptr ? nullptr : &imports[i]->it;
    const hamlyn::Status status = hamlyn::Import::flush(all, time_of(timeout), answers);
    for (std::size_t i = 0; each != nullptr && i != count; ++i) each[i] = number(answers[i]);
    return number(status);
  });
}

hamlyn_status hamlyn_write_why(const hamlyn_import* import, std::uint32_t* reason, std::uint32_t* told) {
  return answer(__func__, {import, reason, told}, [&] { tell(import->it.why(), *reason, *told); });
}

hamlyn_status hamlyn_write_signal(hamlyn_import* import, std::size_t offset, const void* data,
                                  std::size_t length, std::size_t signal, std::uint64_t value,
                                  std::uint32_t how, std::int64_t timeout) {
  if (import == nullptr || !readable(data, length)) return invalid_argument(__func__, "a NULL argument");
  if (how != HAMLYN_SIGNAL_SET && how != HAMLYN_SIGNAL_ADD)
    return invalid_argument(__func__, "no such signal");
  return number(import->it.write_signal(offset, bytes_at(data, length), signal, value,
                                        static_cast<hamlyn::Signal>(how), time_of(timeout)));
}

hamlyn_status hamlyn_write_signal_word(hamlyn_import* import, std::size_t offset, const void* data,
                                       std::size_t length, const hamlyn_write_options* options,
                                       const hamlyn_signal_word* signal, std::int64_t timeout) {
  if (import == nullptr || signal == nullptr || !readable(data, length))
    return invalid_argument(__func__, "a NULL argument");
  hamlyn_signal_word asked;
  if (const char* const wrong = take_options(signal, asked)) return invalid_argument(__func__, wrong);
  if (asked.how != HAMLYN_SIGNAL_SET && asked.how != HAMLYN_SIGNAL_ADD)
    return invalid_argument(__func__, "no such signal");
  const hamlyn::SignalWord word{.offset = asked.offset,
                                .value = asked.value,
                                .how = static_cast<hamlyn::Signal>(asked.how),
                                .bytes = asked.bytes == 0 ? 8 : asked.bytes,
                                .in = asked.in == nullptr ? nullptr : &asked.in->it};
  return write_with(__func__, options, [&](const hamlyn::WriteOptions& how) {
    return import->it.write_signal(offset, bytes_at(data, length), word, time_of(timeout), how);
  });
}

// --- reading

hamlyn_status hamlyn_read(hamlyn_import* import, std::size_t offset, void* into, std::size_t length,
                          const hamlyn_read_options* options, std::int64_t timeout) {
  if (import == nullptr || !readable(into, length)) return invalid_argument(__func__, "a NULL argument");
  return read_with(__func__, options, [&](const hamlyn::ReadOptions& how) {
    return import->it.read(offset, room_at(into, length), time_of(timeout), how);
  });
}

hamlyn_status hamlyn_read_into(hamlyn_import* import, std::size_t offset, hamlyn_segment* into,
                               std::size_t at, std::size_t length, const hamlyn_read_options* options,
                               hamlyn_remote_handle* handle) {
  if (import == nullptr || into == nullptr) return invalid_argument(__func__, "a NULL argument");
  hamlyn::RemoteHandle own;
  const hamlyn_status status = read_with(__func__, options, [&](const hamlyn::ReadOptions& how) {
    return import->it.read(offset, into->it, at, length, how, &own);
  });
  if (handle != nullptr && (status == HAMLYN_OK || status == HAMLYN_PENDING)) *handle = {own.sequence};
  return status;
}

hamlyn_status hamlyn_read_begin(hamlyn_import* import, std::size_t offset, void* into, std::size_t length,
                                const hamlyn_read_options* options, hamlyn_remote_handle* handle) {
  if (import == nullptr || handle == nullptr || !readable(into, length))
    return invalid_argument(__func__, "a NULL argument");
  hamlyn::RemoteHandle own;
  const hamlyn_status status = read_with(__func__, options, [&](const hamlyn::ReadOptions& how) {
    return import->it.read(offset, room_at(into, length), &own, how);
  });
  *handle = {own.sequence};
  return status;
}

hamlyn_status hamlyn_read_cancel(hamlyn_import* import, hamlyn_remote_handle handle) {
  return answer(__func__, {import}, [&] { return import->it.cancel({handle.sequence}); });
}

hamlyn_status hamlyn_read_outcome(const hamlyn_import* import, hamlyn_remote_handle handle,
                                  hamlyn_outcome* outcome) {
  return answer(__func__, {import, outcome},
                [&] { return tell(import->it.outcome({handle.sequence}), *outcome); });
}

hamlyn_status hamlyn_read_wait(hamlyn_import* import, hamlyn_remote_handle handle, std::int64_t timeout,
                               hamlyn_outcome* outcome) {
  return answer(__func__, {import, outcome},
                [&] { return tell(import->it.wait({handle.sequence}, time_of(timeout)), *outcome); });
}

// --- words

hamlyn_status hamlyn_import_wait_until(hamlyn_import* import, std::size_t offset, std::uint32_t comparison,
                                       std::uint64_t value, std::int64_t timeout, std::uint64_t* word) {
  return wait_for_word(__func__, import, comparison, value, word,
                       [&](auto done) { return import->it.wait_until(offset, done, time_of(timeout)); });
}

hamlyn_status hamlyn_import_changed(hamlyn_import* import) {
  if (import == nullptr) return invalid_argument(__func__, "a NULL argument");
  return number(import->it.changed());
}

hamlyn_status hamlyn_import_fetch(hamlyn_import* import, std::size_t offset,
                                  const hamlyn_fetch_request* request, std::uint64_t flags,
                                  std::int64_t timeout, hamlyn_outcome* outcome) {
  if (import == nullptr || request == nullptr || outcome == nullptr)
    return invalid_argument(__func__, "a NULL argument");
  if (request->op < HAMLYN_ADD || request->op > HAMLYN_COMPARE_AND_SWAP)
    return invalid_argument(__func__, "no such operation");
  if ((flags & ~HAMLYN_TELL) != 0) return invalid_argument(__func__, "unknown flags");
  const hamlyn::FetchOptions how{.notify = flags != 0};
  return tell(import->it.fetch(offset, fetch_of(*request), time_of(timeout), how), *outcome);
}

hamlyn_status hamlyn_import_update(hamlyn_import* import, std::size_t offset,
                                   const hamlyn_fetch_request* request, std::uint64_t flags,
                                   std::int64_t timeout) {
  if (import == nullptr || request == nullptr) return invalid_argument(__func__, "a NULL argument");
  if (request->op < HAMLYN_ADD || request->op > HAMLYN_COMPARE_AND_SWAP)
    return invalid_argument(__func__, "no such operation");
  if ((flags & ~HAMLYN_TELL) != 0) return invalid_argument(__func__, "unknown flags");
  return number(import->it.update(offset, fetch_of(*request), time_of(timeout), {.notify = flags != 0}));
}

hamlyn_status hamlyn_compare_and_swap(hamlyn_import* import, std::size_t offset, std::uint64_t expected,
                                      std::uint64_t desired, std::int64_t timeout, hamlyn_outcome* outcome) {
  return answer(__func__, {import, outcome}, [&] {
    return tell(import->it.compare_and_swap(offset, expected, desired, time_of(timeout)), *outcome);
  });
}
