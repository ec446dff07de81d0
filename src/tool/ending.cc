#include "tool/ending.h"

#include <csignal>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <system_error>

#include "base/descriptor_table.h"
#include "base/standard_output.h"
#include "tool/failure.h"

namespace hamlyn::tool {
namespace {

// A standard error that takes nothing changes no exit status.
void tell(const std::string& line) { std::fputs((line + "\n").c_str(), stderr); }

// Says why on standard error, in a line, and as a JSON object where one was to be printed.
int fail(const Speaker& speaker, const Failure& failure) {
  const std::string& who = speaker.command.empty() ? speaker.program : speaker.command;
  if (speaker.json == JsonOutput::on_error) {
    tell(to_json(who, failure));
    return failure.exit();
  }
  tell(line(speaker.name(), failure));
  if (speaker.json == JsonOutput::none) return failure.exit();
  try {
    base::print(to_json(who, failure) + "\n");
    base::flush_output();
  } catch (const Error&) {  // it is what has failed, perhaps: the object goes where the line went
    tell(to_json(who, failure));
  }
  return failure.exit();
}

}  // namespace

int run_to_the_end(const Speaker& speaker, const std::function<int()>& body) {
  base::fill_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of files is told by what writes beyond it
  try {
    const int status = body();
    base::finish_output();  // exit status 0 says that the output was written
    return status;
  } catch (const Failure& failed) {
    return fail(speaker, failed);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::cancelled) return fail(speaker, interrupted(error.what()));  // by Ctrl-C
    return fail(speaker, failure(error));
  } catch (const std::bad_alloc&) {
    return fail(speaker, failure(Error(ErrorCode::out_of_memory, "no memory")));
  } catch (const std::invalid_argument& error) {  // of perf, as is the next
    return fail(speaker, {error.what(), "usage", "see '" + speaker.name() + " --help'", kUsage});
  } catch (const std::system_error& error) {
    if (error.code() != std::errc::resource_unavailable_try_again)
      return fail(speaker, {error.what(), "system", "see what the message says, and try again"});
    return fail(speaker,
                {std::string("no thread could be started (") + error.what() + ")", "out_of_memory",
                 "raise the limit of processes (ulimit -u, pids.max) or of memory (ulimit -d, ulimit -v)"});
  } catch (const std::exception& error) {
    return fail(speaker, {error.what(), "system", "see what the message says, and try again"});
  }
}

}  // namespace hamlyn::tool
