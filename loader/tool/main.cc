#include "loader/tool/commands.hpp"

int main(int argc, char** argv) { return tenon::tool::run_command(argc, argv); }
