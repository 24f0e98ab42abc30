/** The kernel's random numbers. */
import type { Collector } from './collector.ts';
import { numberOrNull } from './files.ts';

/** Of /proc/sys/kernel/random. */
export const entropy: Collector = {
  name: 'entropy',
  collect(out, host) {
    out
      .single(
        'node_entropy_available_bits',
        'gauge',
        'Bits of available entropy.',
        numberOrNull(host.proc('sys/kernel/random/entropy_avail').trim()),
      )
      .single(
        'node_entropy_pool_size_bits',
        'gauge',
        'Bits of entropy pool.',
        numberOrNull(host.proc('sys/kernel/random/poolsize').trim()),
      );
  },
};
