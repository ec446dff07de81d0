# The service of peer_capnp.cc.
@0xd0a5b9c2f1e84736;

interface Calls {
  null @0 ();
}
