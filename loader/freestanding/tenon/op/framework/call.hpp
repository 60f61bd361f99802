// Freestanding programs call operators by `compute`, with views of the types that bind.hpp determines.
#pragma once

#include "tenon/base/scratch.hpp"
#include "tenon/op/framework/bind.hpp"
#include "tenon/op/framework/operand.hpp"
