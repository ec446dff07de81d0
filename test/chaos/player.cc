#include "test/chaos/player.h"

#include <fmt/core.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <exception>
#include <string_view>

namespace hamlyn::chaos {
namespace {

// What somebody else's death, or the daemon's, may lead to.
bool may_happen(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::node_unreachable:
    case ErrorCode::timed_out:
    case ErrorCode::name_taken:
    case ErrorCode::name_unknown:
    case ErrorCode::seed_used:
    case ErrorCode::seed_stale:
    case ErrorCode::seed_forged:
    case ErrorCode::peer_refused:
    case ErrorCode::peer_died:
      return true;
    default:
      return false;
  }
}

void become(int user, pid_t driver) {
  ::setpriority(PRIO_PROCESS, 0, 0);
  const auto id = static_cast<unsigned>(user);
  if (user >= 0 && (::setgroups(0, nullptr) != 0 || ::setgid(id) != 0 || ::setuid(id) != 0)) ::_exit(98);
  // After the change of user, which clears both.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_DUMPABLE, 1);
  if (::getppid() != driver) ::_exit(97);
}

int play(Stage& stage, const Part& part) {
  try {
    return part.play(stage);
  } catch (const Error& error) {
    ++stage.ledger().sorrows;
    ++stage.ledger().errors[static_cast<std::size_t>(error.code())];
    if (may_happen(error.code())) return Player::kSorry;
    stage.fault(fmt::format("{}: {}", name(error.code()), error.what()));
  } catch (const std::exception& error) {
    ++stage.ledger().sorrows;
    if (std::string_view(part.role) == "scribbler") return Player::kSorry;  // its link or its node has gone
    stage.fault(error.what());
  }
  return Player::kSorry;
}

}  // namespace

Player::Player(Ledger& ledger, const Part& part, std::uint32_t seat, const std::string& node,
               std::uint64_t seed) {
  const pid_t driver = ::getpid();
  pid_ = ::fork();
  if (pid_ != 0) return;
  become(part.user, driver);
  int status;
  {
    Stage stage(ledger, seat, node, part.partners, seed);
    status = play(stage, part);
  }
  ::_exit(status);
}

Player::~Player() {
  signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Player::signal(int number) const noexcept { ::kill(pid_, number); }

std::optional<int> Player::ended() const noexcept {
  siginfo_t info{};
  const auto id = static_cast<id_t>(pid_);
  if (::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != pid_)
    return std::nullopt;
  return info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

}  // namespace hamlyn::chaos
