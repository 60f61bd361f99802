// Operators of a freestanding program are called by `compute`, with views of the types that bind.hpp tells.
#pragma once

#include "tenon/base/scratch.hpp"
#include "tenon/op/framework/bind.hpp"
#include "tenon/op/framework/operand.hpp"
