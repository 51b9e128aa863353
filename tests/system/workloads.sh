#!/bin/sh
# A developer's programs in a whole sandbox, with its defaults: the list and the way of judging are those of the filter's own
# test. Needs CLOCHE.
TEST_SANDBOX=${CLOCHE:?is the path of cloche} exec "$(dirname "$0")/../filter/workloads.sh"
