/* Included before P-CLHT's code: each of its write-backs reads the processor's counter twice, to
   wait as long as a slower medium would take. Those calls are 0 here, and the function has another
   name. */
#define read_tsc(...) PEER_TSC_##__VA_ARGS__
#define PEER_TSC_ 0ul
#define PEER_TSC_void peer_tsc_unused(void)
