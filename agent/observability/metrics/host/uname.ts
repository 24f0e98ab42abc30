/** Name and kernel of the machine. */
import { machine } from 'node:os';
import { addInfo, type Collector } from './collector.ts';

/** Of /proc/sys/kernel, and the architecture. */
export const uname: Collector = {
  name: 'uname',
  collect(out, host) {
    const kernel = (name: string): string => host.proc(`sys/kernel/${name}`).trim();
    addInfo(out, 'node_uname_info', 'Labeled system information as provided by the uname system call.', [
      {
        sysname: kernel('ostype'),
        release: kernel('osrelease'),
        version: kernel('version'),
        machine: machine(),
        nodename: kernel('hostname'),
        domainname: kernel('domainname'),
      },
    ]);
  },
};
