/** Sockets in use, by protocol. */
import type { Collector } from './collector.ts';
import { numberOrNull, type HostFiles } from './files.ts';
import { pageBytesOf } from './page-size.ts';

/** Of /proc/net/sockstat, and sockstat6 where there is IPv6. */
export const sockstat: Collector = {
  name: 'sockstat',
  collect(out, host) {
    const pageBytes = pageBytesOf(host);
    for (const [name, number] of fields(host)) {
      out.single(
        `node_sockstat_${name}`,
        'gauge',
        `Number of ${name} sockets in state ${name.split('_')[1] ?? 'used'}.`,
        number,
      );
      if (name.endsWith('_mem') && number !== null)
        out.single(
          `node_sockstat_${name}_bytes`,
          'gauge',
          `Memory of ${name.split('_')[0] ?? ''} sockets, in bytes.`,
          pageBytes === null ? null : number * pageBytes,
        );
    }
  },
};

/** Lines of `PROTOCOL: name number name number …`. */
function fields(host: HostFiles): Map<string, number | null> {
  return new Map(
    `${host.proc('net/sockstat')}\n${host.procOrNull('net/sockstat6') ?? ''}`.split('\n').flatMap((line) => {
      const [protocol = '', ...words] = line.split(' ');
      return words.flatMap((word, index) =>
        index % 2 === 0 && /^\w+$/u.test(word)
          ? [[`${protocol.slice(0, -1)}_${word}`, numberOrNull(words[index + 1])] as const]
          : [],
      );
    }),
  );
}
