#pragma once
// Files of a server's, read and written from any host of the cluster (docs/files.md).
#include "hamlyn/files/server.h"
#include "hamlyn/files/tree.h"
