// Procedures that no call carries. Each line at whose end words stand does not compile, and the compiler says
// these words (refused.py).
#include <memory>

#include "hamlyn/rpc.h"
#include "hamlyn/rpc/blast.h"
#include "hamlyn/rpc/reference.h"

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

struct Answers {
  void fine(rpc::Call&, rpc::Answer<void>, int);
  void pointer(rpc::Answer<double*>);
  void reference(rpc::Answer<const std::vector<int>&>);
  void view(rpc::Answer<std::span<const double>>);
  void hidden(rpc::Answer<Hidden>);
  void lent(rpc::Answer<rpc::Writable>);
  int both(rpc::Answer<int>);
  void second(int, rpc::Answer<int>);
  void two(rpc::Answer<void>, rpc::Answer<double>);
  void behind(rpc::Answer<double>, rpc::Call&);
  void calls(rpc::Call&, rpc::Call&);
  void call(int, rpc::Call&);
};
struct References {
  void fine(rpc::Call&, rpc::Readable, rpc::Writable);
  rpc::Readable readable();
  std::vector<rpc::Writable> writable();
  void changed(rpc::Readable&);
};

struct OfServers {
  template <auto kFunction, class Returned>
  void after(rpc::Call&, const Returned*) noexcept {}
};
struct OfClients {
  template <auto kFunction, class Returned>
  void after(const rpc::Result<Returned>&) noexcept {}
};

template <auto kFunction>
bool named() {
  return !internal_::rpc::signature_of<internal_::rpc::ShapeAt<kFunction>>("it").empty();
}

template <class Type>
std::size_t sizeof_server() {
  return sizeof(rpc::BlastServer<Type>);
}
template <class Hooks>
void server_with() {
  using Server = rpc::Server<Service, Hooks>;
  Server* (*make)(Interface&, Service&, Hooks&) = [](Interface& interface, Service& object, Hooks& hooks) {
    return new Server(interface, "it", object, {}, hooks);
  };
  static_cast<void>(make);
}
template <class Hooks>
void client_with() {
  using Client = rpc::Client<Service, Hooks>;
  Client* (*make)(Interface&, Hooks&) = [](Interface& interface, Hooks& hooks) {
    return new Client(interface, "it", {}, hooks);
  };
  static_cast<void>(make);
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
  named<&Answers::fine>();
  named<&Answers::pointer>();    // a call returns no pointer and no reference
  named<&Answers::reference>();  // a call returns no pointer and no reference
  named<&Answers::view>();       // a call returns no view
  named<&Answers::hidden>();     // this type has no layout for calls
  named<&Answers::lent>();       // a call returns no view
  named<&Answers::both>();       // a procedure that answers later returns nothing by itself
  named<&Answers::second>();     // this type has no layout for calls
  named<&Answers::two>();        // a procedure has one Answer
  named<&Answers::behind>();     // a Call& stands in front of an Answer
  named<&Answers::calls>();      // a procedure has one Call&
  named<&Answers::call>();       // parameters are values, constant references or views
  named<&References::fine>();
  named<&References::readable>();  // a call returns no view
  named<&References::writable>();  // a call returns no view
  named<&References::changed>();   // parameters are values, constant references or views
  server_with<OfServers>();
  server_with<OfClients>();  // hooks of a server have a `before` or an `after`
  client_with<OfClients>();
  client_with<OfServers>();  // hooks of a client have a `before` or an `after`
  internal_::rpc::place_of<Service, &Service::fine>();
  internal_::rpc::place_of<Service, &Service::unlisted>();  // HAMLYN_RPC does not list this function
  sizeof_server<Later>();                                   // over datagrams no handler answers later
  internal_::rpc::listing<Unlisted>();  // no HAMLYN_RPC(class, functions...) stands behind
}
