// Errors of a freestanding program have a code and nothing more.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "tenon/base/fail.hpp"
#include "tenon/base/standin.hpp"
