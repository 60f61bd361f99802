// A unit whose functions give and take an object of Tenon's. The build makes two units of it with flags of
// their own, with UNIT as the name of its functions and OTHER as the name of the other unit's, which it
// calls.
#include "tenon/base/storage.hpp"

tenon::Storage UNIT() { return {}; }
void UNIT(const tenon::Storage&) {}

tenon::Storage OTHER();
void OTHER(const tenon::Storage&);

#ifdef HAS_MAIN
int main() { OTHER(OTHER()); }
#else
void call_back() { OTHER(OTHER()); }
#endif
