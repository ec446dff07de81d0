#include "hamlyn/c/job.h"

#include <chrono>
#include <cstring>
#include <span>
#include <vector>

#include "c/handles.h"
#include "c/options.h"
#include "c/values.h"
#include "hamlyn/job/job.h"

using namespace hamlyn::c;

struct hamlyn_job : Handle<hamlyn::Job> {
  using Handle::Handle;
};

namespace {

const char* read_options(const hamlyn_job_options* given, hamlyn::JobOptions& options) {
  hamlyn_job_options asked;
  if (const char* const wrong = take_options(given, asked)) return wrong;
  if (asked.go_on > 1) return "go_on is 0 or 1";
  if (asked.timeout < 0) return "a time before now";
  if (asked.timeout != 0)
    options.timeout = std::chrono::ceil<std::chrono::milliseconds>(time_of(asked.timeout));
  options.go_on = asked.go_on != 0;
  return nullptr;
}

}  // namespace

hamlyn_status hamlyn_job_make(hamlyn_interface* interface, const hamlyn_job_options* options,
                              hamlyn_job** made) {
  if (interface == nullptr || made == nullptr) return invalid_argument(__func__, "a NULL argument");
  hamlyn::JobOptions asked;
  if (const char* const wrong = read_options(options, asked)) return invalid_argument(__func__, wrong);
  return make(__func__, made, interface->uses, interface->it, asked);
}

hamlyn_status hamlyn_job_free(hamlyn_job* job) { return free_handle(__func__, job); }

hamlyn_status hamlyn_job_place(const hamlyn_job* job, std::uint32_t* rank, std::uint32_t* size) {
  return answer(__func__, {job, rank, size}, [&] {
    *rank = job->it.rank();
    *size = job->it.size();
  });
}

hamlyn_status hamlyn_job_place_here(const hamlyn_job* job, std::uint32_t* rank, std::uint32_t* size) {
  return answer(__func__, {job, rank, size}, [&] {
    *rank = job->it.place().here;
    *size = job->it.place().size_here;
  });
}

const char* hamlyn_job_name(const hamlyn_job* job) {
  return job == nullptr ? "" : job->it.place().job.c_str();
}

hamlyn_status hamlyn_job_barrier(hamlyn_job* job, std::int64_t timeout) {
  return answer(__func__, {job}, [&] { return job->it.barrier(time_of(timeout)); });
}

hamlyn_status hamlyn_job_all_gather(hamlyn_job* job, const void* mine, std::size_t length, void* all,
                                    std::int64_t timeout) {
  if (job == nullptr || !readable(mine, length) || (all == nullptr && length != 0))
    return invalid_argument(__func__, "a NULL argument");
  return answer(__func__, {job}, [&] {
    const std::span<const std::byte> bytes(static_cast<const std::byte*>(mine), length);
    std::vector<std::byte> bytes_of_all;
    const hamlyn::Status status = job->it.all_gather(bytes, bytes_of_all, time_of(timeout));
    if (status == hamlyn::Status::ok && !bytes_of_all.empty())
      std::memcpy(all, bytes_of_all.data(), bytes_of_all.size());
    return status;
  });
}

const char* hamlyn_job_why(const hamlyn_job* job) { return job == nullptr ? "" : job->it.why().c_str(); }

hamlyn_status hamlyn_job_ended(hamlyn_job* job, std::uint32_t* rank, std::uint32_t* status,
                               std::int64_t timeout) {
  return answer(__func__, {job, rank, status}, [&] {
    hamlyn::RankEnd end;
    const hamlyn::Status said = job->it.ended(end, time_of(timeout));
    if (said != hamlyn::Status::ok) return said;
    *rank = end.rank;
    *status = end.status;
    return said;
  });
}
