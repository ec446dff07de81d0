// Procedures that no call carries. Each line at whose end words stand does not compile, and the compiler says
// these words (refused.py).
#include <memory>

#include "hamlyn/rpc.h"
#include "hamlyn/rpc/blast.h"

namespace {

using namespace hamlyn;

struct Hidden {
  int value() const { return value_; }

 private:
  int value_ = 0;
};
struct Unions {
  union {
    int one;
    float other;
  } either;
};
struct Wide {
  bool many[20];
};

struct Service {
  void pointer(const char* text);
  void out(int& number);
  void writable(std::span<int> numbers);
  void hidden(Hidden);
  void unions(Unions);
  void array(Wide);
  void shared(std::shared_ptr<int>);
  std::string_view view();
  std::span<const int> views();
  const std::string& reference();
  int* address();
  std::vector<std::optional<std::string_view>> inner();
  static void standing(int);
  void fine(int);
  void unlisted(int);
};
HAMLYN_RPC(Service, fine)
struct Unlisted {
  void fine(int);
};

class Later {
 public:
  void find(rpc::Answer<int> answer);
};
HAMLYN_RPC(Later, find)

template <auto kFunction>
bool named() {
  return !internal_::rpc::signature_of<internal_::rpc::ShapeAt<kFunction>>("it").empty();
}

template <class Type>
std::size_t sizeof_server() {
  return sizeof(rpc::BlastServer<Type>);
}

}  // namespace

int main() {
  named<&Service::fine>();
  named<&Service::pointer>();    // a call carries no pointer
  named<&Service::out>();        // parameters are values, constant references or views
  named<&Service::writable>();   // this type has no layout for calls
  named<&Service::hidden>();     // this type has no layout for calls
  named<&Service::unions>();     // this type has no layout for calls
  named<&Service::array>();      // this type has no layout for calls
  named<&Service::shared>();     // this type has no layout for calls
  named<&Service::view>();       // a call returns no view
  named<&Service::views>();      // a call returns no view
  named<&Service::reference>();  // a call returns no pointer and no reference
  named<&Service::address>();    // a call returns no pointer and no reference
  named<&Service::inner>();      // a call returns no view
  named<&Service::standing>();   // HAMLYN_RPC names member functions that are not static
  internal_::rpc::place_of<Service, &Service::fine>();
  internal_::rpc::place_of<Service, &Service::unlisted>();  // HAMLYN_RPC does not list this function
  sizeof_server<Later>();                                   // over datagrams no handler answers later
  internal_::rpc::listing<Unlisted>();  // no HAMLYN_RPC(class, functions...) stands behind
}
