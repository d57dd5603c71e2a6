// The names that judges of class Solution import before a program, as LeetCode's does.
#pragma once

namespace cohort {

/// A line for each module of Python's standard library: its name, and the names that `from MODULE import *`
/// would give, without those of builtins. A later line wins.
constexpr const char* kJudgeImports = R"(string ascii_letters ascii_lowercase ascii_uppercase digits
re findall finditer fullmatch match search split sub
datetime date datetime timedelta
collections ChainMap Counter OrderedDict UserDict UserList UserString defaultdict deque namedtuple
heapq heappush heappop heapify heapreplace merge nlargest nsmallest heappushpop
bisect bisect bisect_left bisect_right insort insort_left insort_right
copy copy deepcopy
math acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist e erf erfc exp exp2 expm1 fabs factorial floor fmod frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nan nextafter perm pi prod radians remainder sin sinh sqrt tan tanh tau trunc ulp
random choice choices randint random randrange sample shuffle uniform
statistics mean median mode
itertools accumulate chain combinations combinations_with_replacement compress count cycle dropwhile filterfalse groupby islice pairwise permutations product repeat starmap takewhile tee zip_longest
functools update_wrapper wraps WRAPPER_ASSIGNMENTS WRAPPER_UPDATES total_ordering cache cmp_to_key lru_cache reduce partial partialmethod singledispatch singledispatchmethod cached_property
operator itemgetter attrgetter methodcaller add sub mul xor and_ or_ mod truediv floordiv neg lt le gt ge eq ne concat countOf indexOf
io StringIO BytesIO
sys maxsize setrecursionlimit stdin stdout
json dumps loads
typing Any AnyStr Callable ClassVar Collection Container DefaultDict Deque Dict FrozenSet Generator Generic Hashable Iterable Iterator List Literal Mapping MutableMapping MutableSequence MutableSet NamedTuple NoReturn Optional Protocol Sequence Set Sized Tuple Type TypeVar TypedDict Union cast overload
fractions Fraction
decimal Decimal getcontext
dataclasses dataclass field
enum Enum IntEnum auto
abc ABC abstractmethod
time perf_counter
queue Queue PriorityQueue LifoQueue
array array)";

}  // namespace cohort
