// Errors of a freestanding program consist of a code.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "tenon/base/fail.hpp"
#include "tenon/base/standin.hpp"
