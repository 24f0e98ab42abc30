/** Open files of the whole machine. */
import type { Collector } from './collector.ts';
import { numberOrNull } from './files.ts';

/** Of /proc/sys/fs/file-nr. */
export const filefd: Collector = {
  name: 'filefd',
  collect(out, host) {
    const [allocated, , maximum] = host.proc('sys/fs/file-nr').trim().split('\t');
    out
      .single('node_filefd_allocated', 'gauge', 'File descriptor statistics: allocated.', numberOrNull(allocated))
      .single('node_filefd_maximum', 'gauge', 'File descriptor statistics: maximum.', numberOrNull(maximum));
  },
};
