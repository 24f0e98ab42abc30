/** Connections that the firewall tracks. */
import type { Collector } from './collector.ts';
import { numberOrNull } from './files.ts';

/** Columns of /proc/net/stat/nf_conntrack that are served, summed over the processors. */
const STATS = {
  found: 'Number of searched entries which were successful.',
  invalid: 'Number of packets seen which can not be tracked.',
  ignore: 'Number of packets seen which are already connected to a conntrack entry.',
  insert: 'Number of entries inserted into the list.',
  insert_failed: 'Number of entries for which list insertion was attempted but failed.',
  drop: 'Number of packets dropped due to conntrack failure.',
  early_drop: 'Number of dropped conntrack entries to make room for new ones, if maximum table size was reached.',
  search_restart: 'Number of conntrack table lookups which had to be restarted due to hashtable resizes.',
} as const;

/** Of /proc/sys/net/netfilter; a kernel without the module has nothing to tell. */
export const conntrack: Collector = {
  name: 'conntrack',
  collect(out, host) {
    out
      .single(
        'node_nf_conntrack_entries',
        'gauge',
        'Number of currently allocated flow entries for connection tracking.',
        numberOrNull(host.proc('sys/net/netfilter/nf_conntrack_count').trim()),
      )
      .single(
        'node_nf_conntrack_entries_limit',
        'gauge',
        'Maximum size of connection tracking table.',
        numberOrNull(host.proc('sys/net/netfilter/nf_conntrack_max').trim()),
      );
    const [head = '', ...lines] = (host.procOrNull('net/stat/nf_conntrack') ?? '').split('\n');
    const names = head.trim().split(/\s+/u);
    const rows = lines.filter((line) => line !== '').map((line) => line.trim().split(/\s+/u));
    for (const [name, help] of Object.entries(STATS)) {
      const place = names.indexOf(name);
      if (place >= 0 && rows.length > 0)
        out.single(
          `node_nf_conntrack_stat_${name}`,
          'gauge',
          help,
          rows.reduce((sum, row) => sum + Number.parseInt(row[place] ?? '', 16), 0),
        );
    }
  },
};
