// Memory that is registered once and found again.
#include "hamlyn/vi/memory_cache.h"

#include <vector>

#include "test/process/on_nodes.h"

namespace hamlyn::test {
namespace {

using vi::MemoryHandle;
using vi::Result;

class ViMemoryCache : public OnNodes {
 protected:
  struct World {
    explicit World(const Interface::Options& options) : interface(options), nic(interface) {
      EXPECT_EQ(nic.create_tag(tag), Result::success);
    }
    MemoryHandle find(std::size_t at, std::size_t length) {
      MemoryHandle out = 0;
      EXPECT_EQ(cache().find(part(at, length), out), Result::success);
      return out;
    }
    std::span<std::byte> part(std::size_t at, std::size_t length) {
      return std::span(memory).subspan(at, length);
    }
    vi::MemoryCache& cache() {
      if (!made) made.emplace(nic, vi::MemoryAttributes{.tag = tag});
      return *made;
    }

    Interface interface;
    vi::Nic nic;
    vi::Tag tag = 0;
    std::vector<std::byte> memory = std::vector<std::byte>(4096);
    std::optional<vi::MemoryCache> made;
  };
};

TEST_F(ViMemoryCache, registers_once_and_finds_parts_of_it) {
  in_child([&] {
    World world(options());
    const MemoryHandle first = world.find(100, 1000);
    EXPECT_EQ(world.find(100, 1000), first);
    EXPECT_EQ(world.find(1099, 1), first) << "its last byte";
    EXPECT_EQ(world.find(500, 0), first);
    const MemoryHandle second = world.find(2000, 10);
    EXPECT_NE(second, first);
    EXPECT_EQ(world.find(100, 1), first) << "not the one that was found last";
    EXPECT_EQ(world.cache().size(), 2u);
    vi::MemoryAttributes of;
    EXPECT_EQ(world.nic.query_memory(&world.memory[2000], second, of), Result::success);
    EXPECT_EQ(of.tag, world.tag);
  });
}

TEST_F(ViMemoryCache, registers_anew_what_goes_beyond) {
  in_child([&] {
    World world(options());
    const MemoryHandle first = world.find(100, 1000);
    EXPECT_NE(world.find(99, 2), first);
    EXPECT_NE(world.find(1100, 1), first) << "behind its last byte";
    const MemoryHandle longer = world.find(100, 1001);
    EXPECT_NE(longer, first);
    EXPECT_EQ(world.find(100, 1000), longer);
  });
}

TEST_F(ViMemoryCache, forgets_what_has_any_of_the_bytes) {
  in_child([&] {
    World world(options());
    const MemoryHandle first = world.find(100, 100), second = world.find(200, 100);
    world.cache().forget(world.part(199, 1));
    EXPECT_EQ(world.cache().size(), 1u);
    vi::MemoryAttributes of;
    EXPECT_EQ(world.nic.query_memory(&world.memory[100], first, of), Result::invalid_parameter);
    EXPECT_EQ(world.find(200, 100), second);
    EXPECT_NE(world.find(100, 100), first);
    world.cache().forget(world.part(0, 4096));
    EXPECT_EQ(world.cache().size(), 0u);
    EXPECT_EQ(world.nic.query_memory(&world.memory[200], second, of), Result::invalid_parameter);
  });
}

TEST_F(ViMemoryCache, answers_as_the_nic_does_and_goes_with_its_registrations) {
  in_child([&] {
    World world(options());
    MemoryHandle handle = 7;
    EXPECT_EQ(world.cache().find({}, handle), Result::invalid_parameter);
    const MemoryHandle found = world.find(0, 1);
    EXPECT_EQ(world.nic.destroy_tag(world.tag), Result::error_resource) << "it is in use";
    world.made.reset();
    vi::MemoryAttributes of;
    EXPECT_EQ(world.nic.query_memory(world.memory.data(), found, of), Result::invalid_parameter);
    EXPECT_EQ(world.nic.destroy_tag(world.tag), Result::success);
    vi::MemoryCache late(world.nic, {.tag = world.tag});
    EXPECT_EQ(late.find(world.part(0, 1), handle), Result::invalid_ptag);
    EXPECT_EQ(late.size(), 0u);
  });
}

}  // namespace
}  // namespace hamlyn::test
