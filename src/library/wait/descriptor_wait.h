#pragma once
// Waiting for descriptors: by the kernel, or in a simulation's time.
#include <poll.h>

#include <span>

#include "base/namespaces.h"
#include "library/wait/deadline.h"

namespace hamlyn::internal_::library {

// As ::poll, until one of them has something to say or until that time. Signals do not end it. False: nobody
// can wait here (no memory; a process of a simulation that has died), and `revents` say nothing.
bool wait_for_descriptors(std::span<pollfd> descriptors, Deadline until) noexcept;

}  // namespace hamlyn::internal_::library
