// VIPL between real processes, by its C functions: messages, RDMA, and what waits for them.
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <thread>
#include <vector>

#include "test/vi/vipl_party.h"

namespace hamlyn::test {
namespace {

// --- messages

void bounce(Opened& opened, VIP_VI_HANDLE vi, bool first, int times) {
  for (int i = 0; i != times; ++i) {
    if (first || i != 0) {
      *opened.data(0) = static_cast<unsigned char>(i);
      ASSERT_EQ(VipPostSend(vi, opened.descriptor(0, 16), opened.handle), VIP_SUCCESS);
      ASSERT_EQ(opened.sent(vi), kSent);
    }
    ASSERT_EQ(opened.received(vi), kReceived);
    ASSERT_EQ(*opened.data(64), static_cast<unsigned char>(first ? i + 1 : i));
    ASSERT_EQ(VipPostRecv(vi, opened.descriptor(64, 64), opened.handle), VIP_SUCCESS);
  }
}

TEST_F(Vipl, goes_to_and_fro_at_each_level) {
  for (const VIP_RELIABILITY_LEVEL level : kLevels) {
    const auto prepare = [level](Opened& opened) {
      VIP_VI_HANDLE vi = opened.make_vi(level);
      EXPECT_EQ(VipPostRecv(vi, opened.descriptor(64, 64), opened.handle), VIP_SUCCESS);
      return vi;
    };
    with_two(
        [&](Opened& opened) {
          VIP_VI_HANDLE vi = prepare(opened);
          opened.accept(vi, "pingpong");
          bounce(opened, vi, false, 200);
          *opened.data(0) = 200;
          ASSERT_EQ(VipPostSend(vi, opened.descriptor(0, 16), opened.handle), VIP_SUCCESS);
          ASSERT_EQ(opened.sent(vi), kSent);
          VIP_DESCRIPTOR* flushed = nullptr;
          ASSERT_EQ(opened.received(vi, &flushed) & VIP_STATUS_DESC_FLUSHED_ERROR,
                    VIP_STATUS_DESC_FLUSHED_ERROR)
              << "the other side has disconnected";
          ASSERT_EQ(VipDisconnect(vi), VIP_SUCCESS);
          ASSERT_EQ(VipDestroyVi(vi), VIP_SUCCESS);
        },
        [&](Opened& opened) {
          VIP_VI_HANDLE vi = prepare(opened);
          ASSERT_EQ(opened.connect(vi, node(), "pingpong"), VIP_SUCCESS);
          bounce(opened, vi, true, 200);
          ASSERT_EQ(VipDisconnect(vi), VIP_SUCCESS);
          ASSERT_EQ(opened.received(vi) & VIP_STATUS_DESC_FLUSHED_ERROR, VIP_STATUS_DESC_FLUSHED_ERROR);
          ASSERT_EQ(VipDestroyVi(vi), VIP_SUCCESS);
        });
  }
}

TEST_F(Vipl, moves_long_messages_in_their_order) {
  constexpr std::size_t kLength = 60000, kCount = 40;
  with_two(
      [&](Opened& opened) {
        VIP_VI_HANDLE vi = opened.make_vi();
        for (std::size_t i = 0; i != 8; ++i)
          ASSERT_EQ(VipPostRecv(vi, opened.descriptor(i * 65536 % (kArena / 2), kLength), opened.handle),
                    VIP_SUCCESS);
        opened.accept(vi, "long");
        for (std::size_t i = 0; i != kCount; ++i) {
          VIP_DESCRIPTOR* done = nullptr;
          ASSERT_EQ(opened.received(vi, &done), kReceived | VIP_STATUS_IMMEDIATE);
          ASSERT_EQ(done->CS.ImmediateData, i);
          ASSERT_EQ(done->CS.Length, kLength);
          const auto* const bytes = static_cast<unsigned char*>(done->DS[0].Local.Data.Address);
          for (std::size_t at = 0; at < kLength; at += 1111)
            ASSERT_EQ(bytes[at], static_cast<unsigned char>(i + at));
          ASSERT_EQ(VipPostRecv(vi, done, opened.handle), VIP_SUCCESS);
          // The sender has a credit for each receive.
          ASSERT_EQ(VipPostSend(vi, opened.descriptor(0, 0), opened.handle), VIP_SUCCESS);
        }
        EXPECT_EQ(opened.received(vi) & VIP_STATUS_DESC_FLUSHED_ERROR, VIP_STATUS_DESC_FLUSHED_ERROR);
      },
      [&](Opened& opened) {
        VIP_VI_HANDLE vi = opened.make_vi();
        for (int i = 0; i != 100; ++i)
          ASSERT_EQ(VipPostRecv(vi, opened.descriptor(0, 0), opened.handle), VIP_SUCCESS);
        ASSERT_EQ(opened.connect(vi, node(), "long"), VIP_SUCCESS);
        for (std::size_t i = 0; i != kCount; ++i) {
          if (i >= 8) {
            ASSERT_EQ(opened.received(vi), kReceived);
          }
          for (std::size_t at = 0; at != kLength; ++at)
            opened.data(0)[at] = static_cast<unsigned char>(i + at);
          VIP_DESCRIPTOR* const what = opened.descriptor(0, kLength);
          what->CS.Control = VIP_CONTROL_IMMEDIATE;
          what->CS.ImmediateData = static_cast<VIP_UINT32>(i);
          ASSERT_EQ(VipPostSend(vi, what, opened.handle), VIP_SUCCESS);
          ASSERT_EQ(opened.sent(vi), kSent);
        }
        for (std::size_t i = 0; i != 8; ++i) ASSERT_EQ(opened.received(vi), kReceived);
      });
}

TEST_F(Vipl, says_at_each_level_that_there_was_no_descriptor) {
  for (const VIP_RELIABILITY_LEVEL level : kLevels) {
    for (const bool shorter : {false, true}) {
      with_two(
          [&](Opened& opened) {
            VIP_VI_HANDLE vi = opened.make_vi(level);
            if (shorter) {
              ASSERT_EQ(VipPostRecv(vi, opened.descriptor(64, 8), opened.handle), VIP_SUCCESS);
            }
            opened.accept(vi, "none");
            if (level != VIP_SERVICE_UNRELIABLE) {
              while (opened.state(vi) == VIP_STATE_CONNECTED) {
              }
              EXPECT_EQ(opened.state(vi), VIP_STATE_ERROR);
              if (shorter) {
                EXPECT_EQ(opened.received(vi), kReceived | VIP_STATUS_LENGTH_ERROR);
              }
              return;
            }
            // A message that was dropped leaves the descriptor to one that fits.
            if (!shorter) {
              ASSERT_EQ(VipPostRecv(vi, opened.descriptor(64, 8), opened.handle), VIP_SUCCESS);
            }
            ASSERT_EQ(opened.received(vi), kReceived);
            EXPECT_EQ(opened.state(vi), VIP_STATE_CONNECTED);
            EXPECT_EQ(VipDisconnect(vi), VIP_SUCCESS);
          },
          [&](Opened& opened) {
            VIP_VI_HANDLE vi = opened.make_vi(level);
            ASSERT_EQ(opened.connect(vi, node(), "none"), VIP_SUCCESS);
            ASSERT_EQ(VipPostSend(vi, opened.descriptor(0, 16), opened.handle), VIP_SUCCESS);
            const VIP_UINT32 sent = opened.sent(vi);
            if (level == VIP_SERVICE_RELIABLE_RECEPTION) {
              EXPECT_EQ(sent, kSent | (shorter ? VIP_STATUS_LENGTH_ERROR : VIP_STATUS_REMOTE_DESC_ERROR));
            } else {
              EXPECT_EQ(sent, kSent);
            }
            if (level != VIP_SERVICE_UNRELIABLE) {
              while (opened.state(vi) == VIP_STATE_CONNECTED) {
              }
              EXPECT_EQ(opened.state(vi), VIP_STATE_ERROR);
              return;
            }
            VIP_DESCRIPTOR* done = nullptr;
            while (opened.state(vi) == VIP_STATE_CONNECTED) {
              ASSERT_EQ(VipPostSend(vi, opened.descriptor(0, 8), opened.handle), VIP_SUCCESS);
              static_cast<void>(VipSendWait(vi, kWait, &done));
            }
          });
    }
  }
}

// --- RDMA

// Memory that the other side is told of.
struct Told {
  std::uint64_t address = 0;
  VIP_MEM_HANDLE handle = 0;
};

// Registers the memory for RDMA, and sends where it is.
Told register_and_tell(Opened& opened, VIP_VI_HANDLE vi, char* memory, std::size_t length) {
  VIP_MEM_ATTRIBUTES attributes = {opened.tag, VIP_TRUE, VIP_TRUE};
  Told told{reinterpret_cast<std::uintptr_t>(memory), 0};
  EXPECT_EQ(VipRegisterMem(opened.nic, memory, length, &attributes, &told.handle), VIP_SUCCESS);
  std::memcpy(opened.data(0), &told, sizeof told);
  EXPECT_EQ(VipPostSend(vi, opened.descriptor(0, sizeof told), opened.handle), VIP_SUCCESS);
  return told;
}

// A VI that is connected with whoever waits there, and what that has told.
VIP_VI_HANDLE connect_and_hear(Opened& opened, std::uint64_t node, const char* name, Told& told) {
  VIP_VI_HANDLE vi = opened.make_vi();
  EXPECT_EQ(VipPostRecv(vi, opened.descriptor(0, 64), opened.handle), VIP_SUCCESS);
  EXPECT_EQ(opened.connect(vi, node, name), VIP_SUCCESS);
  EXPECT_EQ(opened.received(vi), kReceived);
  std::memcpy(&told, opened.data(0), sizeof told);
  return vi;
}

// A VI with three receives that somebody has connected with.
VIP_VI_HANDLE accept_with_receives(Opened& opened, const char* name) {
  VIP_VI_HANDLE vi = opened.make_vi();
  for (int i = 0; i != 3; ++i)
    EXPECT_EQ(VipPostRecv(vi, opened.descriptor(4096, 64), opened.handle), VIP_SUCCESS);
  opened.accept(vi, name);
  return vi;
}

TEST_F(Vipl, writes_and_reads_where_both_sides_allow_it) {
  with_two(
      [&](Opened& opened) {
        VIP_VI_HANDLE vi = accept_with_receives(opened, "rdma");
        // Memory at any address, by itself.
        static char heap[10001];
        register_and_tell(opened, vi, heap + 1, 10000);
        VIP_DESCRIPTOR* done = nullptr;
        ASSERT_EQ(opened.received(vi, &done),
                  VIP_STATUS_DONE | VIP_STATUS_OP_REMOTE_RDMA_WRITE | VIP_STATUS_IMMEDIATE);
        EXPECT_EQ(done->CS.ImmediateData, 4711u);
        EXPECT_EQ(done->CS.Length, 9000u);
        for (std::size_t at = 0; at < 9000; at += 7)
          ASSERT_EQ(static_cast<unsigned char>(heap[1 + at]), at % 251);
        EXPECT_EQ(opened.received(vi) & VIP_STATUS_DESC_FLUSHED_ERROR, VIP_STATUS_DESC_FLUSHED_ERROR);
      },
      [&](Opened& opened) {
        Told told;
        VIP_VI_HANDLE vi = connect_and_hear(opened, node(), "rdma", told);
        for (std::size_t at = 0; at != 9000; ++at)
          opened.data(8192)[at] = static_cast<unsigned char>(at % 251);
        VIP_DESCRIPTOR* what = opened.remote(VIP_CONTROL_OP_RDMAWRITE | VIP_CONTROL_IMMEDIATE, told.address,
                                             told.handle, 8192, 9000);
        what->CS.ImmediateData = 4711;
        ASSERT_EQ(VipPostSend(vi, what, opened.handle), VIP_SUCCESS);
        ASSERT_EQ(opened.sent(vi), VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE);
        what = opened.remote(VIP_CONTROL_OP_RDMAREAD, told.address + 100, told.handle, 20000, 8000);
        ASSERT_EQ(VipPostSend(vi, what, opened.handle), VIP_SUCCESS);
        ASSERT_EQ(opened.sent(vi), VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_READ);
        for (std::size_t at = 0; at != 8000; ++at) ASSERT_EQ(opened.data(20000)[at], (at + 100) % 251);
        // A byte beyond the memory, and a handle that was guessed.
        what = opened.remote(VIP_CONTROL_OP_RDMAWRITE, told.address + 9999, told.handle, 0, 2);
        ASSERT_EQ(VipPostSend(vi, what, opened.handle), VIP_SUCCESS);
        ASSERT_EQ(opened.sent(vi), VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE | VIP_STATUS_RDMA_PROT_ERROR);
        EXPECT_EQ(opened.state(vi), VIP_STATE_ERROR);
      });
}

TEST_F(Vipl, writes_land_nowhere_once_the_memory_is_deregistered) {
  with_two(
      [&](Opened& opened) {
        VIP_VI_HANDLE vi = accept_with_receives(opened, "gone");
        static char target[4096];
        const Told told = register_and_tell(opened, vi, target, sizeof target);
        ASSERT_EQ(opened.received(vi), kReceived) << "the writer is at it";
        ASSERT_EQ(VipDeregisterMem(opened.nic, target, told.handle), VIP_SUCCESS);
        std::memset(target, 'x', sizeof target);
        EXPECT_EQ(opened.received(vi) & VIP_STATUS_DESC_FLUSHED_ERROR, VIP_STATUS_DESC_FLUSHED_ERROR);
        for (const char each : target) ASSERT_EQ(each, 'x');
      },
      [&](Opened& opened) {
        Told told;
        VIP_VI_HANDLE vi = connect_and_hear(opened, node(), "gone", told);
        VIP_UINT32 status = 0;
        for (int i = 0; (status & VIP_STATUS_ERROR_MASK) == 0; ++i) {
          ASSERT_EQ(
              VipPostSend(vi, opened.remote(VIP_CONTROL_OP_RDMAWRITE, told.address, told.handle, 0, 4096),
                          opened.handle),
              VIP_SUCCESS);
          status = opened.sent(vi);
          if (i != 50) continue;
          ASSERT_EQ(VipPostSend(vi, opened.descriptor(0, 1), opened.handle), VIP_SUCCESS);
          ASSERT_EQ(opened.sent(vi), kSent);
        }
        EXPECT_EQ(status & VIP_STATUS_ERROR_MASK, VIP_STATUS_RDMA_PROT_ERROR);
      });
}

TEST_F(Vipl, rights_at_many_regions_leave_room_for_what_is_told) {
  in_child([&] {
    constexpr VIP_UINT32 kRegions = 100, kBytes = 4096;
    Opened opened(device(), false);
    VIP_VI_HANDLE one = opened.make_vi(VIP_SERVICE_RELIABLE_RECEPTION),
                  other = opened.make_vi(VIP_SERVICE_RELIABLE_RECEPTION);
    opened.join(one, other, "regions");
    for (VIP_UINT32 i = 0; i != kRegions; ++i) {
      VIP_MEM_ATTRIBUTES attributes = {opened.tag, VIP_TRUE, VIP_TRUE};
      VIP_MEM_HANDLE handle = 0;
      unsigned char* const region = opened.data(8192) + i * kBytes;
      ASSERT_EQ(VipRegisterMem(opened.nic, region, kBytes, &attributes, &handle), VIP_SUCCESS);
      *opened.data(0) = static_cast<unsigned char>(i + 1);
      VIP_DESCRIPTOR* const write =
          opened.remote(VIP_CONTROL_OP_RDMAWRITE, reinterpret_cast<std::uintptr_t>(region), handle, 0, 1);
      ASSERT_EQ(VipPostSend(one, write, opened.handle), VIP_SUCCESS);
      ASSERT_EQ(opened.sent(one), VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE) << i;
      ASSERT_EQ(*region, i + 1);
    }
    for (int i = 0; i != 100; ++i) {
      ASSERT_EQ(VipPostRecv(other, opened.descriptor(64, 64), opened.handle), VIP_SUCCESS);
      ASSERT_EQ(VipPostSend(one, opened.descriptor(0, 4), opened.handle), VIP_SUCCESS);
      ASSERT_EQ(opened.sent(one), kSent);
      ASSERT_EQ(opened.received(other), kReceived);
    }
  });
}

TEST_F(Vipl, memory_that_may_only_be_read_can_be_sent_from) {
  in_child([&] {
    Opened opened(device());
    auto* const page = static_cast<char*>(mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    VIP_MEM_ATTRIBUTES attributes = {opened.tag, VIP_FALSE, VIP_FALSE};
    VIP_MEM_HANDLE handle = 0;
    ASSERT_EQ(VipRegisterMem(opened.nic, page, 4096, &attributes, &handle), VIP_SUCCESS);
    VIP_VI_HANDLE one = opened.make_vi(), other = opened.make_vi();
    opened.join(one, other, "constant");
    ASSERT_EQ(VipPostRecv(other, opened.descriptor(0, 64), opened.handle), VIP_SUCCESS);
    VIP_DESCRIPTOR* const what = opened.descriptor(0, 4);
    what->DS[0].Local.Data.Address = page;
    what->DS[0].Local.Handle = handle;
    ASSERT_EQ(VipPostSend(one, what, opened.handle), VIP_SUCCESS);
    EXPECT_EQ(opened.received(other), kReceived);
    attributes.EnableRdmaWrite = VIP_TRUE;
    EXPECT_EQ(VipRegisterMem(opened.nic, page, 4096, &attributes, &handle), VIP_ERROR_RESOURCE);
  });
}

unsigned char of_the_program[100];

// Writes there, reads that back, and receives there: the bytes around it stay as they are.
void use_as_memory(Opened& opened, VIP_VI_HANDLE one, VIP_VI_HANDLE other, unsigned char* memory) {
  constexpr std::size_t kBytes = 96;
  VIP_MEM_ATTRIBUTES attributes = {opened.tag, VIP_TRUE, VIP_TRUE};
  VIP_MEM_HANDLE whole = 0, part = 0;
  ASSERT_EQ(VipRegisterMem(opened.nic, memory, kBytes, &attributes, &whole), VIP_SUCCESS);
  ASSERT_EQ(VipRegisterMem(opened.nic, memory + 5, 40, &attributes, &part), VIP_SUCCESS) << "they overlap";
  ASSERT_NE(whole, part);
  const std::uint64_t at = reinterpret_cast<std::uintptr_t>(memory) + 7;
  for (const VIP_MEM_HANDLE handle : {part, whole}) {
    std::memset(opened.data(0), handle == part ? 'p' : 'w', 16);
    ASSERT_EQ(VipPostSend(one, opened.remote(VIP_CONTROL_OP_RDMAWRITE, at, handle, 0, 16), opened.handle),
              VIP_SUCCESS);
    EXPECT_EQ(opened.sent(one), VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_WRITE);
    EXPECT_EQ(std::memcmp(memory + 7, opened.data(0), 16), 0);
    EXPECT_EQ(memory[6] + memory[23], 0);
    if (handle != part) continue;
    ASSERT_EQ(VipDeregisterMem(opened.nic, memory + 5, part), VIP_SUCCESS) << "the other one stays";
  }
  std::memset(opened.data(64), 0, 16);
  ASSERT_EQ(VipPostSend(one, opened.remote(VIP_CONTROL_OP_RDMAREAD, at, whole, 64, 16), opened.handle),
            VIP_SUCCESS);
  EXPECT_EQ(opened.sent(one), VIP_STATUS_DONE | VIP_STATUS_OP_RDMA_READ);
  EXPECT_EQ(std::memcmp(memory + 7, opened.data(64), 16), 0);
  VIP_DESCRIPTOR* const receive = opened.descriptor(0, 9);
  receive->DS[0].Local.Data.Address = memory + 51;
  receive->DS[0].Local.Handle = whole;
  ASSERT_EQ(VipPostRecv(other, receive, opened.handle), VIP_SUCCESS);
  ASSERT_EQ(VipPostSend(one, opened.descriptor(0, 9), opened.handle), VIP_SUCCESS);
  EXPECT_EQ(opened.sent(one), kSent);
  EXPECT_EQ(opened.received(other), kReceived);
  EXPECT_EQ(std::memcmp(memory + 51, opened.data(0), 9), 0);
  EXPECT_EQ(memory[50] + memory[60], 0);
  EXPECT_EQ(VipDeregisterMem(opened.nic, memory, whole), VIP_SUCCESS);
}

TEST_F(Vipl, registers_memory_of_every_kind) {
  in_child([&] {
    Opened opened(device());
    VIP_VI_HANDLE one = opened.make_vi(), other = opened.make_vi();
    opened.join(one, other, "kinds");
    unsigned char on_the_stack[100] = {};
    std::vector<unsigned char> of_the_heap(100);
    const int segment = shmget(IPC_PRIVATE, 8192, IPC_CREAT | 0600);
    auto* const shared = static_cast<unsigned char*>(shmat(segment, nullptr, 0));
    shmctl(segment, IPC_RMID, nullptr);
    std::FILE* const file = std::fopen(folder_.file("mapped").c_str(), "w+");
    ASSERT_EQ(ftruncate(fileno(file), 8192), 0);
    auto* const mapped =
        static_cast<unsigned char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0));
    std::fclose(file);
    unsigned char* const kinds[] = {on_the_stack + 1, of_the_heap.data() + 3, of_the_program, shared + 4050,
                                    mapped + 4055};  // the last two lie in two pages
    for (unsigned char* const kind : kinds) {
      SCOPED_TRACE(std::find(std::begin(kinds), std::end(kinds), kind) - kinds);
      use_as_memory(opened, one, other, kind);
    }
  });
}

// --- who waits

TEST_F(Vipl, several_threads_sleep_at_a_completion_queue) {
  in_child([&] {
    constexpr int kEach = 100, kThreads = 3;
    Opened opened(device());
    VIP_CQ_HANDLE queue = nullptr;
    ASSERT_EQ(VipCreateCQ(opened.nic, 256, &queue), VIP_SUCCESS);
    VIP_VI_HANDLE one = opened.make_vi(),
                  other = opened.make_vi(VIP_SERVICE_RELIABLE_DELIVERY, nullptr, queue);
    opened.join(one, other, "sleepers");
    std::atomic<int> taken{0};
    std::vector<std::thread> sleepers;
    for (int thread = 0; thread != kThreads; ++thread) {
      sleepers.emplace_back([&] {
        for (int i = 0; i != kEach; ++i, ++taken) {
          VIP_VI_HANDLE vi = nullptr;
          VIP_BOOLEAN receive = VIP_FALSE;
          VIP_DESCRIPTOR* done = nullptr;
          ASSERT_EQ(VipCQWait(queue, VIP_INFINITE, &vi, &receive), VIP_SUCCESS);
          ASSERT_EQ(VipRecvDone(vi, &done), VIP_SUCCESS) << "an entry is given once";
        }
      });
    }
    for (int i = 0; i != kEach * kThreads; ++i) {
      while (taken + 100 < i) std::this_thread::yield();
      ASSERT_EQ(VipPostRecv(other, opened.descriptor(0, 8), opened.handle), VIP_SUCCESS);
      ASSERT_EQ(VipPostSend(one, opened.descriptor(0, 8), opened.handle), VIP_SUCCESS);
      ASSERT_EQ(opened.sent(one), kSent);
    }
    for (std::thread& each : sleepers) each.join();
    EXPECT_EQ(taken, kEach * kThreads);
  });
}

TEST_F(Vipl, connects_with_itself_and_sleeps_while_another_thread_sends) {
  in_child([&] {
    Opened opened(device());
    VIP_CQ_HANDLE queue = nullptr;
    ASSERT_EQ(VipCreateCQ(opened.nic, 256, &queue), VIP_SUCCESS);
    VIP_VI_HANDLE one = opened.make_vi(),
                  other = opened.make_vi(VIP_SERVICE_RELIABLE_DELIVERY, nullptr, queue);
    opened.join(one, other, "self");
    VIP_VI_HANDLE vi = nullptr;
    VIP_BOOLEAN receive = VIP_FALSE;
    EXPECT_EQ(VipCQDone(queue, &vi, &receive), VIP_NOT_DONE);
    EXPECT_EQ(VipCQWait(queue, 1, &vi, &receive), VIP_TIMEOUT);
    std::thread sleeping([&] {
      for (int i = 0; i != 100; ++i) {
        VIP_VI_HANDLE found = nullptr;
        VIP_BOOLEAN is_receive = VIP_FALSE;
        ASSERT_EQ(VipCQWait(queue, VIP_INFINITE, &found, &is_receive), VIP_SUCCESS);
        ASSERT_EQ(found, other);
        ASSERT_EQ(is_receive, VIP_TRUE);
        VIP_DESCRIPTOR* done = nullptr;
        ASSERT_EQ(VipRecvDone(other, &done), VIP_SUCCESS);
      }
    });
    for (int i = 0; i != 100; ++i) {
      ASSERT_EQ(VipPostRecv(other, opened.descriptor(64, 64), opened.handle), VIP_SUCCESS);
      ASSERT_EQ(VipPostSend(one, opened.descriptor(0, 4), opened.handle), VIP_SUCCESS);
      ASSERT_EQ(opened.sent(one), kSent);
    }
    sleeping.join();
    ASSERT_EQ(VipPostRecv(other, opened.descriptor(64, 64), opened.handle), VIP_SUCCESS);
    ASSERT_EQ(VipPostSend(one, opened.descriptor(0, 4), opened.handle), VIP_SUCCESS);
    VIP_DESCRIPTOR* done = nullptr;
    VIP_RETURN result = VIP_NOT_DONE;
    while ((result = VipCQTake(queue, &vi, &receive, &done)) == VIP_NOT_DONE) {
    }
    EXPECT_EQ(result, VIP_SUCCESS);
    EXPECT_EQ(vi, other);
    EXPECT_NE(done, nullptr);
  });
}

TEST_F(Vipl, notifies_once_in_a_thread_of_its_own) {
  in_child([&] {
    Opened opened(device());
    VIP_VI_HANDLE one = opened.make_vi(), other = opened.make_vi();
    opened.join(one, other, "notify");
    std::atomic<VIP_DESCRIPTOR*> told{nullptr};
    const auto handler = [](VIP_PVOID context, VIP_NIC_HANDLE, VIP_VI_HANDLE, VIP_DESCRIPTOR* done) {
      *static_cast<std::atomic<VIP_DESCRIPTOR*>*>(context) = done;
    };
    EXPECT_EQ(VipRecvNotify(other, &told, nullptr), VIP_INVALID_PARAMETER);
    ASSERT_EQ(VipRecvNotify(other, &told, handler), VIP_SUCCESS);
    EXPECT_EQ(VipRecvNotify(other, &told, handler), VIP_ERROR_RESOURCE) << "there is one already";
    VIP_DESCRIPTOR* const receive = opened.descriptor(64, 64);
    ASSERT_EQ(VipPostRecv(other, receive, opened.handle), VIP_SUCCESS);
    ASSERT_EQ(VipPostSend(one, opened.descriptor(0, 4), opened.handle), VIP_SUCCESS);
    while (told == nullptr) std::this_thread::yield();
    EXPECT_EQ(told.load(), receive);
    VIP_DESCRIPTOR* done = nullptr;
    EXPECT_EQ(VipRecvDone(other, &done), VIP_DESCRIPTOR_ERROR) << "it was taken";
    EXPECT_EQ(done, nullptr);
  });
}

TEST_F(Vipl, several_threads_share_a_vi) {
  in_child([&] {
    constexpr int kEach = 500;
    Opened opened(device());
    VIP_VI_HANDLE one = opened.make_vi(), other = opened.make_vi();
    opened.join(one, other, "threads");
    std::atomic<int> sent{0}, received{0};
    std::vector<std::thread> threads;
    // Two post to either queue, two take from either: each descriptor is given once.
    for (int thread = 0; thread != 2; ++thread) {
      threads.emplace_back([&, thread] {
        std::vector<VIP_DESCRIPTOR> own(2 * kEach);
        VIP_MEM_ATTRIBUTES attributes = {opened.tag, VIP_FALSE, VIP_FALSE};
        VIP_MEM_HANDLE handle = 0;
        ASSERT_EQ(VipRegisterMem(opened.nic, own.data(), own.size() * sizeof own[0], &attributes, &handle),
                  VIP_SUCCESS);
        for (int i = 0; i != kEach; ++i) {
          while (std::min(sent.load(), received.load()) + 200 < 2 * i) std::this_thread::yield();
          ASSERT_EQ(VipPostRecv(other, &own[static_cast<std::size_t>(2 * i)], handle), VIP_SUCCESS) << thread;
          ASSERT_EQ(VipPostSend(one, &own[static_cast<std::size_t>(2 * i + 1)], handle), VIP_SUCCESS)
              << thread;
        }
        while (sent != 2 * kEach || received != 2 * kEach) std::this_thread::yield();
      });
      threads.emplace_back([&] {
        VIP_DESCRIPTOR* done = nullptr;
        while (sent != 2 * kEach)
          if (VipSendDone(one, &done) == VIP_SUCCESS) ++sent;
      });
      threads.emplace_back([&] {
        VIP_DESCRIPTOR* done = nullptr;
        while (received != 2 * kEach)
          if (VipRecvWait(other, 1, &done) == VIP_SUCCESS) ++received;
      });
    }
    for (std::thread& each : threads) each.join();
    EXPECT_EQ(opened.state(one), VIP_STATE_CONNECTED);
  });
}

}  // namespace
}  // namespace hamlyn::test
