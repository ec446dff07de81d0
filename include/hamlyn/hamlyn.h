#pragma once
// Everything a user needs.
#include "hamlyn/error.h"
#include "hamlyn/interface.h"
#include "hamlyn/message_area.h"
#include "hamlyn/mode.h"
#include "hamlyn/notification.h"
#include "hamlyn/notification_queue.h"
#include "hamlyn/rights.h"
#include "hamlyn/slot.h"
#include "hamlyn/status.h"
#include "hamlyn/terminus.h"
#include "hamlyn/ticket.h"
